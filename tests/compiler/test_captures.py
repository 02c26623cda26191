"""What a scalar function takes from outside is what it is at the call, whatever it was before."""

import dataclasses
import enum
import functools
import importlib
import linecache
import math

import numpy as np
import pytest

import zyg
import zyg.math
from zyg.errors import CaptureError, KernelError
from zyg.kernels import scalar

from ..kernels.backend import in_python
from ..modules import imported
from . import helpers

X = np.array([1.0, 2.0])
RATE, COUNT, FLAG = 2.0, 3, True
WEIGHTS = [1.0, 2.0]
OPTIONS = {"rate": 2.0, "mode": "plain"}


@pytest.fixture(autouse=True)
def _in_python(monkeypatch):
    in_python(monkeypatch)
    with zyg.config(fallback="error"):
        yield


@pytest.fixture
def reads(monkeypatch):
    """How often a function was read."""
    found = []

    def counted(f, *args):
        found.append(f)
        return scalar_read(f, *args)

    scalar_read = scalar.read
    monkeypatch.setattr(scalar, "read", counted)
    return found


class Mode(enum.Enum):
    PLAIN = 1
    DOUBLE = 2


class Model:
    """An object with numbers; `shared` is the class's."""

    shared = 1.0

    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return self.w * x * self.shared

    def method(self, x):
        return self.w * x + self.shared

    @staticmethod
    def still(x):
        return x * Model.shared


@dataclasses.dataclass
class Affine:
    """A callable object that cannot be hashed."""

    slope: float
    shift: float = 0.0

    def __call__(self, x):
        return self.slope * x + self.shift


MODEL, MODE = Model(2.0), Mode.PLAIN


def scaled(x):
    return RATE * x


def repeated(x):
    for _ in range(COUNT):
        x = x + 1.0
    return x


def flagged(x):
    return x if FLAG else -x


def of_a_list(x):
    return WEIGHTS[0] * x + WEIGHTS[-1]


def summed(x):
    s = x
    for w in WEIGHTS:
        s = s + w
    return s + sum(WEIGHTS) + max(WEIGHTS) + sum(w * 10 for w in ()) if False else s + sum(WEIGHTS)


def zipped(x):
    s = 0.0
    for k, w in enumerate(WEIGHTS):
        s = s + k * w * x
    return s


def of_options(x):
    return OPTIONS["rate"] * x if OPTIONS["mode"] == "plain" else x


def of_an_object(x):
    return MODEL(x) + MODEL.method(x)


def of_a_class(x):
    return Model.still(x) * Model.shared


def by_mode(x):
    return x if MODE == Mode.PLAIN else 2 * x


def of_a_module(x):
    return helpers.GAIN * x + helpers.amplified(x)


def with_a_helper(x):
    return scaled(x) + 1


def contains(x):
    return x if COUNT in WEIGHTS else -x


HERE = __import__("sys").modules[__name__]
CHANGES = {
    "a float": (scaled, HERE, "RATE", 3.0),
    "a float that is an int": (scaled, HERE, "RATE", 3),
    "a float of NumPy's": (scaled, HERE, "RATE", np.float32(0.5)),
    "a 0-d array": (scaled, HERE, "RATE", np.array(0.5)),
    "an int": (repeated, HERE, "COUNT", 5),
    "an int of NumPy's": (repeated, HERE, "COUNT", np.int64(5)),
    "a flag": (flagged, HERE, "FLAG", False),
    "a flag of NumPy's": (flagged, HERE, "FLAG", np.False_),
    "a flag that is no bool": (flagged, HERE, "FLAG", 0),
    "a list": (of_a_list, HERE, "WEIGHTS", [3.0, 4.0, 5.0]),
    "the values of a list": (of_a_list, HERE, "WEIGHTS", [3.0, 5.0]),
    "a list that is gone through": (summed, HERE, "WEIGHTS", [3.0, 5.0]),
    "the length of a list": (summed, HERE, "WEIGHTS", (3.0,)),
    "an enumerated list": (zipped, HERE, "WEIGHTS", [3.0, 5.0]),
    "a list that is searched": (contains, HERE, "WEIGHTS", [3, 5]),
    "a dict": (of_options, HERE, "OPTIONS", {"rate": 5.0, "mode": "plain"}),
    "a string": (of_options, HERE, "OPTIONS", {"rate": 5.0, "mode": "other"}),
    "an attribute": (of_an_object, MODEL, "w", 5.0),
    "an attribute of the class": (of_an_object, Model, "shared", 5.0),
    "a class's number": (of_a_class, Model, "shared", 5.0),
    "an object": (of_an_object, HERE, "MODEL", Model(7.0)),
    "a method": (of_an_object, Model, "method", lambda self, x: self.w - x),
    "an enum": (by_mode, HERE, "MODE", Mode.DOUBLE),
    "a number of a module": (of_a_module, helpers, "GAIN", 4.0),
    "a function of a module": (of_a_module, helpers, "amplified", math.sqrt),
    "a helper": (with_a_helper, HERE, "scaled", lambda x: x * x),
    "a helper of the table": (with_a_helper, HERE, "scaled", math.exp),
    "a number of a helper": (with_a_helper, HERE, "RATE", 9.0),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_changes_between_calls_is_seen(what, monkeypatch):
    f, owner, name, value = CHANGES[what]
    before = zyg.broadcast(f, X)
    np.testing.assert_allclose(before, [f(x) for x in X], rtol=1e-14)
    monkeypatch.setattr(owner, name, value)
    np.testing.assert_allclose(zyg.broadcast(f, X), [f(x) for x in X], rtol=1e-14)
    monkeypatch.undo()
    np.testing.assert_array_equal(before, [f(x) for x in X])


def test_a_list_changed_in_place(monkeypatch):
    monkeypatch.setattr(HERE, "WEIGHTS", [1.0, 2.0])
    for f in (of_a_list, summed, zipped):
        zyg.broadcast(f, X)
        WEIGHTS[1] += 3.0
        np.testing.assert_allclose(zyg.broadcast(f, X), [f(x) for x in X])


def test_nothing_is_read_again_while_it_fits(reads, monkeypatch):
    for rate in (1.0, 2.0, np.float64(3.0), 1e300):
        monkeypatch.setattr(HERE, "RATE", rate)
        zyg.broadcast(with_a_helper, X)
        zyg.broadcast(of_an_object, X)
        zyg.broadcast(lambda x, rate=rate: rate * x, X)
        zyg.broadcast(functools.partial(math.pow if False else Affine.__call__, Affine(rate)), X)
        zyg.broadcast(Model(rate), X)
        zyg.broadcast(Model(rate).method, X)
        zyg.broadcast(Affine(rate), X)
    assert len(reads) <= 7
    del reads[:]
    for dtype in (np.float32, np.float64, np.float16):  # types of floats share their program
        zyg.broadcast(with_a_helper, X.astype(dtype))
    assert not reads


def test_an_int_that_keeps_changing_becomes_an_operand(reads):
    for n in range(40):
        y = zyg.broadcast(lambda x, n=n: x * n + n, X)
        np.testing.assert_array_equal(y, X * n + n)
    assert len(reads) <= 6


def test_an_int_that_has_to_be_known_stays_known(reads):
    values = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
    for n in range(7):
        y = zyg.broadcast(lambda x, n=n: x * values[n], X)
        np.testing.assert_array_equal(y, X * values[n])


def test_functions_of_one_text_with_other_surroundings():
    def scaling(rate, how):
        return lambda x: how(rate * x)

    for rate in (1.0, 2.0):
        for how in (math.sin, math.cos, lambda x: x * x, lambda x: x - 1):
            f = scaling(rate, how)
            np.testing.assert_allclose(zyg.broadcast(f, X), [f(x) for x in X], rtol=1e-14)


def test_partials_methods_and_objects_are_told_apart():
    def line(x, y=2.0, *, z=3.0):
        return x + 10 * y + 100 * z

    forms = [
        line, functools.partial(line, y=5.0), functools.partial(line, z=5.0),
        functools.partial(line, y=5.0, z=1.0), functools.partial(functools.partial(line, z=0.5)),
        Model(2.0), Model(3.0).method, Affine(2.0, 1.0), Affine(3.0).__call__,
    ]  # fmt: skip
    for _ in range(2):
        for f in forms:
            np.testing.assert_allclose(zyg.broadcast(f, X), [f(x) for x in X], rtol=1e-14)


class Holding:
    def __init__(self, f):
        self.f = f

    def __call__(self, x):
        return self.f(x)


def half(x):
    return x / 2


def ruled(slope):
    def halved(x):
        return half(x)

    return zyg.scalar_rule(halved, slope), halved


def test_functions_that_are_known_whole_are_told_apart():
    """They have the same code, or none: what they are is all that can be compared."""
    known = [zyg.math.sin, zyg.math.cos, zyg.elementwise(lambda x: 2 * x), np.real, np.sinc, np.fix]
    known += [zyg.elementwise(lambda x: 3 * x), zyg.math.floor, zyg.math.ceil]
    for _ in range(2):
        for h in known:
            expected = [getattr(h, "scalar", h)(x) for x in X.tolist()]
            for f in (h, lambda x: h(x), Holding(h), functools.partial(h)):  # noqa: B023
                np.testing.assert_allclose(zyg.broadcast(f, X), expected, rtol=1e-14)


def test_functions_of_one_text_with_other_rules(reads):
    known = [(slope, h) for slope in (2.0, 3.0) for h in ruled(slope)]
    for k in range(4):
        for slope, h in known:
            for f in (h, lambda x: h(x)):  # noqa: B023
                found = zyg.gradient(lambda x: zyg.broadcast(f, x).sum(), X)[0]  # noqa: B023
                assert (found == slope).all()
        if k == 0:
            del reads[:]
    assert not reads


def test_gradients_by_captured_attributes_elements_and_defaults():
    class Holder:
        pass

    def loss(w):
        holder, weights, options = Holder(), [1.0, w], {"w": w}
        holder.w = w

        def f(x, d=w):
            return holder.w * x + weights[1] + options["w"] * d

        return zyg.broadcast(f, X).sum()

    assert zyg.gradient(loss, 1.5) == (3.0 + 2.0 + 2 * 2 * 1.5,)
    assert zyg.pushforward(loss, (1.5,), (1.0,))[1] == 11.0
    assert zyg.gradient(lambda w: zyg.gradient(loss, w)[0], 1.5) == (4.0,)
    np.testing.assert_allclose(
        zyg.gradient(lambda m: zyg.broadcast(m, X).sum(), Model(2.0))[0].w, 3
    )


def test_gradient_by_a_captured_int():
    def power(n):
        return zyg.broadcast(lambda x: x * n, X).sum()

    assert zyg.gradient(power, 2) == (3.0,)


@pytest.mark.parametrize(
    "f",
    [
        lambda w: zyg.broadcast(lambda x: x * w, X),
        lambda w: zyg.broadcast(lambda x: x * w[0], X),
        lambda w: zyg.broadcast(lambda x, ws=(w,): x * ws[0], X),
        lambda w: zyg.broadcast(functools.partial(lambda w, x: w * x, w), X),
    ],
)
def test_arrays_are_refused(f):
    w = np.ones(2)
    with pytest.raises(CaptureError, match=r"array \S+, of shape \(2,\)"):
        f(w)
    with zyg.config(fallback="warn"), pytest.raises(CaptureError):
        zyg.gradient(lambda w: f(w).sum(), w)


def test_a_number_that_becomes_an_array_is_refused(monkeypatch):
    zyg.broadcast(scaled, X)
    monkeypatch.setattr(HERE, "RATE", np.ones(2))
    with pytest.raises(CaptureError, match="RATE"):
        zyg.broadcast(scaled, X)
    monkeypatch.setattr(HERE, "RATE", "two")
    with pytest.raises(KernelError, match="RATE"):
        zyg.broadcast(scaled, X)


@pytest.mark.parametrize("value", [1j, np.complex64(1), np.longdouble(1)])
def test_other_numbers_are_refused(value, monkeypatch):
    monkeypatch.setattr(HERE, "RATE", value)
    with pytest.raises(KernelError, match=r"RATE is a \w+, not a number"):
        zyg.broadcast(scaled, X)


def test_a_watched_number_inside_a_function_with_a_rule_is_refused():
    def loss(a):
        ruled = zyg.scalar_rule(lambda x: a * x, lambda x, y: 1.0)
        return zyg.broadcast(lambda x: ruled(x), X).sum()

    with pytest.raises(CaptureError, match="watched number a"):
        zyg.gradient(loss, 2.0)


def test_a_module_that_is_loaded_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "zyg_test_reloaded.py"
    path.write_text("def f(x):\n    return x + 1.0\n")
    module = importlib.import_module("zyg_test_reloaded")
    np.testing.assert_array_equal(zyg.broadcast(module.f, X), X + 1)
    path.write_text("\n\ndef f(x):\n    return 30.0 * x\n")
    importlib.reload(module)
    np.testing.assert_array_equal(zyg.broadcast(module.f, X), X * 30)


def test_functions_are_found_wherever_their_statement_ends(tmp_path):
    text = """import functools

@functools.wraps(
    abs
)
def decorated(x):
    return x + 1

def around():
    text = '''
def of_text(x): return 0
'''

    def inner(x):
        return x * len(text)
# at the margin
    return inner

if True:
    def first(x):
        return x - 1
else:
    first = None

in_a_list = [
    lambda x: x * 2,
    lambda x: x * 3,
]
"""
    module = imported(text, tmp_path / "statements.py")
    for f in (module.decorated, module.around(), module.first, *module.in_a_list):
        np.testing.assert_array_equal(zyg.broadcast(f, X), [f(x) for x in X])


CELLS = """import numpy as np
import zyg

# %%
# What is compiled without the imports above, as galleries and editors do.

import math


@zyg.elementwise
def f(x):
    return np.sin(x) + math.exp(x)


# %%
@zyg.elementwise
def g(x):
    return np.cos(x) - math.exp(x)
"""


def test_cells_of_a_script_may_be_compiled_one_by_one(tmp_path):
    path, names, above = tmp_path / "cells.py", {}, 0
    path.write_text(CELLS)
    for cell in CELLS.split("# %%"):
        exec(compile("\n" * above + cell, path, "exec"), names)
        above += cell.count("\n")
    np.testing.assert_array_equal(names["f"](X), [math.sin(x) + math.exp(x) for x in X])
    np.testing.assert_array_equal(names["g"](X), [math.cos(x) - math.exp(x) for x in X])


def test_a_text_that_changed_after_the_import_is_not_taken(tmp_path):
    path = tmp_path / "changed.py"
    module = imported("def f(x):\n    return x + 1.25\n", path)
    path.write_text("def f(x):\n    return x + 2.0  # another\n")
    linecache.checkcache()
    with pytest.raises(KernelError, match=r"changed\.py has changed since it was imported"):
        zyg.broadcast(module.f, X)


def test_a_rule_that_is_given_later():
    def f(x):
        return x * x

    def g(x):
        return f(x)

    assert zyg.partials(g, 3.0)[1] == (6.0,)
    f = zyg.scalar_rule(f, lambda x, y: 7.0)
    assert zyg.partials(g, 3.0)[1] == (7.0,)


@pytest.mark.parametrize("wrap", [zyg.compile, zyg.elementwise])
def test_a_builtin_that_a_global_hides_for_a_while(wrap, tmp_path):
    text = "def half(x):\n    return abs(x) / 2\n\ndef f(x):\n    return max(half(x), x)\n"
    module = imported(text, tmp_path / "hides.py")
    f = wrap(module.f)
    for _ in range(2):
        assert (f(-4.0), zyg.gradient(f, -4.0)) == (2.0, (-0.5,))
        module.abs = lambda x: 10.0 * x
        assert (f(-4.0), zyg.gradient(f, -4.0)) == (-4.0, (1.0,))
        module.max = min
        assert (f(-4.0), zyg.gradient(f, -4.0)) == (-20.0, (5.0,))
        del module.abs, module.max
