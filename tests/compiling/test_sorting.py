"""Sorting in machine code, by NumPy's own functions: its bits, among equal elements, too."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import zyg
from zyg.compiler import libraries
from zyg.functions.composed import sorting


def sorted_(x):
    return np.sort(x)


def by_columns(x):
    return np.sort(x, axis=0), np.argsort(x, 0)


def flat(x):
    return np.sort(x, axis=None), np.argsort(x, axis=None)


def places(x):
    return np.argsort(x)


def in_order(x):
    return np.argsort(x, kind="stable"), np.argsort(x, kind="mergesort")


def in_place(x):
    y = x.copy()
    y.sort()
    return y, np.sort(x, kind="heapsort")


def by_heap(x):
    return np.argsort(x, kind="heapsort")


FUNCTIONS = [sorted_, by_columns, flat, places, in_order, in_place, by_heap]
KINDS = [float, int, np.float32, np.int8, bool]


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=3), st.integers(1, 60),
    st.sampled_from(KINDS), st.booleans(), st.integers(0, 99),
)  # fmt: skip
def test_numpys_bits(shape, values, dtype, by_fortran, seed):
    random = np.random.default_rng(seed)
    x = random.integers(0, values, shape[:2]).astype(dtype)
    if dtype is float and seed % 3 == 0:
        x = np.where(x == 1, np.nan, np.where(x == 2, -np.inf, x))
    x = np.asfortranarray(x) if by_fortran else x
    for f in FUNCTIONS:
        if f is in_place and dtype is np.int8:
            continue  # it is refused, with a warning
        rows = f(x), zyg.compile(f)(x)
        for mine, its in zip(*(r if type(r) is tuple else (r,) for r in rows), strict=True):
            assert mine.dtype == its.dtype, f.__name__
            assert mine.strides == its.strides, f.__name__
            np.testing.assert_array_equal(mine, its, f.__name__)


def weighted(x, w):
    order = np.argsort(x[0])
    return np.sum(np.sort(x) ** 2 * w) + np.sum(np.sort(x, axis=0) ** 3) + x[0, order[2]] ** 2


def test_derivatives():
    x = np.random.default_rng(0).permutation(90).reshape(3, 30) * 0.1
    w = np.cos(np.arange(30.0))
    with zyg.config(fallback="error"):
        compiled = zyg.compile(weighted)
        zyg.check_gradient(compiled, x, w)
        assert not compiled.inspect(x, w)["called back"]


def test_of_equal_elements_the_first_comes_first():
    x, w = np.array([[1.0, 1, 0, 0, 2, 2, np.inf, np.inf, 2]]), np.arange(9.0)

    def total(x, w):
        return np.sum(np.sort(x) * w)

    compiled = zyg.compile(total)
    np.testing.assert_array_equal(zyg.gradient(compiled, x, w)[0], zyg.gradient(total, x, w)[0])
    np.testing.assert_array_equal(zyg.gradient(compiled, x, w)[0], [[2, 3, 0, 1, 4, 5, 7, 8, 6]])


def test_in_threads():
    @zyg.compile
    def total(x, w):
        found = np.zeros(len(x))
        for i in zyg.prange(len(x)):
            found[i] = np.sum(np.sort(x[i]) * w) + np.argsort(x[i])[0]
        return np.sum(found)

    x, w = np.random.default_rng(0).normal(size=(64, 50)), np.cos(np.arange(50.0))
    plain = np.sum(np.sort(x) * w) + np.sum(np.argsort(x)[:, 0])
    assert total(x, w) == pytest.approx(plain, rel=1e-12)
    expected = w[np.argsort(np.argsort(x))]  # an element has the weight of its rank
    np.testing.assert_array_equal(zyg.gradient(total, x, w)[0], expected)


def test_the_text_sorts():
    x, found = np.random.default_rng(1).normal(size=12), {}
    exec(zyg.compile(in_place).source(x) + zyg.compile(in_order).source(x), found)
    for f in (in_place, in_order):
        np.testing.assert_array_equal(found[f.__name__](x), f(x))


def middle(x, q):
    return np.median(x)


def quantiles(x, q):
    return np.quantile(x, q) + 2 * np.percentile(x, 100 * q)


ORDERS = {
    "random": lambda x: x, "sorted": np.sort, "down": lambda x: np.sort(x)[::-1],
    "pipes": lambda x: np.concatenate([np.sort(x[::2]), np.sort(x[1::2])[::-1]]),
    "zigzag": lambda x: np.ravel(np.stack([np.sort(x), -np.sort(x)]), order="F")[: len(x)],
}  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 700), st.sampled_from([3, 40, 10**6]), st.sampled_from([*ORDERS]),
    st.sampled_from([0.0, 0.25, 0.3, 0.999, 1.0]), st.integers(0, 99),
)  # fmt: skip
def test_what_is_in_the_middle(n, values, order, q, seed):
    x = np.random.default_rng(seed).integers(-values, values, n) * 0.5
    x = np.ascontiguousarray(ORDERS[order](x))
    with zyg.config(fallback="error"):
        for f in (middle, quantiles):
            compiled = zyg.compile(f)
            assert compiled(x, q) == pytest.approx(f(x, q), rel=1e-14, abs=1e-14)
            mine, its = zyg.gradient(compiled, x, q), zyg.gradient(f, x, q)
            np.testing.assert_allclose(mine[0], its[0], rtol=1e-12, atol=1e-12)
            assert f is middle or mine[1] == pytest.approx(its[1], rel=1e-12)


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_where_pivots_are_bad_what_is_left_is_sorted(monkeypatch, rounds):
    zyg.kernels.clear()
    monkeypatch.setattr(sorting, "_ROUNDS", rounds)
    x = np.random.default_rng(rounds).normal(size=3001)
    assert zyg.compile(middle)(x, 0.0) == np.median(x)
    assert zyg.compile(quantiles)(x, 0.2) == pytest.approx(quantiles(x, 0.2), rel=1e-14)
    zyg.kernels.clear()


def test_another_numpy_is_called_back(monkeypatch):
    zyg.kernels.clear()
    monkeypatch.setattr(libraries, "sorts", dict)
    x = np.random.default_rng(2).normal(size=20)
    compiled = zyg.compile(lambda x: np.sum(np.sort(x) * x))
    assert compiled(x) == pytest.approx(np.sum(np.sort(x) * x), rel=1e-14)
    assert "sort" in compiled.inspect(x)["called back"]
    zyg.check_gradient(compiled, x)
    zyg.kernels.clear()


def test_medians_of_nan_and_infinity():
    x = np.random.default_rng(0).normal(size=301)
    for bad in (np.nan, np.inf, -np.inf):
        x[7] = bad
        with np.errstate(all="ignore"), zyg.config(fallback="silent"):
            assert zyg.compile(middle)(x, 0.0) == pytest.approx(np.median(x), nan_ok=True)
