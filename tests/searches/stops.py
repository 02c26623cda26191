"""Run-time stops: what is documented as machine code, at extents of 0, 1, 2 and the usual ones.

Every construct that the lists of the tests have (scalar language, programs of arrays, whole
programs, NumPy's functions) is compiled, and called with arrays whose axes have these extents, and
with ints of these values, in all combinations. What Python does, it has to do: value, type, writes
to arguments, and the type of what is raised; and where Python raises nothing, as machine code,
without a `PerformanceWarning`. What is known not to, and why, is in `KNOWN`.
"""

import ast
import collections
import copy
import functools
import inspect
import itertools
import re
import textwrap
import warnings
from unittest import mock

import numpy as np

import zyg
from tests.calls import cases, variants
from tests.calls.case import module_of
from tests.calls.compare import difference
from tests.modules import function
from tests.programs.program import programs
from tests.programs.values import leaves, mapped, plain
from tests.searches.search import Search, main
from zyg.base import warned
from zyg.base.caches import Cache
from zyg.compiling.functions import Compiled

EXTENTS = 0, 1, 2
AXES = 4  # which have extents of their own; of more, those that are alike have one together
SHOWN = 5  # texts of what is wrong in a case
_REFUSED = "runs in Python, and"  # a function that is not compiled, for whatever arguments
# What is found and stays, by how a name begins and a part of what is found: the reason.
KNOWN = {
    ("arrays: shrinking", "the result, a"): "an argument, or a new array, is returned",
    ("arrays: picks_of_matrices", "an index of no elements"): "indices are checked where used",
    ("numpy: x0[[0, -1]] of", "an index of no elements"): "indices are checked where used",
    ("numpy: np.take(", "an index of no elements"): "indices are checked where used",
    ("numpy: np.einsum(", "shapes that do not match"): "NumPy reads beyond a diagonal",
    (
        "numpy: np.einsum('i,ij,j', x0, x1, x2, optimize",
        "stops at Python",
    ): "called back, it gives a number or an array without axes, by the sizes",
    (
        "numpy: np.partition(",
        "not compiled",
    ): "of one element, the call that learns its type raises",
    ("numpy: np.polyval(", "NumPy's demands"): "of nothing, polyval gives an array",
    ("numpy: np.bincount(", "NumPy's demands"): "of nothing, a sum of weights is an int",
    ("numpy: np.cov(x0", "NumPy's demands"): "of one row, cov has no axes",
    ("numpy: np.cross(x0", "NumPy's demands"): "of two numbers, NumPy warns that it will end",
    ("numpy: np.linalg.norm(x0, ", "the maximum of no elements"): "NumPy 2.2 raises, later it is 0",
    ("numpy: np.linalg.det(x0", "for np.float64(0.0)"): "of a singular matrix, rounding",
    ("functions: int_powers", "a negative power of an int"): "it is a float",
    ("numpy: np.fix(x0) of int", "float64"): "before NumPy 2.4 it gave floats",
}


def _elements(f):
    """What a program returns as a tuple, one by one, as a text each: an error hides no other."""
    node = ast.parse(textwrap.dedent(inspect.getsource(f))).body[0]
    node.decorator_list = []
    end = node.body[-1]
    if not isinstance(end, ast.Return) or not isinstance(end.value, ast.Tuple):
        return [None]
    texts = []
    for element in end.value.elts:
        value = ast.Tuple([element], ast.Load()) if isinstance(element, ast.Starred) else element
        whole = copy.copy(node)
        whole.body = [*node.body[:-1], ast.Return(value)]
        texts.append(f"from {f.__module__} import *\n\n\n{ast.unparse(whole)}\n")
    return texts


def _cases():
    """All of them: a name, what makes the function, the usual arguments, and what must compile."""
    for name, made in programs("numbers", "functions", "simulations").items():
        if not name[-1].isdigit():  # a further row of arguments
            yield name, lambda f=made.f: f, made.args, True
    for name, made in programs("arrays").items():
        for k, text in enumerate(_elements(made.f)):
            make = functools.partial(function, text, made.name) if text else lambda f=made.f: f
            yield f"{name} {k}", make, made.args, True
    seen, count = set(), collections.Counter()
    for program, given, _, named in cases.programs():
        kind = program.text, *map(np.ndim, given)
        if kind in seen or not any(map(np.ndim, given)):
            continue
        seen.add(kind)
        count[named] += 1
        if count[named] > 2 and named != "expression":
            continue
        for variant in ("as it is", "ints"):
            args = variants.varied(given, variant)
            if args is not None:
                name = f"numpy: {program.text} of {_shown(args)}"
                yield name, lambda p=program: module_of(p).f, tuple(args), False


def _sizes(x):
    """What is an extent in an argument: axes, or an int itself."""
    if isinstance(x, np.ndarray):
        return x.shape
    return (x,) if type(x) is int else ()


def _of_sizes(x, sizes):
    if isinstance(x, np.ndarray):
        return np.resize(x, tuple(itertools.islice(sizes, x.ndim)))
    return next(sizes) if type(x) is int else x


def arguments(args):
    """The usual arguments, and those of all combinations of extents."""
    usual = [n for x in leaves(args) for n in _sizes(x)]
    keys = usual if len(usual) > AXES else range(len(usual))
    names = [*dict.fromkeys(keys)][: AXES + 1]
    yield copy.deepcopy(args)
    for chosen in itertools.product((*EXTENTS, None), repeat=len(names)):
        of = dict(zip(names, chosen, strict=True))
        sizes = iter([
            n if of.get(key) is None else of[key] for key, n in zip(keys, usual, strict=True)
        ])  # fmt: skip
        made = functools.partial(_of_sizes, sizes=sizes)
        yield tuple(mapped(made, copy.deepcopy(x), rest=made) for x in args)


def _outcome(f, args):
    try:
        return f(*args)
    except Exception as error:
        return type(error)


def _called(compiled, args):
    """What a call gives, and why Python ran it, or None."""
    ran = []

    def in_python(*given):
        ran.append("in silence")
        return Compiled.in_python(compiled, *given)

    with (
        warnings.catch_warnings(record=True) as found,
        mock.patch.object(warned, "_warned", Cache(64)),
        mock.patch.object(compiled, "in_python", in_python),
    ):
        warnings.simplefilter("always")
        y = _outcome(compiled, args)
    why = [str(w.message) for w in found if w.category is zyg.errors.PerformanceWarning]
    return y, next(iter([*why, *ran]), None)


def _shown(args):
    return ", ".join(
        f"{x.dtype}{list(x.shape)}" if isinstance(x, np.ndarray) else repr(x)[:60]
        for x in leaves(args)
    )


CASES = [*_cases()]


def case(number):
    return CASES[number]


def _found(calls, usual, make, must):
    """What of a construct is not as it has to be, one text after the other; counts calls."""
    f = make()
    compiled = zyg.compile(f)
    for k, args in enumerate(arguments(usual)):
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = _outcome(f, theirs)
        with np.errstate(all="ignore"):
            got, why = _called(compiled, mine)
        where = f"of {_shown(args)}"
        if isinstance(want, type) or isinstance(got, type):
            if got is not want:
                yield f"{where}: {got!r}, Python: {want!r}"
        elif wrong := difference(plain((got, mine)), plain((want, theirs)), 1e-9):
            yield f"{where}: {wrong}"
        elif why and not must and (not k or (_REFUSED in why and not calls["machine code"])):
            calls["not compiled"] += 1
            return
        elif why:
            yield f"{where}: run in Python, {why}"
        else:
            calls["machine code"] += 1


def check(made):
    name, make, usual, must = made
    calls = collections.Counter()
    reasons = []
    wrong = []
    for text in _found(calls, usual, make, must):
        rows = ((why, *row) for row, why in KNOWN.items())
        known = [
            why for why, start, part in rows
            if re.match(rf"{re.escape(start)}(?!\d)", name) and part in text
        ]  # fmt: skip
        reasons += known
        wrong += [] if known else [text]
    assert not wrong, "\n".join([f"{name}: {len(wrong)} wrong", *wrong[:SHOWN]])
    if reasons:
        return f"known: {reasons[0]}"
    return next(iter(calls), "Python always raises")


SEARCH = Search(case, check, count=len(CASES), gate=40)

if __name__ == "__main__":
    main(SEARCH, __doc__)
