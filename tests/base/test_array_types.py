"""The table of array types: what it says of a value, and that a new library is a new row."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.lib.mixins import NDArrayOperatorsMixin

import zyg
from zyg.base import array_types
from zyg.base.array_types import ArrayType, array_type, is_array
from zyg.base.caches import Cache
from zyg.core.strand import watcher_of
from zyg.errors import ConversionError, MissingRuleError, MutationError


class Box(NDArrayOperatorsMixin):
    """An array of another library: NumPy's functions, and no protocol of its memory."""

    def __init__(self, data):
        self.data = np.asarray(data)

    def __getattr__(self, name):
        if name not in ATTRIBUTES:
            raise AttributeError(name)
        found = getattr(self.data, name)
        return (lambda *args: boxed(found(*args))) if callable(found) else found

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if not all(isinstance(x, (Box, np.ndarray, float, int)) for x in inputs):
            return NotImplemented
        kwargs = {k: opened(v) for k, v in kwargs.items()}
        return boxed(getattr(ufunc, method)(*opened(inputs), **kwargs))

    def __array_function__(self, f, types, args, kwargs):
        if not all(t in (Box, np.ndarray) for t in types):
            return NotImplemented
        kwargs = {k: opened(v) for k, v in kwargs.items()}
        return boxed(f(*opened(args), **kwargs))

    def __bool__(self):
        return bool(self.data)

    def __getitem__(self, index):
        return Box(self.data[opened(index)])

    def __setitem__(self, index, value):
        self.data[opened(index)] = opened(value)


ATTRIBUTES = {
    "shape", "ndim", "size", "dtype", "nbytes", "real",
    "copy", "astype", "reshape", "transpose", "sum", "all",
}  # fmt: skip


def opened(x):
    return x.data if type(x) is Box else type(x)(map(opened, x)) if type(x) in (list, tuple) else x


def boxed(y):
    if type(y) in (list, tuple):
        return type(y)(map(boxed, y))
    return Box(y) if isinstance(y, (np.ndarray, np.generic)) else y


class Boxes(ArrayType):
    """The row of `Box`."""

    @staticmethod
    def takes(t):
        return t is Box


def added(monkeypatch, kind):
    monkeypatch.setattr(array_types, "_rows", [*array_types._rows])
    monkeypatch.setattr(array_types, "_found", Cache(4096))
    array_types.row(kind)


@pytest.fixture
def boxes(monkeypatch):
    added(monkeypatch, Boxes)
    yield
    watcher_of.pop(Box, None)


X = np.array([[0.3, -1.2, 0.7], [2.0, 0.5, -0.4]])
W = np.array([1.0, -2.0, 0.5])


# What the table says


class Matrix(np.ndarray):
    pass


@pytest.mark.parametrize("x", [X, X.view(Matrix), np.zeros(2, int), np.array([None])])
def test_arrays_of_numpy(x):
    kind = array_type(x)
    assert is_array(x)
    assert (kind.library, kind.readable, kind.on_host) == ("", True, True)
    copied = kind.copy(x)
    assert copied is not x
    assert not np.may_share_memory(copied, x)


@pytest.mark.parametrize("x", [1.0, 2, True, np.float64(1), Fraction(1, 2), "a", None, [X], Box(X)])
def test_what_is_no_array(x):
    kind = array_type(x)
    assert not is_array(x)
    assert (kind.library, kind.readable, kind.on_host) == ("", True, True)
    assert kind.copy(x) is x


def test_watched_arrays_are_arrays():
    def f(x, a):
        assert is_array(x)
        assert not is_array(a)
        return np.sum(x) * a

    zyg.gradient(f, X, 1.0)


def test_a_row_is_asked_once_for_a_type_and_again_when_there_is_another(monkeypatch):
    asked = []

    class Counting(Boxes):
        @staticmethod
        def takes(t):
            asked.append(t)
            return False

    added(monkeypatch, Counting)
    for _ in range(3):
        array_type(1.0)
        array_type(Box(X))
    assert asked == [float, Box]
    array_types.row(Boxes)
    assert array_type(Box(X)).library
    assert asked == [float, Box]  # the newer row took it


def test_the_table_remembers_no_more_types_than_it_may(monkeypatch):
    added(monkeypatch, Boxes)
    monkeypatch.setattr(array_types, "_found", Cache(4))
    for k in range(10):
        array_type(type(f"T{k}", (), {})())
    assert len(array_types._found) <= 4
    assert array_type(Box(X)).library == __name__.partition(".")[0]


# A stand-in with a row


@pytest.mark.usefixtures("boxes")
def test_a_row_answers_for_its_type():
    x = Box(X)
    kind = array_type(x)
    assert is_array(x)
    assert kind is array_type(Box(W))
    copied = kind.copy(x)
    assert not np.may_share_memory(copied.data, x.data)
    spec = kind.spec(x, np.dtype(np.float32))
    zero = spec.zeros()
    assert type(zero) is Box
    assert (zero.shape, zero.dtype) == ((2, 3), np.float32)
    assert not np.any(zero.data)
    assert kind.sample.shape == ()
    assert not np.may_share_memory(kind.sample.data, x.data)  # nothing of the array is kept


def layer(x, w):
    h = np.tanh(x * w + 0.5) @ w
    return np.sum(h**2) + np.max(x, axis=0)[1] * np.mean(x[[0, 0]]) + np.prod(w)


@pytest.mark.usefixtures("boxes")
def test_the_gradient_by_a_new_kind_of_arrays_is_that_by_numpys():
    wanted = zyg.gradient(layer, X, W)
    for c, w in zip(zyg.gradient(layer, Box(X), Box(W)), wanted, strict=True):
        assert type(c) is Box
        np.testing.assert_allclose(c.data, w, rtol=1e-14)


@pytest.mark.usefixtures("boxes")
def test_forward_mode_and_second_derivatives():
    direction = np.cos(X)
    y_dot = zyg.pushforward(lambda x: layer(x, Box(W)), (Box(X),), (Box(direction),))[1]
    np.testing.assert_allclose(y_dot.data, np.vdot(zyg.gradient(layer, X, W)[0], direction))
    found = zyg.hvp(lambda x: layer(x, Box(W)), Box(X), Box(direction))
    wanted = zyg.hvp(lambda x: layer(x, W), X, direction)
    np.testing.assert_allclose(found.data, wanted, rtol=1e-12)


@pytest.mark.usefixtures("boxes")
def test_arrays_of_a_new_kind_in_structures_are_leaves_and_get_zeros():
    c, zero = zyg.gradient(
        lambda t, b: np.sum(t["x"] ** 2), {"x": Box(X), "n": Box(X > 0)}, Box(W), zeros=True
    )
    np.testing.assert_allclose(c["x"].data, 2 * X)
    assert c["n"] is None
    np.testing.assert_array_equal(zero.data, np.zeros(3))


@pytest.mark.usefixtures("boxes")
def test_what_may_be_looked_at_is_looked_at():
    """Strong zeros are found by a second pass, only where the first was not finite."""
    x = np.array([4.0, 0.0])

    def f(x):
        return np.sum(np.where(x > 0, np.sqrt(x), 0.0))

    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(zyg.gradient(f, Box(x))[0].data, [0.25, 0.0])


@pytest.mark.usefixtures("boxes")
def test_writes_into_a_new_kind_are_refused_and_what_its_library_lacks_is_named():
    with pytest.raises(MutationError):
        zyg.gradient(lambda x: x.__setitem__(0, 1.0), Box(X))
    with pytest.raises(MissingRuleError, match=r"np\.median of a watched"):
        zyg.gradient(np.median, Box(X))


def test_a_row_says_where_its_arrays_are(monkeypatch):
    class Far(Boxes):
        readable = on_host = False

    added(monkeypatch, Far)
    try:
        np.testing.assert_allclose(
            zyg.gradient(layer, Box(X), Box(W))[0].data, zyg.gradient(layer, X, W)[0], rtol=1e-14
        )
        with pytest.raises(MissingRuleError, match="is on a device"):
            zyg.jacobian(np.sin, Box(X))
        with pytest.raises(ConversionError, match="an array of the host is the cotangent"):
            zyg.pullback(np.sin, Box(X))[1](X)
        with pytest.raises(ConversionError, match="the cotangent of a number of the host"):
            zyg.gradient(lambda a: np.sum(a * Box(X)), 2.0)
    finally:
        watcher_of.pop(Box, None)
