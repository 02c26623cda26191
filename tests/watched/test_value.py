"""Watched values as values: indexing, iteration, methods, attributes, NumPy's protocols."""

# ruff: noqa: E501, SIM300 - one case per line; a plain value may stand first

import ctypes
import itertools
import numbers
import re
import struct
import zlib
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
import pytest

import zyg
from zyg import check_gradient, gradient, pullback
from zyg.errors import ConversionError
from zyg.watched import attributes

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


def differences(f, x, h=1e-6):
    bar = np.zeros_like(x)
    for k in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[k] = h
        bar[k] = (f(x + step) - f(x - step)) / (2 * h)
    return bar


def check(f, x=X):
    (got,) = gradient(f, x, zeros=True)
    np.testing.assert_allclose(got, differences(f, x), rtol=1e-6, atol=1e-8)
    value = pullback(f, x)[0]
    assert isinstance(value, type(f(x)))
    np.testing.assert_array_equal(value, f(x))


def test_reading_is_a_copy_or_a_view_as_in_numpy_but_never_of_the_argument():
    y, _ = pullback(lambda x: x[0], X)
    assert not np.shares_memory(y, X)


def test_an_element_is_a_number():
    seen = []
    gradient(lambda x: seen.append((type(zyg.primal(x[0, 0])), np.ndim(x[0, 0]))) or x[0, 0], X)
    assert seen == [(np.float64, 0)]


def test_indices_out_of_range_are_numpys_error():
    for f in (
        lambda x: x[5],
        lambda x: x[0, 0, 0],
        lambda x: x[[9]],
        lambda x: x[1.0],
        lambda x: x["a"],
    ):
        with pytest.raises(IndexError):
            gradient(f, X)


def test_indexing_with_watched_ints():
    def f(x, k, ks):
        return x[0, k] * np.sum(x[:, ks] ** 2) * np.sum(x[:, k:])

    x_bar, k_bar, ks_bar = gradient(f, X, 1, np.array([2, 0]))
    np.testing.assert_allclose(
        x_bar, differences(lambda x: f(x, 1, np.array([2, 0])), X), rtol=1e-6, atol=1e-8
    )
    assert k_bar is None
    assert ks_bar is None


def test_indexing_with_a_watched_float_is_refused_as_by_numpy():
    with pytest.raises(IndexError):
        gradient(lambda x, k: x[k], X, 1.0)


def test_reading_in_loops():
    def f(x):
        total = 0.0
        for i, j in itertools.product(range(2), range(3)):
            total = total + x[i, j] * x[1 - i, j] + np.sin(x[i][j])
        return total

    check(f)


def test_chained_reads_of_reads():
    check(lambda x: np.sum(x[:, 1:][::-1][0] * x.T[2][:1]))
    check(lambda x: sum(np.sum(row[::2]) * row[1] for row in x))


def test_reads_of_a_long_array_cost_what_they_touch():
    n = 20_000
    x = np.linspace(0, 1, n)

    def f(x):
        total = 0.0
        for k in range(0, n, 10):
            total = total + x[k] * 2.0
        return total

    expected = np.zeros(n)
    expected[::10] = 2.0
    np.testing.assert_array_equal(gradient(f, x)[0], expected)


def test_iteration_unpacking_and_membership():
    def f(x):
        a, b = x
        (p, *rest), (q, r, s) = a, b
        assert x[1][0] in x
        assert 77.0 not in x
        assert len(rest) == 2
        return p * q + r * s * rest[0] + sum(rest) ** 2 + sum(sum(row) for row in x)

    check(f)


def test_enumerate_zip_reversed_of_arrays():
    check(
        lambda x: sum(k * np.sum(r * s) for k, (r, s) in enumerate(zip(x, x[::-1], strict=True), 1))
    )
    check(lambda x: sum(k * np.sum(r) for k, r in enumerate(reversed(x), 1)))


def test_zero_dimensional_arrays_cannot_be_iterated():
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        gradient(lambda x: sum(x), np.array(1.0))
    with pytest.raises(TypeError):
        gradient(lambda x: len(x), np.array(1.0))


# Attributes and methods


def _written(y):
    y.put(indices=[0, 4], values=y[0, 1] * y[1])
    y[0].sort(order=None, stable=True)
    y[1].partition(kth=1, kind="introselect")
    return np.sum(y**2 * [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def _read_only(y):
    y.setflags(write=False)
    assert not y.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        y[0] = 1.0
    return y


METHODS = {
    "round": lambda x: np.sum((x + 0.01).round(1)) * x[0, 0],
    "item": lambda x: x[0, 0].item() * x.item(4) * x.item((1, 2)) + x[:1, :1].item(),
    "tolist": lambda x: sum(a * b for a, b in x.tolist()[0][1:] and zip(*x.tolist(), strict=True)),
    "argmax": lambda x: x.ravel()[x.argmax()] * x[0, x.argmin(axis=1)[0]],
    "argsort": lambda x: np.sum(x[0][x[0].argsort()] * np.arange(3)),
    "nonzero": lambda x: np.sum(x[x.nonzero()] ** 2),
    "keywords": lambda x: np.sum(x.astype(dtype=float, order="F", casting="safe", copy=False) ** 2)
    + np.sum(x.view(dtype=float)[0] ** 2) + np.sum(x.view(type=np.ndarray)[0]) + np.sum(x.flatten(order="F")[:2] ** 2),
    "keywords of writes": lambda x: _written(x.copy()),
    "setflags": lambda x: np.sum(_read_only(x * 2) ** 2),
    "base": lambda x: np.sum((x[0].base[1] if x.base is None and (x * x).base is None else 0) ** 2),
    "any all": lambda x: x[0, 0] * 2 if x.any() and not (x > 0).all() else 0.0 * x[0, 0],
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_methods_and_attributes_of_arrays(name):
    check(METHODS[name])


def test_casting_by_astype_is_refused_as_numpy_does():
    with pytest.raises(TypeError, match="Cannot cast"):
        gradient(lambda x: np.sum(x.astype(np.float32, casting="safe")), X)
    with pytest.raises(ValueError, match="flag"):
        gradient(lambda x: x.setflags(uic=True) or np.sum(x), X)
    with pytest.raises(ValueError, match="no fields"):
        gradient(lambda x: x.copy().sort(order="a"), X)


class Celsius(float):
    scale = 1.8

    def fahrenheit(self, offset=32):
        return self * self.scale_of(2) / 2 + offset

    @property
    def square(self):
        return self * self

    @classmethod
    def scale_of(cls, factor):
        return cls.scale * factor


def test_subclasses_of_float_keep_their_methods():
    for f in (
        lambda x: x.fahrenheit() ** 2,
        lambda x: x.square * x,
        lambda x: x.fahrenheit(offset=x),
    ):
        zyg.check_gradient(f, Celsius(0.7), order=2)
        assert pullback(f, Celsius(0.7))[0] == f(Celsius(0.7))


class Sub(np.ndarray):
    """Somebody's subclass, with an attribute and an operator of its own."""

    def __array_finalize__(self, whole):
        self.unit = getattr(whole, "unit", "m")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [x.view(np.ndarray) if isinstance(x, Sub) else x for x in inputs]
        made = np.asarray(getattr(ufunc, method)(*plain, **kwargs)).view(Sub)
        made.unit = "".join(x.unit for x in inputs if isinstance(x, Sub))
        return made


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x.view(Sub) * x.view(type=Sub))[0],
        lambda x: (2.0 * x.view(Sub) * x).sum(),
        lambda x: (x * x.view(Sub)).sum().item(),
        lambda x: np.sin(x.view(Sub))[1],
        lambda x: np.asarray(x.view(Sub)) * x,
        lambda x: x.view(Sub)[0],
    ],
)
def test_a_view_as_somebodys_subclass_is_an_array_of_objects_of_it(f):
    x = np.array([0.5, -1.5])
    np.testing.assert_array_equal(zyg.primal(zyg.pullback(f, x)[0]), f(x))
    zyg.check_gradient(lambda x: np.sum(np.asarray(f(x))), x)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_a_view_as_somebodys_subclass_keeps_its_class_and_is_not_written():
    def f(x):
        view = (3.0 * x.view(Sub)) * x.view(Sub)
        assert (type(view), view.unit) == (Sub, "mm")
        shared = x.view(Sub)
        for write in (lambda: shared.__setitem__(0, 1.0), lambda: x.__setitem__(0, 1.0)):
            with pytest.raises((ValueError, zyg.errors.MutationError)):
                write()
        return view

    with zyg.config(swallowed="allow"):
        y, back = zyg.pullback(f, np.array([0.5, -1.5]))
    assert y.tolist() == [0.75, 6.75]
    assert back(np.ones(2))[0].tolist() == [3.0, -9.0]


def test_views_as_a_subclass_are_refused_by_its_name():
    class Mine(np.ndarray):
        pass

    for cls, most in ((np.ma.MaskedArray, 10_000), (Mine, 0)):
        name = cls.__name__
        for f in (lambda x, c=cls: x.view(c), lambda x, c=cls: x.view(type=c)):
            refused = pytest.raises(
                zyg.errors.ConversionError,
                match=f"a view of a watched array as {name} has no rule",
            )
            with refused, zyg.config(object_elements=most):
                gradient(lambda x, f=f: np.sum(f(x)), X)


def test_a_view_of_a_buffer_that_holds_nothing_watched_is_numpys_own():
    class Sub(np.ndarray):
        pass

    def f(x):
        y = np.zeros_like(x[0])
        y[1] = 2.0
        part = y[1:].view(Sub)
        bits = y.view(np.int64)
        assert type(part) is Sub
        part[1] = 3.0  # one memory
        y[0] = 5.0
        assert bits.tolist() == np.array([5.0, 2.0, 3.0]).view(np.int64).tolist()
        refused = pytest.raises(zyg.errors.MutationError, match="in use as plain numbers")
        with zyg.config(swallowed="allow"), refused:
            y[0] = x[0, 0]
        z = y * x[0]
        part[0] = 7.0
        return np.sum(z * x[1]) + np.sum(y)

    def of_values(x):
        return np.sum(np.array([5.0, 2.0, 3.0]) * x[0] * x[1])

    np.testing.assert_allclose(gradient(f, X)[0], gradient(of_values, X)[0], rtol=1e-15)


def test_plain_attributes():
    def f(x):
        assert x.shape == (2, 3)
        assert (x.ndim, x.size, x.itemsize, x.nbytes) == (2, 6, 8, 48)
        assert x.dtype == np.float64
        assert x.flags.c_contiguous
        assert x.strides == (24, 8)
        assert len(x) == 2
        return np.sum(x)

    check(f)


def test_getattr_with_a_default_and_hasattr():
    def f(x):
        assert getattr(x, "nothing", None) is None
        assert hasattr(x, "shape")
        assert not hasattr(x, "nothing")
        assert hasattr(x[0, 0], "real")
        return np.sum(x)

    check(f)


def test_attributes_of_a_watched_value_cannot_be_set():
    for name in ("strides", "new", "dtype"):
        with pytest.raises((AttributeError, TypeError)):
            gradient(lambda x, name=name: setattr(x, name, 1) or np.sum(x), X)


# Operators on arrays

OPERATORS = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x / y,
    "**": lambda x, y: (x * x + 1) ** y, "%": lambda x, y: x % y, "//": lambda x, y: x // y,
    "divmod": lambda x, y: divmod(x, y)[1] + divmod(x, y)[0],
}  # fmt: skip
OTHERS = {
    "float": 1.7, "int": 2, "row": np.array([1.2, 0.8, 1.9]), "column": np.array([[1.2], [0.7]]),
    "same": X * 0.3 + 1.3, "one": np.array([1.3]), "0-d": np.array(1.3), "more": np.ones((2, 1, 1)) * 1.3,
    "np.float64": np.float64(1.6), "ints": np.array([1, 2, 3]),
}  # fmt: skip


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_broadcast_as_in_numpy(name, other):
    f, y = OPERATORS[name], OTHERS[other]
    z = X / 3.7 + 1.234  # away from the jumps of % and //
    check(lambda x: np.sum(np.log(f(x, y) ** 2 + 1) + f(x, y)), z)
    check(lambda x: np.sum(f(y, x)), z)
    if isinstance(y, np.ndarray) and y.dtype == float:
        check(lambda y: np.sum(f(z, y) ** 2), y)
        (a, b) = gradient(lambda x, y: np.sum(f(x, y)), z, y, zeros=True)
        assert a.shape == X.shape
        assert b.shape == y.shape


@pytest.mark.parametrize("f", [
    lambda x: np.sum(x @ X.T), lambda x: np.sum(X.T @ x), lambda x: np.sum((x @ x.T) ** 2),
    lambda x: np.sum((x @ np.arange(3.0)) ** 2), lambda x: np.sum((np.arange(2.0) @ x) ** 2),
    lambda x: x[0] @ x[1], lambda x: np.sum(np.stack([x, x]) @ X.T),
])  # fmt: skip
def test_matrix_products(f):
    check(f)


def test_comparisons_are_plain_arrays():
    def f(x):
        for mask in (x > 0, x >= 0, x < 1, x <= 1, x == 0.5, x != 0.5, 0 < x, x > x[0], ~(x > 0)):
            assert type(mask) is np.ndarray
            assert mask.dtype == bool
        assert ((x > 0) & (x < 1)).any()
        return np.sum(x[x > 0])

    check(f)


def test_truth_of_an_array_is_numpys_error():
    with pytest.raises(ValueError, match="truth value of an array"):
        gradient(lambda x: np.sum(x) if x else 0.0, X)


def test_lists_meet_arrays_as_in_numpy():
    check(lambda x: np.sum(x[0] * [1.0, 2.0, 3.0] + [1, 2, 3] - x[1] / [2.0, 2.0, 4.0]))
    check(lambda x: np.sum([1.0, 2.0, 3.0] * x[0]))


def test_arrays_cannot_be_hashed():
    with pytest.raises(TypeError, match="unhashable"):
        gradient(lambda x: hash(x), X)


# NumPy's functions on watched numbers and lists of them


def test_functions_of_lists_of_watched_values():
    def f(x):
        a, b, c = x[0]
        y = np.stack([a, b * c, np.sum(x)])
        z = np.concatenate([y, [a, 1.0], x[1]])
        return np.sum(y * y) + np.sum(z**2) + np.sum(np.hstack([y, x[1]]))

    check(f)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_functions_that_see_only_the_list_are_followed():
    check(lambda x: np.mean([x[0, 0] ** 2, x[0, 1]]))


def test_where_with_watched_conditions_and_branches():
    check(lambda x: np.sum(np.where(x > 0, x**2, -x)))
    check(lambda x: np.sum(np.where(x, x, 1.0)))
    check(lambda x: np.where(x[0, 0] > 0, x[0, 1] ** 2, 5.0) * 1.0)


def test_plain_first_operand_and_numpy_scalars_defer():
    check(lambda x: np.sum(np.float64(2) * x + np.ones(3) * x - np.float32(1) / (x * x + 1)))
    check(lambda x: np.float64(3) * x[0, 0] + np.array(2.0) * x[0, 1])
    check(lambda x: np.sum(np.ones(3) * x[0, 0]))
    check(lambda x: np.sum(np.arange(6.0).reshape(2, 3) ** 2 / (x * x + 1)))


def test_questions_about_values_are_plain():
    def f(x):
        assert np.isfinite(x).all()
        assert not np.isnan(x).any()
        assert np.allclose(x, x)
        assert np.array_equal(x, x)
        assert np.argmax(x) == 2
        assert np.count_nonzero(x) == 6
        assert np.zeros_like(x).shape == (2, 3)
        assert isinstance(np.zeros_like(x), np.ndarray)
        assert np.result_type(x) == np.float64
        assert np.iscomplexobj(x) is False
        return np.sum(x)

    check(f)


def test_watched_numbers_and_arrays_of_two_levels():
    def f(x):
        (g,) = gradient(lambda y: np.sum(np.exp(y) * x[0]) + y[0] * x[1, 1], x[1])
        return np.sum(g * x[0]) + g[0]

    check(f)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (1, 1), (2, 0, 3)])
def test_small_shapes(shape):
    x = np.full(shape, 1.5)
    (got,) = gradient(lambda x: np.sum(np.exp(x) * x[...] + x.reshape(shape)), x, zeros=True)
    assert got.shape == shape
    np.testing.assert_allclose(got, np.exp(1.5) * 2.5 + 1 if got.size else got)


@pytest.mark.parametrize(
    "x",
    [np.asfortranarray(X), X[:, ::-1], X[::-1].T, np.broadcast_to(X[0], (2, 3)), X.byteswap().view(
        X.dtype.newbyteorder())],
    ids=["fortran", "reversed", "transposed", "broadcast", "byteswapped"],
)  # fmt: skip
def test_arguments_of_any_memory_layout(x):
    (got,) = gradient(lambda x: np.sum(x**3 + np.exp(x)), x)
    np.testing.assert_allclose(got, 3 * x**2 + np.exp(x))
    assert got.dtype == x.dtype
    assert got.flags.writeable


def test_read_only_arguments():
    x = X.copy()
    x.flags.writeable = False
    (got,) = gradient(lambda x: np.sum(x[0] * x[1]), x)
    assert got.flags.writeable
    np.testing.assert_array_equal(got, X[::-1])


@pytest.mark.parametrize(
    "to_integers",
    [
        lambda x: x.astype(int), lambda x: x.astype(np.int32).copy(), lambda x: x.astype(bool),
        lambda x: np.cumsum(x, dtype=int), lambda x: np.sum(x, dtype=int),
        lambda x: np.prod(x, dtype=int), lambda x: np.reshape(x, (3, 1)).astype(int).ravel(),
    ],
)  # fmt: skip
def test_a_conversion_to_integers_has_slope_zero(to_integers):
    x = np.array([1.5, -2.5, 3.25])

    np.testing.assert_array_equal(
        zyg.gradient(lambda x: np.sum(to_integers(x) * x), x)[0],
        np.broadcast_to(to_integers(x), 3).astype(float),
    )
    assert zyg.gradient(lambda x: np.sum(to_integers(x) * 2.0), x) == (None,)
    assert "made integers of it" in str(zyg.explain(lambda x: np.sum(to_integers(x) * 2.0), x))


def test_arrays_of_integers_stay_reals_among_themselves():
    x = np.array([1, 2, 3])

    np.testing.assert_array_equal(zyg.gradient(lambda x: np.sum(x * x), x)[0], [2.0, 4.0, 6.0])
    np.testing.assert_array_equal(
        zyg.gradient(lambda x: np.sum(np.cumsum(x.astype(np.int32))), x)[0], [3.0, 2.0, 1.0]
    )


def test_bound_methods_have_their_names():
    others = ["reshape", "transpose", "copy", "conj", "conjugate", "sort", "tolist", "view", "item"]

    def f(x):
        for name in (*attributes.METHODS, *others):
            assert getattr(x, name).__name__ == name
        assert x.sum.__self__ is x
        assert x[0, 0].item.__name__ == "item"
        return np.sum(x)

    gradient(f, np.ones((3, 3)))


@pytest.mark.parametrize("library", ["xarray", "pint", "pandas"])
def test_who_converts_arrays_by_their_class_is_told_the_truth(library):
    asked = {"np": np, "__name__": f"{library}.core.something"}
    exec("def is_array(x): return isinstance(x, np.ndarray)", asked)

    def f(x):
        assert isinstance(x, np.ndarray)
        assert not asked["is_array"](x)
        return np.sum(x)

    gradient(f, np.ones(3))


# The index of NumPy's scalars


SCALARS = [np.float64(1.5), np.float32(1.5), np.complex128(1.5 + 2j), np.longdouble(1.5)]


@pytest.mark.parametrize("x", SCALARS, ids=lambda x: x.dtype.name)
def test_a_numpy_scalar_has_an_index(x):
    def f(x):
        zero = x[...]
        assert np.shape(zero) == ()
        assert np.shape(x[None]) == np.shape(x[..., None]) == (1,)
        assert x[()] == x
        assert type(x[()]) is type(x)
        zero[...] = zero * x
        return np.real(x[()] * x[None][0] * zero[()])  # the fourth power

    check_gradient(f, x, rtol=1e-2 if x.dtype == np.float32 else 1e-6)
    if x.dtype == np.float64:
        assert zyg.gradient(f, x) == (4 * x**3,)
        assert zyg.hvp(f, x, 1.0) == pytest.approx(12 * x**2)


@pytest.mark.parametrize("x", [np.float64(1.5), 1.5, 2, Fraction(1, 2)])
def test_a_number_with_an_index_is_not_a_sequence(x):
    def f(y):
        wrong = [0, slice(None), "a"] + ([] if isinstance(x, np.generic) else [(), ...])
        for index in wrong:
            with pytest.raises((IndexError, TypeError)) as plain:
                x[index]
            with pytest.raises(plain.type, match=re.escape(str(plain.value))):
                y[index]
        for go_through in (iter, list, len, lambda y: 1.0 in y):
            with pytest.raises(TypeError):
                go_through(y)
        assert not np.iterable(y)
        assert not isinstance(y, (Iterable, Sequence))
        assert str(y) == str(x)
        assert "%.2f" % y == "%.2f" % x  # noqa: UP031
        return 3 * y

    with zyg.config(swallowed="allow"):
        assert zyg.gradient(f, x) == (3,)


def test_what_leaves_a_gradient_where_a_number_was_put_into_a_plain_array():
    def f(x):
        y = np.zeros(2)
        y[0] = x
        return y[0]

    with pytest.raises(ConversionError, match=r"y\[0\] = x") as caught:
        zyg.gradient(f, 1.0)
    assert [c.name for c in caught.traceback][-1] == "f"


class Symbol:
    """As those of solvers and algebra systems, whose comparisons keep their operands."""

    def __eq__(self, other):
        return [self, other]

    def __lt__(self, other):
        return (self, other)

    __hash__ = None


@pytest.mark.parametrize("compare", [lambda x, s: x == s, lambda x, s: x > s])
def test_a_comparison_that_keeps_the_plain_number_is_refused(compare):
    with pytest.raises(ConversionError, match=r"made by [=>]+ of a watched float"):
        zyg.gradient(lambda x: compare(x, Symbol())[1] * 2, 3.0)
    assert zyg.gradient(lambda x: (Symbol() == x)[1] * 2, 3.0) == (2.0,)
    assert zyg.gradient(lambda x: x * (x == None) + x * (x != "a"), 3.0) == (1.0,)  # noqa: E711


def _pair(x):
    return np.array([x[0], x[1]])


READS = {
    "frombuffer": lambda x: np.frombuffer(_pair(x)).sum(),
    "ints": lambda x: np.frombuffer(_pair(x), dtype=np.int64).sum() * 1.0,
    "tobytes": lambda x: np.frombuffer(_pair(x).tobytes()).sum(),
    "memoryview": lambda x: memoryview(_pair(x)).nbytes * x[0],
    "data": lambda x: np.frombuffer(_pair(x).data).sum(),
    "from_buffer": lambda x: (ctypes.c_double * 2).from_buffer(_pair(x))[0],
    "ctypes": lambda x: ctypes.cast(_pair(x).ctypes.data, ctypes.POINTER(ctypes.c_double))[0],
    "ndarray": lambda x: np.ndarray((2,), float, buffer=_pair(x)).sum(),
    "struct": lambda x: struct.unpack_from("2d", _pair(x))[0],
    "bytearray": lambda x: np.frombuffer(bytearray(_pair(x))).sum(),
    "crc32": lambda x: zlib.crc32(_pair(x)) * x[0],
}


@pytest.mark.parametrize("read", READS)
def test_an_array_of_objects_is_not_made_where_its_memory_is_read(read):
    with pytest.raises(ConversionError, match="would drop its derivative"):
        gradient(READS[read], np.array([1.5, 2.5]))


def test_an_array_that_nothing_watches_is_clipped_on_one_side():
    a = np.array([0.5, 2.0])
    for clip in (lambda y: y.clip(1.5), lambda y: y.clip(max=0.5), lambda y: y.clip(0, 2)):
        y, back = pullback(lambda a, clip=clip: clip(np.ones_like(a)) + a, a)
        assert np.array_equal(y, clip(np.ones(2)) + a)
        assert np.array_equal(back(np.ones(2))[0], np.ones(2))


@pytest.mark.parametrize("x", [2, 2.0, np.float64(2.0)])
def test_the_type_of_a_watched_real_number_is_one_of_reals(x):
    def f(x):
        assert issubclass(type(x), numbers.Real)
        assert not issubclass(type(x), numbers.Rational)
        return x * x

    assert zyg.gradient(f, x) == (4.0,)


def test_elements_of_arrays_are_not_deleted():
    def delete(x):
        del x[0]

    for run in (delete, lambda x: zyg.pullback(delete, x)):
        with pytest.raises(ValueError, match="cannot delete array elements"):
            run(np.ones(3))
