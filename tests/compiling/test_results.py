"""What comes back is Python's: arguments themselves, views of them, an array twice."""

import numpy as np
import pytest

import zyg

TABLE = np.arange(4.0)
ROW = np.arange(6.0) + 0.5
GRID = ROW.reshape(2, 3).copy()


def argument(x):
    return x


def slices(x):
    return x[1:], x[::-2], x


def views(a):
    return a.T, a[0], a[:, 1], a.reshape(-1), a[1:, ::2], a[None, ..., 0], np.atleast_2d(a[1])


def fresh_and_again(x):
    y = x * 2
    return y, y, y[1:], x


def captured(x):
    return TABLE, TABLE[1:3], x + 1


def carried(x, n):
    u, v = x, x * 2
    for _ in range(n):
        u, v = v * 0.5, u + v
    return u, v


def either(x, n):
    y = x * 2
    return x if n > 1 else y


def written(x):
    x[0] = 5.0
    return x[:3]


def parts(z):
    return z.real, z.imag[1:], z.conj(), np.squeeze(z)


STRIDED = np.arange(24.0).reshape(4, 6)[::2, ::2]
CASES = [
    (argument, ROW), (argument, GRID.T), (slices, ROW), (views, GRID), (views, GRID.T.copy().T),
    (views, STRIDED), (fresh_and_again, ROW), (captured, ROW), (carried, ROW, 0), (carried, ROW, 1),
    (carried, ROW, 4), (either, ROW, 1), (either, ROW, 2), (written, ROW), (written, STRIDED[0]),
    (parts, ROW * (1 + 2j)),
]  # fmt: skip


def arrays(x):
    return [y for y in (x if isinstance(x, tuple) else (x,)) if isinstance(y, np.ndarray)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_results_share_memory_where_pythons_do(case):
    f, *args = case
    mine, pythons = (
        [x.copy(order="K") if type(x) is np.ndarray and x.base is None else x for x in args]
        for _ in range(2)
    )
    compiled = zyg.compile(f)
    for _ in range(3):  # the general way, and that of the entry
        with zyg.config(fallback="error"):
            found = arrays(compiled(*mine))
        expected = arrays(f(*pythons))
        assert len(found) == len(expected)
        for k, (x, y) in enumerate(zip(found, expected, strict=True)):
            np.testing.assert_array_equal(x, y)
            assert (x.dtype, x.flags.writeable) == (y.dtype, y.flags.writeable)
            beside = [*zip(arrays(tuple(mine)), arrays(tuple(pythons)), strict=True),
                      (TABLE, TABLE), *zip(found[:k], expected[:k], strict=True)]  # fmt: skip
            for one, other in beside:
                assert np.shares_memory(x, one) == np.shares_memory(y, other)
                assert (x is one) >= (y is other)


def test_a_view_of_an_argument_that_is_read_only_is():
    x = ROW.copy()
    x.flags.writeable = False
    assert not any(y.flags.writeable for y in zyg.compile(slices)(x))


def test_derivatives_of_views_are_those_of_copies():
    _, back = zyg.pullback(zyg.compile(slices), ROW)
    (gradient,) = back((np.ones(5), np.ones(3), np.ones(6)))
    np.testing.assert_array_equal(gradient, [1.0, 3.0, 2.0, 3.0, 2.0, 3.0])


def grown(x, n):
    squares = []
    while x > 0.1:
        squares.append(x * x)
        x = x * 0.7 - 0.01
    pairs = [(k, x * k) for k in range(n)]
    return squares, pairs, {"several": len(squares), "ints": [2 * k for k in range(n)]}


def positive(xs):
    return [x for x in xs if x > 0]


def test_lists_of_a_computed_length_come_back():
    with zyg.config(fallback="error"):
        found = zyg.compile(grown)(1.0, 3)
        assert zyg.compile(grown)(0.01, 0) == ([], [], {"several": 0, "ints": []})
        (one, two) = zyg.compile(positive)(np.array([1.0, -2.0, 3.0]))
    assert found == grown(1.0, 3)
    assert [type(x) for x in found[1][2]] == [int, float]
    assert (one, two) == (1.0, 3.0)
    assert type(one) is np.float64


def test_lists_of_a_computed_length_have_derivatives():
    weights = [1.0, 2.0, 0.5], [(None, 1.0), (None, -2.0)], None

    def gradient(f):
        _, back = zyg.pullback(f, 0.25, 2)
        return back(weights)

    def tangent(f):
        _, dot = zyg.pushforward(f, (0.25, 2), (1.0, None))
        return np.array([*dot[0], dot[1][1][1]])

    with zyg.config(fallback="error"):
        assert gradient(zyg.compile(grown)) == pytest.approx(gradient(grown)[:1] + (None,))
        np.testing.assert_allclose(tangent(zyg.compile(grown)), tangent(grown))


# Arrays without axes are numbers with a gradient


def variance(x):
    return np.cov(x)


def first(x):
    return x[:1].reshape(())


def squeezed(x):
    return np.squeeze(x[:1] ** 3)


def kept(x):
    return np.sum(x**2, keepdims=True).reshape(())


def with_more(x):
    return squeezed(x), x * 2, x.sum()


POINTLIKE = [variance, first, squeezed, kept]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("f", POINTLIKE, ids=lambda f: f.__name__)
def test_a_loss_without_axes_has_its_gradient(f, dtype):
    compiled, x = zyg.compile(f), np.array([1.0, 2.0, 4.0]).astype(dtype)
    with zyg.config(fallback="silent"):
        value, (slope,) = zyg.value_and_gradient(compiled, x)
        (same,), again = zyg.gradient(compiled, x), zyg.grad(compiled)(x)
    (expected,) = zyg.gradient(f, x)

    assert type(value) is np.ndarray
    assert slope.dtype == expected.dtype
    np.testing.assert_allclose([slope, same, again], [expected] * 3, rtol=1e-6)
    assert np.any(slope != 0)


@pytest.mark.parametrize("f", POINTLIKE, ids=lambda f: f.__name__)
def test_a_loss_without_axes_has_second_derivatives_and_a_text(f):
    compiled, x = zyg.compile(f), np.array([1.0, 2.0, 4.0])
    names = {}
    exec(compiled.source(x, of="gradient"), names)

    np.testing.assert_allclose(zyg.hessian(compiled, x), zyg.hessian(f, x), rtol=1e-12)
    np.testing.assert_allclose(
        names[f"{f.__name__}_gradient"](x)[1][0], zyg.gradient(f, x)[0], rtol=1e-12
    )


def test_a_loss_without_axes_before_other_results():
    value, (slope,) = zyg.value_and_gradient(zyg.compile(with_more), np.array([1.0, 2.0, 4.0]))

    assert len(value) == 3
    np.testing.assert_array_equal(slope, [3.0, 0.0, 0.0])


def test_what_has_no_gradient_has_no_text_of_one():
    with pytest.raises(zyg.errors.CompileError, match="one real number"):
        zyg.compile(fresh_and_again).source(ROW, of="gradient")
