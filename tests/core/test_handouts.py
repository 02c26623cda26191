"""A buffer that holds nothing watched is an array for any code; what it gave away is remembered."""

import array
import ctypes
import sys

import numpy as np
import pytest

import zyg
import zyg.numpy as znp
from zyg import errors
from zyg.core.strand import ARRAYS

HELD = "in use as plain numbers"


@pytest.fixture(autouse=True)
def _refusals_may_be_caught():
    with zyg.config(swallowed="allow"):
        yield


def in_a_gradient(f):
    """`f` as a test that runs in a gradient; gradients by what it gets are those of differences."""

    def test():
        (slope,) = zyg.gradient(f, 1.3)
        expected = (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6
        assert slope == pytest.approx(expected, rel=1e-7)

    return test


@in_a_gradient
def test_what_is_given_away_is_the_same_memory(x):
    b = znp.zeros(3)
    plain = np.asarray(b)
    assert type(plain) is np.ndarray
    plain[0] = 5.0
    b[1] = 2.0
    assert (b[0], plain[1]) == (5.0, 2.0)
    assert np.shares_memory(plain, np.asarray(b))
    return x * 1.0


def test_a_watched_write_is_refused_while_somebody_holds_the_memory():
    for hold in (
        np.asarray,
        lambda b: np.asarray(b)[1:],
        lambda b: memoryview(np.asarray(b)),
        lambda b: b.view(np.matrix),
        lambda b: b[1:].data,
        lambda b: b.ctypes,
        lambda b: np.lib.stride_tricks.as_strided(b, (2,), (8,)),
    ):

        def f(x, hold=hold):
            b = znp.zeros(3)
            held = hold(b)
            with pytest.raises(errors.MutationError, match=HELD) as refusal:
                b[1] = x
            assert "x.copy()" in str(refusal.value)
            with pytest.raises(errors.MutationError, match=HELD):
                b[1:] += x
            del held
            b[1] = x
            return b[1] * x

        assert zyg.gradient(f, 3.0) == (6.0,)


def test_an_operand_whose_memory_somebody_holds_is_copied():
    def f(x):
        b = znp.array([1.0, 2.0])
        plain = np.asarray(b)
        y, z = b * x, np.dot(b, np.stack([x, x]))
        assert not zyg.is_traced(b)
        plain[:] = 100.0
        return y.sum() + z

    assert zyg.gradient(f, 2.0) == (6.0,)
    assert zyg.pushforward(f, (2.0,), (1.0,)) == (12.0, 6.0)


def test_memory_that_a_pullback_relies_on_is_not_given_away():
    def f(x):
        b = znp.array([1.0, 2.0])
        y = b * x
        plain = np.asarray(b)
        plain[:] = 100.0
        assert b[0] == 100.0
        return y.sum() + (b * x).sum()

    assert zyg.gradient(f, 2.0) == (203.0,)


def test_memory_of_a_gradient_that_has_ended_is_given_away_as_a_copy():
    kept = []

    def f(x):
        b = znp.zeros(2)
        b[0] = x
        kept.append(b)
        return (b * b).sum()

    _, back = zyg.pullback(f, 3.0)
    np.asarray(kept[0])[0] = 99.0
    assert kept[0][0] == 99.0
    assert back(1.0) == (6.0,)


def test_what_holds_something_watched_is_refused_as_ever():
    def f(x):
        b = znp.zeros(2)
        b[0] = x
        for ask in (
            lambda b: np.asarray(b, float),
            lambda b: np.frombuffer(b),
            lambda b: array.array("d", b),
        ):
            with pytest.raises((errors.ConversionError, TypeError)):
                ask(b)
        assert not hasattr(b, "__array_interface__")
        assert not hasattr(b, "__array_struct__")
        return b[0] * x

    assert zyg.gradient(f, 3.0) == (6.0,)


def test_c_code_takes_what_holds_nothing_watched():
    optimize = pytest.importorskip("scipy.optimize")

    def fun(p):
        slope = znp.zeros(2)
        slope[0], slope[1] = 2 * p[0], 4 * (p[1] - 1)
        return p[0] ** 2 + 2 * (p[1] - 1) ** 2, slope

    def f(x):
        for method in ("L-BFGS-B", "SLSQP", "BFGS"):
            at = optimize.minimize(fun, znp.array([3.0, 4.0]), jac=True, method=method).x
            np.testing.assert_allclose(at, [0.0, 1.0], atol=1e-4)
        at = optimize.least_squares(lambda p: znp.array([p[0] - 1, 2 * p[1]]), znp.ones(2)).x
        np.testing.assert_allclose(at, [1.0, 0.0], atol=1e-6)
        b = znp.arange(4.0)
        assert b.ctypes.data_as(ctypes.POINTER(ctypes.c_double))[2] == 2.0
        assert np.ctypeslib.as_array(b)[3] == 3.0
        assert bytes(b.data) == np.arange(4.0).tobytes()
        if sys.version_info >= (3, 12):
            assert memoryview(b)[1] == 1.0
        return x * b[2]

    assert zyg.gradient(f, 1.0) == (2.0,)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, a: m.concatenate([a, a], dtype=m.float32, casting="unsafe"),
        lambda m, a: m.stack([a, a], axis=1, out=m.zeros((3, 2))),
        lambda m, a: m.vstack([a, a], dtype=int, casting="unsafe"),
        lambda m, a: m.hstack([a, a], dtype=complex),
        lambda m, a: m.einsum("i,i->i", a, a, optimize=True, order="F", casting="same_kind"),
        lambda m, a: m.clip(a, 0.5, 1.5, out=m.zeros(3, int), casting="unsafe"),
        lambda m, a: m.add(a, 1, where=a > 0, out=m.ones(3)),
        lambda m, a: m.array([a, [1.0, 2.0, 3.0]], order="F", ndmin=3),
        lambda m, a: a.clip(0.5, 1.5, m.zeros(3)),
        lambda m, a: a.view(m.int64),
        lambda m, a: a.view(type=m.matrix),
        lambda m, a: m.asarray(a, dtype=m.float32),
        lambda m, a: m.block([[a, a], [a, a]]),
    ],
)  # fmt: skip
def test_calls_on_what_holds_nothing_watched_are_numpys(call):
    expected = call(np, np.array([0.0, 1.0, 2.0]))

    def f(x):
        y = call(znp, znp.array([0.0, 1.0, 2.0]))
        assert (type(y) in ARRAYS) or type(y) is type(expected)
        assert (y.dtype, y.shape, y.strides) == (expected.dtype, expected.shape, expected.strides)
        assert (np.asarray(y) == expected).all()
        return x

    zyg.gradient(f, 1.0)


def test_results_in_the_memory_of_a_buffer_are_views_of_it():
    def f(x):
        b = znp.zeros((2, 3))
        for view in (
            np.ravel(b), np.reshape(b, (3, 2)), b.T, np.atleast_2d(b)[0], np.squeeze(b),
            np.split(b, 2)[0][0], np.broadcast_arrays(b, b)[0],
            np.moveaxis(b, 0, 1),
        ):  # fmt: skip
            assert type(view) in ARRAYS
            view[...] = 0.0
        np.ravel(b)[1] = x
        assert zyg.is_traced(b)
        return b[0, 1] * x

    assert zyg.gradient(f, 3.0) == (6.0,)


def test_an_array_that_shares_memory_with_a_plain_one_is_no_buffer():
    def f(x):
        plain = np.zeros(3)
        _, other = np.broadcast_arrays(znp.zeros(3), plain)
        assert type(other) is np.ndarray
        assert np.shares_memory(other, plain)
        return x

    zyg.gradient(f, 1.0)


def test_a_read_only_buffer_is_given_away_read_only():
    def f(x):
        b = znp.zeros(3)
        b.flags.writeable = False
        assert not np.asarray(b).flags.writeable
        return x

    zyg.gradient(f, 1.0)


def test_a_function_without_a_rule_is_given_memory_that_is_remembered():
    sparse = pytest.importorskip("scipy.sparse")
    linalg = pytest.importorskip("zyg.scipy.linalg")

    def f(x):
        b = znp.ones(2)
        assert (linalg.toeplitz(b) == 1.0).all()
        matrix = sparse.csr_array((b, [0, 1], [0, 1, 2]), (2, 2))
        if np.shares_memory(matrix.data, np.asarray(b)):
            with pytest.raises(errors.MutationError, match=HELD):
                b[0] = x
        del matrix
        b[0] = x
        return b[0] * x

    assert zyg.gradient(f, 3.0) == (6.0,)


def test_an_array_made_outside_is_refused_and_the_message_says_so():
    outside = znp.zeros(3)

    def f(x):
        outside[0] = x
        return x

    with pytest.raises(errors.ConversionError, match="or outside the gradient"):
        zyg.gradient(f, 1.0)
