"""A rule is called as its function is: the same parameters, places, kinds and defaults.

A rule may lack parameters: a call that gives them is refused. What it takes as ``**options``, it
passes on to the function, or refuses itself.
"""

import inspect
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
from scipy import interpolate, linalg, optimize

from zyg.base.registry import Adjoint, Composed, rules

for _name in (
    "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "special",
    "stats",
):  # fmt: skip
    import_module(f"zyg.scipy.{_name}")

SIGNED = {f: rule for f, rule in rules.items() if isinstance(rule, (Adjoint, Composed))}
# A ufunc binds its arguments before its rule is asked, so names do not matter there.
UFUNCS = [f for f in SIGNED if isinstance(f, np.ufunc)]
FUNCTIONS = [f for f in SIGNED if not isinstance(f, np.ufunc)]

# Rules that take the rest as *args, for they pass it on to the function, which knows what it takes.
PASSING_ON = {
    np.zeros_like, np.ones_like, np.empty_like, np.squeeze, np.expand_dims,
    linalg.expm, linalg.cosm, linalg.sinm, linalg.tanm, linalg.coshm, linalg.sinhm, linalg.tanhm,
    linalg.fractional_matrix_power, linalg.clarkson_woodruff_transform,
    optimize.root, optimize.root_scalar, optimize.brentq, optimize.brenth, optimize.bisect,
    optimize.ridder, optimize.toms748, optimize.newton, optimize.fsolve, optimize.fixed_point,
    optimize.minimize, optimize.minimize_scalar, optimize.least_squares, optimize.leastsq,
    optimize.fmin, optimize.fmin_powell, optimize.fmin_bfgs, optimize.fmin_cg, optimize.fmin_ncg,
    optimize.fmin_l_bfgs_b, optimize.fmin_slsqp, optimize.fmin_tnc, optimize.brent, optimize.golden,
    optimize.fminbound, optimize.differential_evolution, optimize.dual_annealing,
    optimize.basinhopping, optimize.shgo, optimize.direct, optimize.brute, optimize.fmin_cobyla,
    optimize.broyden1, optimize.broyden2, optimize.anderson, optimize.linearmixing,
    optimize.diagbroyden, optimize.excitingmixing, optimize.newton_krylov,
    interpolate.make_interp_spline, interpolate.make_lsq_spline, interpolate.make_smoothing_spline,
    interpolate.splev, interpolate.splint, interpolate.splder, interpolate.splantider,
    interpolate.splrep, interpolate.splprep, interpolate.make_splrep, interpolate.generate_knots,
    interpolate.spalde, interpolate.sproot, interpolate.insert, interpolate.bisplrep,
    interpolate.bisplev, interpolate.interpn, interpolate.griddata, interpolate.pchip_interpolate,
}  # fmt: skip
# Where NumPy and SciPy mark what was not given, to pass it on to other classes, or to warn.
MARKED = {"keepdims": False, **dict.fromkeys(("a_min", "a_max", "min", "max"))}
# Functions with fewer parameters, or parameters of other kinds, in a NumPy before 2.4.
CHANGED = {np.reshape, np.take_along_axis, np.trim_zeros}


def names(functions):
    return [f.__name__ for f in functions]


def signature_of(f):
    """None for a function in C that does not tell, as many of older versions."""
    try:
        return inspect.signature(f)
    except ValueError:
        return None


def same_default(p, q):
    if p.default is q.default:
        return True
    if type(q.default) in (object, type(np._NoValue)):
        return p.name in MARKED and p.default is MARKED[p.name]
    return type(p.default) is type(q.default) and p.default == q.default


def differences(ours, theirs):
    """What a caller of the function finds otherwise in its rule."""
    known = [*theirs.parameters.values()]
    if [p.kind for p in known] == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]:
        return  # it passes all on
    places = [p for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for k, p in enumerate(ours.parameters.values()):
        q = theirs.parameters.get(p.name)
        if p.kind is p.VAR_KEYWORD:
            continue
        if p.kind is p.VAR_POSITIONAL:
            if all(q.kind is not q.VAR_POSITIONAL for q in known):
                yield f"*{p.name} is unknown"
        elif q is None:
            yield f"{p.name} is unknown"
        elif p.kind is not p.KEYWORD_ONLY and (p.kind is not q.kind or q not in places[k : k + 1]):
            yield f"{p.name} is in another place, or of another kind"
        elif not same_default(p, q):
            yield f"{p} is {q}"


@pytest.mark.parametrize("f", FUNCTIONS, ids=names(FUNCTIONS))
def test_a_rule_is_called_as_its_function_is(f):
    theirs = signature_of(f)
    old = np.lib.NumpyVersion(np.__version__) < "2.4.0" and f in CHANGED
    if theirs is None or old:
        return

    found = [*differences(SIGNED[f].signature, theirs)]

    if f in PASSING_ON:
        assert [text for text in found if text.startswith("*")], "is not to be named any more"
        found = [text for text in found if not text.startswith("*")]
    assert not found


@pytest.mark.parametrize("f", UFUNCS, ids=names(UFUNCS))
def test_the_rule_of_a_ufunc_takes_its_operands(f):
    assert len(SIGNED[f].positional) == f.nin


def test_differences_are_found():
    def of(rule, function):
        return [*differences(inspect.signature(rule), inspect.signature(function))]

    def function(a, b=1, *, c=None):
        """What the rules below are rules of."""

    assert not of(lambda a: 0, function)
    assert not of(lambda a, b=1, **options: 0, function)
    assert of(lambda a, c=None: 0, function) == ["c is in another place, or of another kind"]
    assert of(lambda a, b=True: 0, function) == ["b=True is b=1"]
    assert of(lambda a, b: 0, function) == ["b is b=1"]
    assert of(lambda a, *rest: 0, function) == ["*rest is unknown"]
    assert of(lambda a, *, d: 0, function) == ["d is unknown"]
    assert of(lambda a, /: 0, function) == ["a is in another place, or of another kind"]


MADE_TWICE = """
import importlib, sys
import zyg.scipy.stats, zyg.scipy.signal, zyg.scipy.sparse, zyg.scipy.optimize
from zyg.base import registry

made = []
set_rule = registry._Rules.__setitem__

def record(self, function, rule):
    if not isinstance(rule, registry.ScalarRule):  # what is no ufunc is in that table for numbers
        made.append(function)
    set_rule(self, function, rule)

registry._Rules.__setitem__ = record
for name in sorted(sys.modules):
    if name.startswith(("zyg.functions.", "zyg.scipy.")):
        importlib.reload(sys.modules[name])
assert len(made) > 300
print(*sorted(f.__name__ for f in {*made} if made.count(f) > 1))
"""


@pytest.mark.slow
def test_no_function_has_two_rules():
    """Of which the one that is imported last would hide the other."""
    command = [sys.executable, "-c", MADE_TWICE]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
