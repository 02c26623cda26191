"""Ints of every type in kernels, against NumPy."""

import numpy as np
import pytest

import zyg
from zyg.errors import IntegerOverflowError, KernelError

from . import integers

SIGNED = ("int8", "int16", "int32")
NARROW = (*SIGNED, "uint8", "uint16", "uint32")


def extremes(dtype):
    span = np.iinfo(dtype)
    return np.array([span.min, span.max, span.max // 2 + 1, 3, 1], dtype)


@pytest.mark.slow
def test_random_expressions_are_numpys():
    for seed in range(600):
        integers.check(integers.Case(seed))


@pytest.mark.slow
def test_random_expressions_are_numpys_in_machine_code():
    for seed in range(2000, 2025):
        integers.check(integers.Case(seed), "llvm")


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


def times(n):
    return lambda a: a * n


@pytest.mark.parametrize("dtype", NARROW)
def test_an_int_of_pythons_that_a_call_brings_is_refused_as_by_numpy(dtype):
    a, most = extremes(dtype), int(np.iinfo(dtype).max)
    larger = zyg.fuse(lambda a, n: np.maximum(a, n))
    for call in (
        lambda n: zyg.broadcast(lambda a, n: a * n, a, n),
        lambda n: larger(a, n),
        lambda n: zyg.broadcast(lambda a, n: a + (n * 2 - n), a, n),
        lambda n: zyg.partials(lambda a, n, x: a * n * x, a, n, 0.5),
        lambda n: zyg.elementwise(lambda a, n, x: a * n * x).one_pass(np.ones(5), a, n, 0.5),
        lambda n: zyg.gradient(
            lambda x, n: zyg.broadcast(lambda a, n, x: a * n * x, a, n, x).sum(), 1.0, n
        ),
    ):
        with pytest.raises(IntegerOverflowError, match=f"{most + 1} is out of bounds for {dtype}"):
            call(most + 1)


@pytest.mark.slow
def test_a_captured_int_that_has_become_an_operand_is_refused_as_by_numpy():
    a = np.array([1, 2, 100], np.int8)

    for n in (*range(6), 127, -128):  # from the fifth on it is an operand
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(zyg.broadcast(times(n), a), a * n)
    for n in (128, -129, 1000):
        with pytest.raises(IntegerOverflowError, match=f"{n} is out of bounds for int8"):
            zyg.broadcast(times(n), a)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (lambda a, n: min(a, n), lambda a, n: max(a, n)),
        (lambda a, n: max(min(a, n), -n), lambda a, n: min(a, -n)),
        (lambda a, n: a * n if n < 100 else a, lambda a, n: a * n if n > 100 else a),
        (lambda a, n: a if n == 0 else a + 5 // n, lambda a, n: a - n),
        (lambda a, n: a + (n - 990), lambda a, n: abs(-n) % a),
    ],
)
def test_an_int_of_pythons_has_to_have_a_place_only_where_it_meets_a_type(right, wrong):
    a = np.array([1, 2, 100, -7], np.int8)

    expected = np.array([right(x, 1000) for x in a])
    np.testing.assert_array_equal(zyg.broadcast(right, a, 1000), expected)
    with pytest.raises(IntegerOverflowError):
        zyg.broadcast(wrong, a, 1000)


def test_a_bound_is_never_taken_only_of_what_it_bounds():
    a, b = np.array([1, 2], np.int8), np.array([5, 1000])

    with pytest.raises(IntegerOverflowError, match="300 is out of bounds for int8"):
        zyg.broadcast(lambda a, b: a if b < 300 else 300, a, b)


def test_an_index_of_a_loop_is_refused_where_it_has_no_place():
    def summed(a, n):
        s = a
        for k in range(n):
            s = s + k
        return s

    def last(a):
        for k in range(100, 200):
            a = (a & 0) + k
        return a

    a = np.array([1, 2], np.int8)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(zyg.broadcast(summed, a, 128), summed(a, 128))
    with pytest.raises(IntegerOverflowError, match="128 is out of bounds for int8"):
        zyg.broadcast(summed, a, 129)
    with pytest.raises(IntegerOverflowError, match="199 is out of bounds for int8"):
        zyg.broadcast(last, a)


def test_what_is_computed_of_numbers_of_pythons_has_a_place_in_int64():
    """Python's ints have any size; the product wrapped around to zero."""
    square = zyg.elementwise(lambda x, n: x * (n * n))
    inside = zyg.elementwise(lambda a, n: a < n + 3)

    with pytest.raises(IntegerOverflowError, match=f"{2**64} is out of bounds for int64"):
        square(np.ones(2), 2**32)
    with pytest.raises(IntegerOverflowError, match="out of bounds for int64"):
        inside(np.ones(2, np.int8), 2**63 - 1)
    np.testing.assert_array_equal(square(np.ones(2), 2**31), 2.0**62)


def test_uint64_meets_no_negative_number_of_a_call():
    a, plus = np.array([1, 2], np.uint64), zyg.elementwise(lambda a, n: a + n)

    np.testing.assert_array_equal(plus(a, 3), a + 3)
    with pytest.raises(IntegerOverflowError, match="-1 is out of bounds for uint64"):
        plus(a, -1)


@pytest.mark.slow
@pytest.mark.parametrize("n", [np.int64(1000), np.int16(1000), np.array(1000), np.int8(100)])
def test_a_captured_int_of_numpys_has_its_type(n):
    a = np.array([1, 2, 100], np.int8)

    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(zyg.broadcast(times(n), a), a * n)
        twice = np.asarray((n + n) * np.ones(3))
    np.testing.assert_array_equal(zyg.broadcast(lambda x: (n + n) * x, np.ones(3)), twice)


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


UNSIGNED = np.array([2**63, 2**64 - 1, 5, 0, 2**63 + 1025], np.uint64)
OTHERS = np.array([3, 2**63, 2**64 - 1, 7, 1], np.uint64)


def everything(a, b, x):
    return (
        a - b, -a, (a - b) // 2**63, a // b, a % b, np.fmod(a, b), np.maximum(a, b), np.fmin(a, b),
        a < b, a >= 2**63, a > -1, a == b, a * x, np.sign(a), abs(a), a**7, a & b, ~a, np.sqrt(a),
        np.where(a > b, a, 2**64 - 1), a + (2**63 + 1), a / b, np.clip(a, 2, 300),
    )  # fmt: skip


def test_ints_of_64_bits_without_sign_are_numpys():
    x = np.linspace(0.5, 2.0, 5)
    with np.errstate(all="ignore"):
        expected = everything(UNSIGNED, OTHERS, x)
    for got, right in zip(zyg.broadcast(everything, UNSIGNED, OTHERS, x), expected, strict=True):
        np.testing.assert_array_equal(got, right)
        assert got.dtype == right.dtype
    assert zyg.broadcast(lambda a: a + 1, UNSIGNED[1]) == 0
    assert zyg.broadcast(lambda a, n: a + n, UNSIGNED, OTHERS.astype(np.uint8)).dtype == np.uint64


def test_derivatives_beside_ints_of_64_bits_without_sign():
    x = np.linspace(0.5, 2.0, 5)
    by_a, by_x = zyg.gradient(
        lambda a, x: np.sum(zyg.broadcast(lambda a, x: a**3 * x + a * x, a, x)), UNSIGNED, x
    )
    a = UNSIGNED.astype(float)
    cube = (UNSIGNED * UNSIGNED * UNSIGNED).astype(float)
    np.testing.assert_allclose(by_a, (3 * a * a + 1) * x, rtol=1e-15)
    np.testing.assert_allclose(by_x, cube + a, rtol=1e-15)


def test_uint64_together_with_signed_ints_is_compared_and_else_refused():
    signed = np.array([-1, 2**63 - 1, 5, -(2**63), 1])
    np.testing.assert_array_equal(
        zyg.broadcast(lambda a, n: a < n, UNSIGNED, signed), signed > UNSIGNED
    )
    for n in (signed, signed.astype(np.int8)):
        with pytest.raises(KernelError, match=f"uint64 and {n.dtype} have no integer type"):
            zyg.fuse(lambda a, n: a + n)(UNSIGNED, n)


def test_overflow_of_int64_is_no_secret_to_what_follows():
    a = np.array([-(2**63), 2**63 - 1, 3, -(2**63) + 2])
    for f in (lambda a: 5 - a > 3, lambda a: (a - 3) // 2, lambda a: a * 2 // 2, lambda a: -a > 0,
              lambda a: a * a % 7, lambda a: (a + 1) * 0.5, lambda a: a**7, lambda a: a**9 // 3,
              lambda a: a // -1):  # fmt: skip
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(zyg.broadcast(f, a), f(a))


@pytest.mark.parametrize("dtype", [*NARROW, "uint64"])
def test_a_number_that_has_no_place_in_a_branch_is_refused(dtype):
    a, most = extremes(dtype), int(np.iinfo(dtype).max)

    def branch(a):
        if a > 2:
            return a - 1
        return most + 1

    for f in (lambda a: a if a > 2 else most + 1, lambda a: np.where(a > 2, a, most + 1), branch):
        with pytest.raises(IntegerOverflowError, match=f"{most + 1} is out of bounds for {dtype}"):
            zyg.broadcast(f, a)
    for f in (lambda a: min(a, most + 1), lambda a: np.clip(a, -(2**40), most + 1)):
        np.testing.assert_array_equal(zyg.broadcast(f, a), a)  # a bound that nothing reaches
