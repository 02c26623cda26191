"""docs/numpy.md: each place where zyg may differ from NumPy does, and the page has no other.

What is not on the page is the same: the engine `traced` of tests/calls compares it.
"""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import zyg
import zyg.numpy
from zyg.errors import ConversionError, MutationError, PerformanceWarning, TextWarning, ZygError

PAGE = (Path(__file__).parents[2] / "docs" / "numpy.md").read_text()
SHOWN = {}


def shows(heading, *starts):
    """That a test shows what a section says, and what its items say that start so."""

    def register(test):
        SHOWN.setdefault(heading, []).extend(starts)
        return test

    return register


def under_a_gradient(f, *args):
    """What a function gives where its arguments are watched."""
    made = []
    zyg.gradient(lambda *xs: (made.append(zyg.primal(f(*xs))), 0.0 * np.sum(xs[0]))[1], *args)
    return made[0]


def test_every_item_of_the_page_is_shown():
    sections = [part.partition("\n") for part in PAGE.split("\n## ")[1:]]
    assert sorted(SHOWN) == sorted(heading for heading, _, _ in sections)
    for heading, _, text in sections:
        items = re.findall(r"^- (.+)$", text, re.MULTILINE)
        starts = SHOWN[heading]
        assert len(items) == len(starts)
        assert all(any(item.startswith(start) for item in items) for start in starts)


@shows("Where NumPy is wrong")
def test_folds_are_right_where_numpy_is_wrong():
    x = np.array([2.0, 3.0, 2.0])
    assert under_a_gradient(np.power.reduce, x) == 64.0
    assert np.power.reduce(x) in (4.0, 64.0)  # by the processor


@shows("Copies of an argument that is a broadcast view")
def test_a_copy_of_a_broadcast_argument_has_another_order():
    x = np.broadcast_to(np.arange(2.0), (3, 2))
    for f in (np.copy, np.sort, lambda x: x.astype(float)):
        strides = []
        zyg.gradient(lambda x, f=f, s=strides: (s.append(f(x).strides), np.sum(x))[1], x)
        assert strides[0] != f(x).strides
    assert under_a_gradient(np.exp, x).strides == np.exp(x).strides  # of ufuncs it is NumPy's
    strides = []
    zyg.gradient(lambda x: (strides.append(x.strides), np.sum(x))[1], x)
    assert strides[0] != x.strides

    def in_memory(x):
        return (x.T > 0.5).ravel("K")

    y = np.broadcast_to(np.arange(2.0)[:, None], (2, 3)).T
    assert not np.array_equal(under_a_gradient(in_memory, y), in_memory(y))


@shows("The last place", "an argument that is not contiguous", "what goes to `out=`")
def test_values_agree_but_for_the_last_place():
    def to_out(x):
        y = np.zeros_like(x)[::-1]
        np.exp(x, out=y)
        return y

    # Whether they differ is the processor's choice, and NumPy's.
    x = np.linspace(0.1, 9.7, 4001)
    for f in (np.exp, np.tan, np.arctan, np.log1p):
        np.testing.assert_allclose(under_a_gradient(f, x[::-1]), f(x[::-1]), rtol=1e-15)
    np.testing.assert_allclose(znp_out(x), to_out(x), rtol=1e-15)


def znp_out(x):
    """With `out=`, under a gradient."""

    def f(x):
        y = zyg.numpy.zeros(len(x))[::-1]
        np.exp(x, out=y)
        return y

    return under_a_gradient(f, x)


@shows("Second derivatives at a kink")
def test_a_second_derivative_at_a_kink_is_that_of_the_convention():
    def f(v):
        return np.linalg.norm(v) ** 2

    assert not np.any(zyg.hessian(f, np.zeros(2)))
    near = zyg.hessian(f, np.full(2, 1e-6))
    np.testing.assert_allclose(near, 2 * np.eye(2), atol=1e-6)


@pytest.fixture
def no_performance_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        yield


def memory_of(a):
    return a.tobytes()


@shows("Arrays of objects", "NumPy orders objects by Python's comparisons")
@pytest.mark.usefixtures("no_performance_warnings")
def test_numpy_orders_objects_otherwise():
    x = np.array([np.nan, 1.0])
    for f in (np.max, np.logical_and.reduce):
        with pytest.raises(ConversionError, match="in an array of objects"):
            under_a_gradient(lambda x, f=f: f(np.array([x[1], x[0]])), x)


@shows(
    "Arrays of objects", "Beside a watched operand an object array is stacked",
    "`np.asarray(x)` of an array is a copy", "Functions that take numbers only",
    "An object array is refused",
)  # fmt: skip
@pytest.mark.usefixtures("no_performance_warnings")
def test_watched_values_make_arrays_of_objects():
    seen = {}

    def f(x):
        a = np.asarray(x)
        seen.update(
            same=a is x, kind=a.dtype.kind, writeable=a.flags.writeable, memory=memory_of(a)
        )
        with np.errstate(all="ignore"):
            seen["stacked"] = zyg.primal(np.array([1.0, x[0]], object) / (x - x))
        return np.sum(a)

    def written(x):
        a = np.asarray(x)
        x[0] = 1.0
        return np.sum(a)

    def read(x):
        return np.sum(np.frombuffer(np.asarray(x).tobytes()))

    def of_numbers_only(x):
        return np.linalg.det(np.array([[x[0], x[1]], [x[1], x[0]]]))

    x = np.array([2.0, -1.0])
    for refused in (written, read, of_numbers_only):
        with pytest.raises(ZygError):
            zyg.gradient(refused, x)
    (gradient,) = zyg.gradient(f, x)

    assert np.array_equal(gradient, [1.0, 1.0])
    assert np.array_equal(seen.pop("stacked"), [np.inf, np.inf])
    plain = np.asarray(x)
    assert plain is x
    assert seen["memory"] != plain.tobytes()
    assert (seen["same"], seen["kind"], seen["writeable"]) == (False, "O", False)


@shows("What takes another branch")
def test_c_code_and_type_can_tell_a_watched_value():
    def f(a, x):
        assert isinstance(a, np.ndarray)
        assert isinstance(x, float)
        assert type(a) is not np.ndarray
        assert type(x) is not float
        assert hasattr(x, "__getitem__")
        return np.sum(a) * x

    with pytest.raises(ZygError):  # the cause of a ValueError of NumPy's
        zyg.gradient(lambda x: np.zeros(2).__setitem__(0, x), 1.0)
    a = np.ones(2)
    assert type(a) is np.ndarray
    assert not hasattr(1.0, "__getitem__")
    assert zyg.gradient(f, a, 3.0)[1] == 2.0


@shows("Text")
def test_a_number_that_is_read_back_from_text_is_a_constant_or_refused():
    def by_float(x):
        return float(str(x)) * x

    def by_eval(x):
        return eval(f"1 * {x}") * x

    def of_fewer_digits(x):
        return complex(f"{x:.3f}").real * x

    with pytest.raises(ZygError), zyg.config(text="allow"):
        zyg.gradient(by_float, 3.0)
    with pytest.warns(TextWarning):
        assert zyg.gradient(by_eval, 3.0) == (3.0,)  # and not 6
    with zyg.config(text="refuse"), pytest.raises(ZygError):
        zyg.gradient(by_eval, 3.0)
    assert zyg.gradient(of_fewer_digits, 3.0) == (3.0,)


@zyg.adjoint
def held(box, x):
    return box.a[0] * x, lambda y_bar: (None, y_bar * box.a[0])


class Box:
    def __init__(self, a):
        self.a = a


@shows(
    "Arrays that a gradient still needs", "An array of up to 4 KB is copied.",
    "A larger one is read-only", "NumPy lets a write", "Arrays inside objects of your own",
)  # fmt: skip
def test_arrays_that_are_overwritten_are_copied_read_only_or_noticed():
    def overwritten(write, n):
        def f(x):
            w = np.full(n, 2.0)
            view = w[:]
            y = np.sum(w * x)
            write(w, view)
            return y

        return zyg.gradient(f, np.ones(n))[0]

    def directly(w, view):
        w[:] = 5.0

    def by_a_view(w, view):
        view[:] = 5.0

    assert np.array_equal(overwritten(directly, 10), np.full(10, 2.0))
    with pytest.raises(ValueError, match="read-only"):
        overwritten(directly, 1000)
    with pytest.raises(MutationError):
        overwritten(by_a_view, 1000)

    def inside(x):
        box = Box(np.array([2.0]))
        y = held(box, x)
        box.a[0] = 5.0
        return y

    assert zyg.gradient(inside, 1.0) == (5.0,)  # and not 2


@shows("What is kept from one gradient to the next")
def test_what_a_memo_keeps_is_a_constant_of_the_next_gradient():
    memo = {}

    def f(x):
        if "square" not in memo:
            memo["square"] = x * x
        return memo["square"] * x

    assert zyg.gradient(f, 3.0) == (27.0,)
    assert zyg.gradient(f, 3.0) == (9.0,)
