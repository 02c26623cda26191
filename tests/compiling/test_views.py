"""Views and what is written through them: in machine code as in Python."""

import warnings

import numpy as np
import pytest

import zyg
from zyg.errors import CompileError, MutationError


def less_its_first_row(a):
    a -= a[:1]


def by_its_first_column(a):
    a /= a[:, :1]


def by_its_first_row_in_place(a):
    np.divide(a, a[:1], out=a)


def less_its_first_column_as_a_row(a):
    a -= a.T[0]


def filled_with_its_first_row(a):
    a[:] = a[:1]


def filled_by_copyto(a):
    np.copyto(a, a[-1:])


def filled_from_a_place_on(a):
    n = len(a) // 2
    a[n:] = a[n : n + 1]


def diagonal_seen_later(a):
    d = np.diagonal(a)
    a[1, 1] = 7.0
    return d, np.diag(a, 1), a.diagonal(-1), d.sum() + np.trace(a)


def conjugates(a):
    own, new = a.conj(), np.conj(a)
    own[0] = 5.0
    new[0] = 6.0
    return own, new


def all_of_it(a):
    b = a[...]
    b += 1.0
    c = a[0, ..., 1]
    c *= 3.0
    return b, c


def clipped_by_nothing(a):
    b = np.clip(a, None, None)
    b[0] = 4.0
    return b


def twice(a):
    b = a * 2
    return b, b


def stretched(a):
    return np.broadcast_to(a[0] * 2, (2, 3)) + 0, np.broadcast_to(a, (2, 3, 3))


def column_in_another_shape(a):
    b = a[:, 0].reshape(3, 1)
    b[0] = 9.0
    a[2] = 4.0
    return b


def every_other_in_another_shape(a):
    b = a[0, ::2].reshape(1, -1)
    b[0, 0] = 9.0
    return b, a[::2].ravel()


def copied_to_another_shape(a):
    b = a.T.reshape(-1)
    c = a[::-1].ravel()
    b[0] = 9.0
    c[1] = 8.0
    a[1] = 4.0
    return b, c, a.T.ravel(), a[:, ::-1].reshape(-1)


def rows_that_stay_rows(a):
    b = a[:, ::-1].reshape(len(a), 1, -1)
    b[1] = 9.0
    return b, b.copy(), a.T.reshape(1, *a.T.shape)


NATIVE = [
    column_in_another_shape, every_other_in_another_shape, copied_to_another_shape,
    rows_that_stay_rows,
    less_its_first_row, by_its_first_column, by_its_first_row_in_place,
    less_its_first_column_as_a_row, filled_with_its_first_row, filled_by_copyto,
    filled_from_a_place_on, diagonal_seen_later, conjugates, all_of_it, clipped_by_nothing, twice,
    stretched,
]  # fmt: skip


def a_row_too_many(a):
    a[:2] = a


def written_diagonal(a):
    np.diagonal(a)[0] = 1.0


def written_stretched(a):
    b = np.broadcast_to(a[0], (3, 3))
    b[:] = 1.0


def out_of_fewer_axes(a):
    np.add(a[0], a[:1], out=a[0])


def out_of_more_axes(a):
    np.sum(a, axis=0, out=a)


def floats_to_ints(a):
    k = np.zeros((3, 3), int)
    np.copyto(k, a)


RAISING = [
    a_row_too_many, written_diagonal, written_stretched, out_of_fewer_axes, out_of_more_axes,
    floats_to_ints,
]  # fmt: skip


def square():
    return np.arange(1.0, 10.0).reshape(3, 3).copy()


def arrays(x):
    return [y for y in (x if isinstance(x, tuple) else (x,)) if isinstance(y, np.ndarray)]


@pytest.mark.parametrize("f", NATIVE, ids=lambda f: f.__name__)
def test_views_are_where_pythons_are(f):
    compiled = zyg.compile(f)
    for _ in range(2):  # the general way, and that of the entry
        mine, pythons = square(), square()
        with zyg.config(fallback="error"), warnings.catch_warnings():
            warnings.simplefilter("error")
            found = (mine, *arrays(compiled(mine)))
        expected = (pythons, *arrays(f(pythons)))
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_array_equal(x, y)
            assert x.flags.writeable == y.flags.writeable
            for one, other in zip(found, expected, strict=True):
                assert np.shares_memory(x, one) == np.shares_memory(y, other)
                assert (x is one) >= (y is other)


@pytest.mark.parametrize("f", NATIVE, ids=lambda f: f.__name__)
def test_their_derivatives_are_those_of_the_tracer(f):
    def loss(a):
        b = a * 1.0
        f(b)
        return (b * b * a).sum()

    with zyg.config(fallback="error"):
        found = zyg.gradient(zyg.compile(loss), square())
    np.testing.assert_allclose(found, zyg.gradient(loss, square()))


def maybe_a_copy(a, k):
    b = a[:, :k].reshape(-1)
    b[0] = 9.0
    return b


def maybe_copied_in_a_loop(a, k):
    s = 0.0
    for _ in range(2):
        b = a[1:, :k].ravel()
        s += b.sum()
        a[1] += 1.0
    return s


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("f", [maybe_a_copy, maybe_copied_in_a_loop])
def test_what_may_be_a_copy_or_a_view_is_either(f, k):
    mine, pythons, compiled = square(), square(), zyg.compile(f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(mine, k), f(pythons, k))
        np.testing.assert_array_equal(mine, pythons)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize("f", RAISING, ids=lambda f: f.__name__)
def test_they_raise_where_python_does(f):
    with pytest.raises((ValueError, TypeError)) as expected:
        f(square())
    compiled, a = zyg.compile(f), square()
    for _ in range(2):
        with pytest.raises(expected.type):
            compiled(a)
    np.testing.assert_array_equal(a, square())


def test_results_that_are_read_only_are():
    def views(a):
        return np.broadcast_to(a * 2, (2, 3, 3)), np.diagonal(a)

    assert not any(y.flags.writeable for y in zyg.compile(views)(square()))


def of_two_columns(u, v, k):
    return (u[:, 1:] * v).sum()


def beyond_the_end(u, v, k):
    return u[:10].sum() + u[-9:, 5:].sum() + u[3:5].sum() + v[:, ::-1][:, :9].sum()


def between_its_ends(u, v, k):
    return v[1:-1].sum() + v[2:-3, 1:-1].sum() + u[1:-2:2].sum()


def both_may_be(u, v, k):
    w = v[:, k:] + v[:k]
    return (w * w).sum() + (v[k:, :] @ u[:, k:]).sum()


def written_by_one(u, v, k):
    w = v * 1.0
    w[:] = v[:, k:]
    w[1:] -= v[k - 1 : k]
    w[[0, 1]] *= u[:, k:].T[:, :1]
    return (w * v).sum()


def chosen_and_joined(u, v, k):
    w = np.where(v > 1.0, u[:, k:], v)
    return (w * np.broadcast_to(u[:, k:], v.shape)).sum() + np.einsum("ij,ij->i", u[:, k:], v).sum()


SIZES = [of_two_columns, beyond_the_end, between_its_ends, both_may_be, written_by_one,
         chosen_and_joined]  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize("shape", [(2, 2), (1, 1), (0, 2), (2, 1)])
@pytest.mark.parametrize("f", SIZES, ids=lambda f: f.__name__)
def test_unusual_sizes_have_machine_code_too(f, shape):
    u, v = np.arange(4.0).reshape(2, 2), np.arange(0.5, 4.5).reshape(2, 2)[: shape[0], : shape[1]]
    try:
        expected = f(u, v, 1), zyg.gradient(f, u, v, 1)
    except (ValueError, IndexError) as error:
        with pytest.raises(type(error)):
            zyg.compile(f)(u, v, 1)
        return
    compiled = zyg.compile(f)
    with zyg.config(fallback="error"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            np.testing.assert_allclose(compiled(u, v, 1), expected[0])
            pairs = zip(zyg.gradient(compiled, u, v, 1), expected[1], strict=True)
            for one, other in [*pairs][:2]:
                zeros = 0.0 if one is None else one
                np.testing.assert_allclose(zeros, 0.0 if other is None else other)


def pairs_of_neighbours(x):
    return np.lib.stride_tricks.as_strided(x, (len(x) - 1, 2), (8, 8))


def written_through(a):
    a[0] = 5.0
    a *= 2.0
    return a.sum()


def test_an_argument_whose_elements_share_memory_is_written_as_in_python():
    mine, pythons = np.arange(4.0), np.arange(4.0)
    compiled = zyg.compile(written_through)
    for _ in range(2):
        found = compiled(pairs_of_neighbours(mine))
        assert found == written_through(pairs_of_neighbours(pythons))
        np.testing.assert_array_equal(mine, pythons)
    for f in (compiled, written_through):
        with pytest.raises(MutationError, match="share memory"):
            zyg.gradient(f, pairs_of_neighbours(mine))


def of_an_argument(x):
    x.shape = (4, 2)
    return x


def of_what_has_gaps(x):
    y = (x * 2)[::2]
    y.shape = (2, 2)
    return y + 0


def of_what_a_list_holds(x):
    y = x * 1
    rows = [y]
    y.shape = (2, 4)
    return rows[0]


def set_shape(v):
    v.shape = (2, 4)


def of_what_a_caller_holds(x):
    y = x * 1
    set_shape(y)
    return y.sum(axis=0)


def while_unpacking(x):
    y = x * 1
    y.shape, z = (2, 4), y
    return z + 1


def of_what_a_method_holds(x):
    y = x * 1
    total = y.sum
    y.shape = (2, 4)
    return total(axis=0)


@pytest.mark.parametrize(
    "f",
    [
        of_an_argument, of_what_has_gaps, of_what_a_list_holds, of_what_a_caller_holds,
        while_unpacking, of_what_a_method_holds,
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # NumPy's, from 2.5 on
def test_a_shape_is_set_in_python_where_others_may_hold_the_array(f):
    x, y = (np.linspace(0.1, 1.0, 8) for _ in range(2))
    with (
        zyg.config(fallback="error"),
        pytest.raises(CompileError, match="a shape that is set is not compiled"),
    ):
        zyg.compile(f)(x.copy())
    with zyg.config(fallback="silent"):
        np.testing.assert_array_equal(zyg.compile(f)(x), f(y))
    assert x.shape == y.shape
