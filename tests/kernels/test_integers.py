"""Ints of every type in kernels, against NumPy."""

import numpy as np
import pytest

import zyg
from zyg.errors import IntegerOverflowError

from . import integers

SIGNED = ("int8", "int16", "int32")
NARROW = (*SIGNED, "uint8", "uint16", "uint32")


def extremes(dtype):
    span = np.iinfo(dtype)
    return np.array([span.min, span.max, span.max // 2 + 1, 3, 1], dtype)


def test_random_expressions_are_numpys():
    checked, failures = integers.survey(range(600))

    assert not failures, "\n\n".join(failures)
    assert checked == 600


@pytest.mark.slow
def test_random_expressions_are_numpys_in_machine_code():
    assert not integers.survey(range(2000, 2025), "numba")[1]


@pytest.mark.parametrize("dtype", NARROW)
def test_what_wraps_around_is_used_as_numpy_uses_it(dtype):
    a, x = extremes(dtype), np.linspace(0.5, 2.5, 5)

    def used(a, x):
        return (a + a) // 2 + (a * a) * x

    with np.errstate(over="ignore"):
        expected = used(a, x)
    np.testing.assert_array_equal(zyg.broadcast(used, a, x), expected)
    np.testing.assert_array_equal(zyg.broadcast(lambda a: a + a > a, a), a + a > a)


@pytest.mark.parametrize("dtype", NARROW)
def test_a_number_that_has_no_place_in_the_type_is_refused_as_by_numpy(dtype):
    a, most = extremes(dtype), int(np.iinfo(dtype).max)
    fused = zyg.fuse(lambda a: a * 2**33)
    for call in (
        lambda: zyg.broadcast(lambda a: a * 2**33, a),
        lambda: zyg.broadcast(lambda a, x: (most + 1 - a) * x, a, 0.5),
        lambda: zyg.partials(lambda a, x: a * 2**33 * x, a, 0.5),
        lambda: fused(a),
        lambda: zyg.gradient(
            lambda x: np.sum(zyg.broadcast(lambda a, x: a % 2**33 * x, a, x)), 1.0
        ),
    ):
        with pytest.raises(IntegerOverflowError, match=f"is out of bounds for {dtype}"):
            call()
    assert issubclass(IntegerOverflowError, OverflowError)
    for right in (lambda a: a * 1.0 * 2**33, lambda a: a < 2**33, lambda a: a + most):
        np.testing.assert_array_equal(zyg.broadcast(right, a), right(a))


def test_ints_in_loops_and_branches_wrap_around_as_those_of_numpy():
    def f(a, x):
        s = 0
        for i in range(4):
            s = s + a
            if s > 50:
                s = s - 1 - i
        while s > 90:
            s = s * 3
        return s * x

    a, x = np.arange(-128, 128, 5).astype(np.int8), np.linspace(0.5, 2.0, 52)
    with np.errstate(over="ignore"):
        expected = [f(b, y) for b, y in zip(a, x, strict=True)]
    np.testing.assert_array_equal(zyg.broadcast(f, a, x), expected)


def test_derivatives_do_not_wrap_around():
    a, x = np.array([100, -100, 127, 3], np.int8), np.array([0.5, 1.0, 2.0, 3.0])

    def total(a, x):
        return np.sum(zyg.broadcast(lambda a, x: a * a * x + np.sin(x), a, x))

    def by_operators(a, x):
        return np.sum(a * a * x + np.sin(x))

    for mine, theirs in zip(
        zyg.gradient(total, a, x), zyg.gradient(by_operators, a, x), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_kernels_of_one_function_for_several_types_are_apart():
    def f(a):
        return (a * a) // 3

    for dtype in ("int8", "uint8", "int64", "int8"):
        a = np.array([100, 11], dtype)
        np.testing.assert_array_equal(zyg.broadcast(f, a), f(a))
