"""Every way to write into memory: the value is NumPy's, the gradient that of finite differences."""

from collections import namedtuple

import numpy as np
import pytest

import zyg
import zyg.numpy as znp
from zyg import errors

from .checks import LINE, SQUARE, TABLE, check, differences, loss, same_error

PROGRAMS = []
Place = namedtuple("Place", "row column")


def on(x):
    """Register a program to be checked at x."""

    def register(f):
        PROGRAMS.append(pytest.param(f, x, id=f.__name__))
        return f

    return register


@pytest.mark.parametrize(("program", "x"), PROGRAMS)
def test_program_has_numpys_value_and_the_gradient_of_differences(program, x):
    check(program, x)


# x[...] = ...


@on(LINE)
def setitem_of_more_axes_of_one_element(x):
    y = znp.zeros(3)
    y[:2] = x[None, None, :1]
    y[2:] = x[None, 1:2] * 2.0
    y[3:] = x[None, :1]
    return loss(y)


@on(LINE)
def setitem_integer(x):
    y = x * 1
    y[2] = np.sin(x[0])
    y[-1] = 3.0
    return loss(y)


@on(LINE)
def setitem_numpy_integer(x):
    y = x * 1
    y[np.argmax(np.arange(3))] = x[0] * x[1]
    return loss(y)


@on(TABLE)
def setitem_and_getitem_of_a_named_tuple(x):
    """To NumPy it is a tuple, whatever its class."""
    place, places = Place(0, 1), Place([0, 1], [1, 0])
    y = x * 2
    y[place] = x[Place(1, 0)] * x[places][0]
    y[places] += x[Place(slice(1), 1)]
    return loss(y)


@on(LINE)
def setitem_slice(x):
    y = x * 2
    y[1:4] = x[3:] ** 2
    y[::2] = 0.5
    return loss(y)


@on(LINE)
def setitem_negative_step(x):
    y = np.cos(x)
    y[4:0:-1] = x[:4] * x[1:5]
    return loss(y * x)


@on(TABLE)
def setitem_two_axes(x):
    y = x * x
    y[1, 2] = x[0, 0] * x[2, 3]
    y[1:, ::2] = x[:2, 1::2] * 3
    y[0] = x[2]
    return loss(y)


@on(TABLE)
def setitem_ellipsis(x):
    y = x * 1
    y[...] = np.sin(x)
    y[..., 0] = x[..., 1] * y[..., 0]
    return loss(y)


@on(LINE)
def setitem_newaxis(x):
    y = x * 1
    y[None, 1:3] = x[None, :2] * x[None, 2:4]
    y[3:, None] = np.exp(x[:3, None])
    return loss(y)


@on(LINE)
def setitem_fancy(x):
    y = x * 1
    y[[0, 3, 5]] = x[[1, 1, 2]] * x[3]
    y[np.array([[1], [2]])] = x[:2, None] ** 2
    return loss(y)


@on(LINE)
def setitem_fancy_repeated_the_last_wins(x):
    y = x * 1
    y[[1, 4, 1, 1]] = x[:4] * x[2:]
    return loss(y)


@on(TABLE)
def setitem_fancy_and_slice(x):
    y = x * 1
    y[[0, 2], 1:3] = np.sin(x[[1, 1], :2])
    y[[0, 1], [3, 3]] = x[0, 0] * x[2, 2]
    y[:, [0, 2]] *= x[:, [1, 1]]
    return loss(y)


@on(TABLE)
def setitem_boolean(x):
    y = x * 1
    y[x > 0.6] = x[0, 1] ** 2
    y[x < -0.5] = np.exp(x[x < -0.5])
    y[np.array([True, False, True])] += x[1]
    return loss(y)


@on(TABLE)
def setitem_broadcasts_the_value(x):
    y = x * 1
    y[1:] = x[0]
    y[:, 1:] *= x[:, :1]
    y[0, :] = x[2, 1]
    return loss(y)


@on(LINE)
def setitem_of_a_list_of_numbers(x):
    y = x * 1
    y[1:3] = [0.5, 0.25]
    return loss(y * x)


@on(np.array(0.7))
def setitem_zero_dimensional(x):
    y = x.copy()
    y[...] = np.sin(x)
    y[()] = y * x
    return np.sum(y * y)


@on(LINE)
def setitem_of_size_zero(x):
    y = x * 1
    y[3:3] = x[:0]
    y[[]] = 4.0
    y[x > 100] = x[0]
    return loss(y)


@on(LINE)
def writing_into_the_argument_itself(x):
    x[1] = x[0] * x[2]
    x[3:] *= 2
    x += np.sin(x)
    return loss(x)


# Augmented assignment


@on(LINE)
def augmented_operators(x):
    y = x * 1
    y += x**2
    y -= 0.5 * x[::-1]
    y *= np.cos(x)
    y /= 2 + np.sin(x)
    y **= 3
    y += 1.5
    y **= 2
    return loss(y)


@on(LINE)
def augmented_parts(x):
    y = x * 1
    y[1:3] += x[:2] * x[4:]
    y[0] -= x[5] * y[1]
    y[[2, 4]] *= x[3]
    y[x > 1] /= 1 + x[2] ** 2
    y[::-2] **= 2
    return loss(y)


@on(SQUARE)
def augmented_matmul(x):
    y = x * 1
    y @= x.T
    y[:2, :2] @= x[2:, 2:]
    return loss(y)


@on(np.abs(SQUARE) + 3)
def augmented_floor_and_mod(x):
    y = x * 2.5
    y %= 1.73
    z = x * 1.31
    z //= 0.77
    return loss(y) + np.sum(z * y)


@on(LINE)
def augmented_with_itself(x):
    y = np.sin(x)
    y += y
    y *= y
    y -= y * y
    y[1:] += y[:-1]
    return loss(y)


@on(TABLE)
def augmented_view_with_an_equal_view(x):
    y = x * 1
    v = y[1:]
    v += y[1:]
    v -= 3 * v
    v[0] += v[0]
    y[:2, ::2] *= y[:2, ::2]
    return loss(y)


@on(LINE)
def augmented_view_writes_through(x):
    y = x * 1
    v = y[1:4]
    v += x[:3]
    v *= v
    return loss(y) + np.sum(v * v)


@on(LINE)
def alias_is_the_same_array(x):
    y = x * 1
    z = y
    y += np.cos(x)
    y *= 2
    return loss(z)


@on(LINE)
def overwritten_operand_was_captured_first(x):
    y = np.sin(x)
    t = np.tanh(y)
    u = y * x
    y *= 2
    y[0] = 7.0
    return loss(t * y + u)


@on(LINE)
def operator_without_assignment_makes_a_new_array(x):
    y = x * 1
    z = y
    y = y + np.cos(x)
    return loss(z) + loss(y)


# out= and where=


@on(LINE)
def out_of_ufuncs(x):
    y = np.zeros_like(x)
    np.multiply(x, x, out=y)
    np.sin(y, out=y)
    np.add(y, x[::-1], y)
    np.subtract(2.0, y, out=(y,))
    np.exp(x[:3], out=y[3:])
    return loss(y)


@on(LINE)
def out_and_where_of_ufuncs(x):
    y = np.full_like(x, 0.5)
    np.multiply(x, x, out=y, where=x > 0.5)
    np.add(y, x, out=y, where=np.arange(6) % 2 == 0)
    np.negative(y, out=y, where=False)
    return loss(y)


@on(TABLE)
def out_of_functions(x):
    y = np.zeros_like(x)
    np.cumsum(x, axis=1, out=y)
    s = np.zeros_like(x[0])
    np.sum(x * y, axis=0, out=s)
    p = np.zeros_like(x @ x.T)
    np.matmul(x, y.T, out=p)
    np.clip(p, -1.03, 1.04, out=p)
    return loss(y) + loss(s) + loss(p)


@on(LINE)
def out_of_several_results(x):
    fraction, whole = np.zeros_like(x), np.zeros_like(x)
    np.modf(x * 1.9, fraction, whole)
    return loss(fraction) + np.sum(whole * x)


# Methods of ufuncs


@on(LINE)
def ufunc_add_at(x):
    y = x * 1
    np.add.at(y, [0, 2, 0, 0], x[:4] * x[1])
    np.subtract.at(y, [3, 3], x[:2])
    np.add.at(y, slice(1, 3), x[4:])
    np.add.at(y, 5, x[0])
    return loss(y)


@on(LINE)
def ufunc_multiply_at(x):
    y = np.cos(x)
    np.multiply.at(y, [1, 1, 4, 1], x[:4])
    np.divide.at(y, [2, 2], x[3:5])
    np.negative.at(y, [0, 0, 5])
    np.exp.at(y, [3, 3])
    return loss(y)


@on(TABLE)
def ufunc_at_two_axes(x):
    y = np.cos(x)
    np.add.at(y, ([0, 0, 2], [1, 1, 3]), x[0, :3])
    np.multiply.at(y, ([1, 1], slice(None)), x[:2])
    np.add.at(y, (slice(None), [0, 0]), x[:, 2:])
    return loss(y)


@on(TABLE)
def ufunc_reduce_accumulate_outer(x):
    y = np.add.reduce(x) + np.multiply.reduce(x, axis=0)
    y[1] = np.maximum.reduce(x, axis=None)
    a = np.add.accumulate(x, axis=1)
    a[0] *= y
    o = np.multiply.outer(x[0], y)
    o[1:3] += np.add.outer(y[:2], x[2])
    return loss(y) + loss(a) + loss(o)


# Functions that write


@on(LINE)
def copyto(x):
    y = np.zeros_like(x)
    np.copyto(y, x * x)
    np.copyto(y, x[0], where=np.arange(6) > 3)
    np.copyto(y[1:3], 0.25)
    np.copyto(y, np.sin(x), where=[True, False] * 3)
    return loss(y * x)


@on(TABLE)
def put(x):
    y = x * 1
    np.put(y, [0, 5, -1], x[0, :3] ** 2)
    np.put(y, [2, 14], x[1, 1] * x[1, 2], mode="wrap")
    np.put(
        y,
        [3, 99],
        [x[0, 0], x[0, 1]] if not zyg.is_traced(x) else np.stack([x[0, 0], x[0, 1]]),
        mode="clip",
    )
    y.put([7, 7], x[2, :2])
    return loss(y)


@on(TABLE)
def place(x):
    y = x * 1
    np.place(y, x > 0.4, np.sin(x[0, :3]))
    np.place(y, x > 100, x[0])
    return loss(y)


@on(TABLE)
def putmask(x):
    y = x * 1
    np.putmask(y, x > 0.4, x**2)
    np.putmask(y, x < -0.5, x[1, :3])
    return loss(y)


@on(TABLE)
def put_along_axis(x):
    y = x * 1
    np.put_along_axis(y, np.array([[1], [0], [3]]), x[:, :1] ** 2, axis=1)
    np.put_along_axis(y, np.array([[2, 2, 0, 1]]), np.cos(x[:1]), axis=0)
    return loss(y)


@on(SQUARE)
def fill_diagonal(x):
    y = x * 1
    np.fill_diagonal(y, x[0, 1] ** 2)
    z = np.sin(x)
    np.fill_diagonal(z, x[2])
    return loss(y) + loss(z)


@on(TABLE)
def method_fill(x):
    y = x * 1
    y.fill(x[1, 1] * x[0, 0])
    y[1].fill(0.5)
    y[:, 2].fill(x[2, 2])
    return loss(y * x)


@on(TABLE)
def method_sort(x):
    y = np.sin(x)
    y.sort()
    y[:, ::2].sort(axis=0)
    y[2, ::-1].sort()
    return loss(y)


@on(LINE)
def method_partition(x):
    y = x * x
    y.partition(2)
    return np.sum(y[:3] ** 2) + np.sum(np.cos(y[3:]))


# Tuples


@on(LINE)
def swap(x):
    y = x * 1
    y[0], y[3] = y[3], y[0]
    y[1], y[2] = y[2] * x[0], y[1]
    a, b = y, np.cos(x)
    a, b = b, a
    a[0] = b[1]
    return loss(a) + loss(b)


@on(LINE)
def swap_of_rows_by_fancy_index(x):
    y = np.reshape(x * 1, (3, 2))
    y[[0, 2]] = y[[2, 0]]
    return loss(y)


@on(LINE)
def swap_of_slices_is_no_swap(x):
    y = x * 1
    y[:3], y[3:] = y[3:], y[:3]  # both sides are views: NumPy writes the second over the first
    return loss(y)


@on(LINE)
def overlapping_shift(x):
    y = x * x
    y[1:] = y[:-1]
    y[:-2] = y[2:]
    y[::-1] = y
    y[1:] *= y[:-1]
    return loss(y)


@pytest.mark.parametrize(
    "write", [lambda y: (slice(None, None, 2), y[:3]), lambda y: (y < 9, y[::-1])]
)
def test_overlapping_write_that_numpy_does_not_guard(write):
    # What NumPy leaves here depends on the order in which it copies: new values may be read again.
    # The value and the gradient must at least belong together.
    def f(x):
        y = np.sin(x)
        index, value = write(y)
        y[index] = value
        return loss(y)

    slope = zyg.gradient(f, LINE)[0]
    expected = differences(lambda x: zyg.pullback(f, x)[0], LINE)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-7)


# Views


@on(TABLE)
def views_write_through(x):
    y = x * 1
    y[1][2] = x[0, 0] ** 2
    y[1:][:, ::-1][0] *= x[2]
    y.T[3, 1] = x[2, 2]
    y.reshape(2, 6)[1, 1:3] += x[0, :2]
    y.ravel()[4] = x[0, 3]
    y.swapaxes(0, 1)[0] -= x[:, 1]
    np.moveaxis(y, 0, 1)[2] *= 2.0
    np.expand_dims(y, 1)[2, 0, 1] = x[1, 1] * x[0, 1]
    np.squeeze(y[None])[0, 1:3] = x[1, 1:3]
    y[..., None][0, 3] = x[2, 3] ** 2
    y[...][2] += x[0]
    y.reshape(-1)[:: y.shape[1] + 1] *= x[0, 1]
    return loss(y)


@on(TABLE)
def views_see_writes(x):
    y = np.sin(x)
    views = [
        y[1], y.T, y.reshape(-1), y[::-1, 1::2], np.expand_dims(y, 0), y.swapaxes(0, 1), y[...],
        np.transpose(y)[1:], np.atleast_3d(y), np.flip(y, 1), np.broadcast_to(y, (2, 3, 4)),
    ]  # fmt: skip
    y *= x
    y[1, 1] = x[0, 0]
    total = loss(y)
    for k, v in enumerate(views):
        total = total + (k + 1) * loss(v)
    return total


@on(TABLE)
def ravel_and_reshape_copy_where_they_must(x):
    y = np.sin(x)
    flat = y.T.ravel()
    shaped = np.reshape(y[:, ::2].T, 6)
    flat *= 2
    shaped[0] = x[0, 0]
    y[0] = x[1]
    return loss(y) + loss(flat) + loss(shaped)


@on(TABLE)
def flatten_and_copy_are_memory_of_their_own(x):
    y = x * 1
    flat, copied, astype = y.flatten(), y.copy(), y.astype(float)
    y *= 2
    flat[0] = x[1, 1]
    copied[1] *= 3
    astype[2] = 0.0
    return loss(y) + loss(flat) + loss(copied) + loss(astype)


@on(TABLE)
def astype_without_copy_is_the_array(x):
    y = x * 1
    z = y.astype(float, copy=False)
    z *= 2
    return loss(y)


@on(LINE)
def broadcast_view_reads_through(x):
    y = x * 1
    b = np.broadcast_to(y[:3], (4, 3))
    y[1] = x[4] * x[5]
    return loss(b * b) + loss(np.broadcast_to(y[0], (2, 2)))


@on(LINE)
def view_outlives_its_name(x):
    v = (x * 1)[1:4]
    v *= x[2:5]
    w = v[::-1]
    del v
    w[0] = 0.5 * x[5]
    return loss(w)


@on(LINE)
def views_of_the_argument(x):
    a, b = x[1:], x[:-1]
    a += 0.3 * b
    x[2] = a[0] * b[0]
    return loss(x) + np.sum(a * b)


@on(TABLE)
def rows_by_iteration_are_views(x):
    y = x * 1
    for k, row in enumerate(y):
        row *= k + x[k, 0]
        row[1] = 0.5
    return loss(y)


@on(LINE)
def split_gives_views(x):
    y = x * 1
    first, second = np.split(y, 2)
    first *= second
    second[0] = x[5]
    return loss(y)


@on(SQUARE)
def diagonal_reads_through(x):
    y = x * 1
    d = np.diagonal(y)
    y[1, 1] = x[0, 0] ** 2
    return loss(y) + loss(d * d)


@on(LINE)
def real_and_imaginary_parts(x):
    z = x + 1j * x[::-1] ** 2
    z.real = np.sin(x)
    z.imag[2:] *= x[:4]
    z.real[0] = x[5] * z[1].imag
    z *= 1 + 0.5j
    z[3] = x[0] + 1j * x[1]
    z.imag += 0.5
    return loss(z.real) + loss(np.imag(z)) + np.sum(np.abs(z) ** 2)


# Loops


@on(LINE)
def recurrence(x):
    b = np.zeros_like(x)
    b[0] = x[0]
    for i in range(1, len(x)):
        b[i] = 0.9 * b[i - 1] + np.sin(x[i]) * b[i - 1]
    return loss(b)


@on(TABLE)
def stencil_with_two_buffers(x):
    u, v = x * 1, np.zeros_like(x)
    for _ in range(4):
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] * u[:-2, 1:-1] - u[1:-1, 2:])
        u, v = v, u
    return loss(u) + loss(v)


@on(SQUARE + 4 * np.eye(4))
def cholesky_in_place(x):
    a = x @ x.T
    for k in range(4):
        a[k, k] = np.sqrt(a[k, k])
        a[k + 1 :, k] /= a[k, k]
        for j in range(k + 1, 4):
            a[j:, j] -= a[j:, k] * a[j, k]
    return np.sum(np.log(np.diagonal(a)) * np.arange(1.0, 5.0)) + a[3, 0] * a[2, 1]


@on(LINE)
def insertion_sort(x):
    y = x * 1
    for i in range(1, len(y)):
        k = i
        while k > 0 and y[k - 1] > y[k]:
            y[k - 1], y[k] = y[k], y[k - 1]
            k -= 1
    return loss(y)


@pytest.mark.parametrize(
    "program", [recurrence, augmented_parts, overlapping_shift, views_of_the_argument]
)
def test_third_order_through_writes(program):
    check(program, LINE, order=3)


def test_third_order_through_views():
    check(views_write_through, TABLE, order=3)


# dtypes


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.longdouble])
def test_buffers_keep_their_dtype(dtype):
    def f(x):
        y = np.zeros_like(x)
        y[1:] = x[:-1] * x[1:]
        y += x
        y[0] = 0.5
        y[::2] *= np.linspace(1, 2, 3).astype(dtype)
        return np.sum(y)

    x = LINE.astype(dtype)
    value, (slope,) = zyg.value_and_gradient(f, x)
    expected = zyg.gradient(f, LINE)[0]

    assert value == f(x.copy())
    assert type(value) is type(f(x.copy()))
    assert slope.dtype == dtype
    np.testing.assert_allclose(slope, expected, rtol=4 * max(np.finfo(dtype).eps, 2e-16))


def test_float64_value_in_a_float32_buffer_is_rounded_as_numpy_rounds():
    def f(x):
        y = znp.zeros(6, np.float32)
        y[:] = x
        y *= x
        return np.sum(y) * y[0]

    def plain(x):
        y = np.zeros(6, np.float32)
        y[:] = x
        y *= x
        return np.sum(y) * y[0]

    value, (slope,) = zyg.value_and_gradient(f, LINE)

    assert value == plain(LINE)
    assert type(value) is np.float32
    assert slope.dtype == np.float64
    total = np.sum(LINE**2)
    expected = 2 * LINE * LINE[0] ** 2 + np.eye(6)[0] * 2 * LINE[0] * total
    np.testing.assert_allclose(slope, expected, rtol=1e-6)


def test_complex_argument_written():
    def f(z):
        z[1:] *= z[:-1]
        z.imag[0] = 2.0
        return np.sum(np.abs(z) ** 2)

    z = LINE[:3] + 1j * LINE[3:]
    found = z.copy()
    (slope,) = zyg.gradient(f, z)

    def of_parts(p):
        return f(p[:3] + 1j * p[3:])

    parts = differences(of_parts, np.concatenate([z.real, z.imag]))
    np.testing.assert_allclose(slope, parts[:3] + 1j * parts[3:], rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(z, found)


def test_complex_value_in_a_real_buffer_does_what_numpy_does():
    def f(x):
        y = x * 1
        y[:] = x * 1j
        return np.sum(y)

    with pytest.warns(np.exceptions.ComplexWarning):
        f(LINE.copy())
    with pytest.warns(np.exceptions.ComplexWarning):
        value, (slope,) = zyg.value_and_gradient(f, LINE, zeros=True)
    assert value == 0
    np.testing.assert_array_equal(slope, np.zeros(6))


def test_integer_argument_is_treated_as_real():
    def f(x):
        x[1:] += x[:-1]
        x[0] = 3
        x *= 2
        return np.sum(x * x)

    x = np.array([1, 2, 3])
    value, (slope,) = zyg.value_and_gradient(f, x)

    assert value == f(x.copy())
    assert isinstance(value, np.integer)
    assert slope.dtype == np.float64
    np.testing.assert_allclose(slope, [24.0, 24.0 + 40.0, 40.0])
    np.testing.assert_array_equal(x, [1, 2, 3])


def test_integer_values_are_written_into_integer_arrays():
    def f(x):
        y = np.zeros_like(x)
        y[0] = x[1] * x[2]
        y[1:] = x[:2]
        y.sort()
        return np.sum(y * x)

    x = np.array([4, 2, 3])
    value, (slope,) = zyg.value_and_gradient(f, x)

    assert value == f(x.copy()) == 2 * 4 + 4 * 2 + 6 * 3
    assert slope.dtype == np.float64
    np.testing.assert_allclose(slope, [4.0, 8.0 + 9.0, 6.0 + 6.0])


def test_float_cast_to_an_integer_array_in_place_raises_as_numpy_does():
    def add(x):
        y = x * 1
        y += 0.5

    def divide(x):
        y = x * 1
        y /= 2

    def out(x):
        np.sin(x, out=np.zeros_like(x))

    def copyto(x):
        np.copyto(np.zeros_like(x), x * 0.5)

    same_error(add, np.array([1, 2, 3]))
    same_error(divide, np.array([1, 2, 3]))
    for f in (out, copyto):
        with pytest.raises(TypeError, match="Cannot cast"):
            zyg.gradient(f, np.array([1, 2, 3]))


def test_watched_float_in_an_integer_buffer_is_refused():
    def f(x):
        counts = znp.zeros(3, int)
        counts[0] = x[0]
        return np.sum(counts)

    with pytest.raises(errors.MutationError, match=r"array of int64[\s\S]*counts\[0\] = x\[0\]"):
        zyg.gradient(f, LINE)


def test_plain_numbers_in_an_integer_buffer_count():
    def f(x):
        counts = np.zeros_like(x, dtype=int)
        counts[1] += 2
        np.add.at(counts, [0, 0, 3], 1)
        return np.sum(x * counts)

    check(f, LINE)


def test_boolean_masks_are_plain_arrays():
    def f(x):
        mask = np.zeros_like(x, dtype=bool)
        mask[1:3] = True
        mask |= x > 1
        return loss(x[mask])

    check(f, LINE)


# Errors


def test_errors_of_numpy_come_unchanged():
    def mismatch(x):
        y = x * 1
        y[:2] = x[:3]

    def mismatch_of_a_constant(x):
        y = x * 1
        y[:2] = np.ones(3)

    def mismatch_augmented(x):
        y = x * 1
        y += np.ones(5)

    def grows(x):
        y = x * 1
        y += np.ones((2, 6))

    def multiply_grows(x):
        y = x * 1
        y *= np.ones((2, 6))

    def outside(x):
        y = x * 1
        y[6] = x[0]

    def outside_fancy(x):
        y = x * 1
        y[[0, 9]] = x[0]

    def too_many(x):
        y = x * 1
        y[0, 0] = x[0]

    def mask(x):
        y = x * 1
        y[np.ones(5, bool)] = x[0]

    def mask_count(x):
        y = x * 1
        y[x > 0.5] = x[:2]

    def text(x):
        y = x * 1
        y["a"] = x[0]

    def number(x):
        y = x * 1
        y[0] = "a"

    def out(x):
        np.add(x, np.ones((2, 6)), out=np.zeros_like(x))

    def put(x):
        np.put(x * 1, [7], x[0])

    def copyto(x):
        np.copyto(x * 1, np.ones(5))

    programs = [
        mismatch, mismatch_of_a_constant, mismatch_augmented, grows, multiply_grows, outside,
        outside_fancy, too_many, mask, mask_count, text, number, out, put, copyto,
    ]  # fmt: skip
    wrong = []
    for f in programs:
        try:
            same_error(f, LINE)
        except Exception as error:  # all are listed at once
            wrong.append(f"{f.__name__}: {type(error).__name__}: {error}")
    assert not wrong, "\n\n".join(wrong)


def test_read_only_argument_refuses_writes_as_numpy_does():
    x = LINE.copy()
    x.flags.writeable = False

    def setitem(x):
        x[0] = 1.0

    def setitem_of_a_view(x):
        x[1:][0] = 1.0

    def augmented(x):
        x += 1.0

    def fill(x):
        x.fill(2.0)

    def sort(x):
        x.sort()

    def copyto(x):
        np.copyto(x, 1.0)

    for f in (setitem, setitem_of_a_view, augmented, fill, sort, copyto):
        with pytest.raises(ValueError, match="read-only"):
            zyg.gradient(f, x)
        with pytest.raises(ValueError, match="read-only"):
            zyg.pullback(f, x)


def test_read_only_argument_is_read_and_copied():
    x = LINE.copy()
    x.flags.writeable = False

    def f(x):
        y = x.copy()
        y[0] = x[1] * x[2]
        z = np.array(x[1:]) if not zyg.is_traced(x) else np.copy(x[1:])
        z *= 2
        return loss(y) + loss(z)

    (slope,) = zyg.gradient(f, x)
    np.testing.assert_allclose(slope, differences(f, LINE), rtol=1e-6)
    assert not x.flags.writeable


@pytest.mark.parametrize(
    "view",
    [
        lambda y: np.broadcast_to(y, (2, 6)),
        lambda y: np.broadcast_to(y, (2, 6))[0],
        lambda y: np.diagonal(np.reshape(y[:4], (2, 2))),
        lambda y: np.broadcast_to(y, (2, 6)).T[1:],
    ],
)
def test_read_only_views_refuse_writes_as_numpy_does(view):
    def f(x):
        y = x * 1
        view(y)[0] = 1.0
        return np.sum(y)

    with pytest.raises(ValueError, match="read-only"):
        f(LINE.copy())
    with pytest.raises(ValueError, match="read-only"):
        zyg.gradient(f, LINE)


def test_value_of_an_inner_gradient_in_an_array_of_an_outer_one_is_refused():
    def f(x):
        y = x * 1

        def inner(t):
            y[0] = t * t
            return t * 3

        zyg.gradient(inner, x[1])
        return np.sum(y)

    with pytest.raises(errors.MutationError, match=r"inner gradient[\s\S]*y\[0\] = t \* t"):
        zyg.gradient(f, LINE)


def test_value_of_an_inner_gradient_in_a_buffer_of_nobody_belongs_to_it():
    def f(x):
        y = znp.zeros(2)

        def inner(t):
            y[0] = t * t
            return y[0] * t

        slope = zyg.gradient(inner, x[1])[0]
        return slope * x[0] + y[0]  # and afterwards y[0] is x[1] ** 2, watched by the outer

    (slope,) = zyg.gradient(f, LINE)
    a, b = LINE[:2]
    np.testing.assert_allclose(slope[:2], [3 * b**2, 6 * b * a + 2 * b])


def test_an_array_with_views_is_not_resized():
    def f(x):
        y = x * 1.0
        part = y[1:]
        y.resize(3)
        return np.sum(part)

    with pytest.raises(ValueError, match="cannot resize an array that references"):
        zyg.gradient(f, LINE)


# Memory that is shared, or not, as NumPy has it


@on(LINE)
def windows_of_a_buffer_that_is_watched_later(x):
    y = znp.zeros(6)
    seen = np.lib.stride_tricks.sliding_window_view(y, 3)
    written = np.lib.stride_tricks.sliding_window_view(y, 2, writeable=True)
    y[1] = np.sin(x[0])
    written[3, 1] = x[1] ** 2
    assert not seen.flags.writeable
    return loss(seen) + loss(y)


@on(LINE)
def strides_of_a_buffer_that_is_watched_later(x):
    y = znp.zeros(6)
    every = znp.lib.stride_tricks.as_strided(y, (3,), (16,))
    y[2] = np.sin(x[0])
    every[2] = x[1] ** 2
    return loss(every) + loss(y)


@on(LINE)
def parts_of_flat_are_copies(x):
    y = x * 2
    part = y.flat[1:3]
    y[1] = 5.0
    part[1] *= 3.0
    y.flat[2:] = x[:1]
    return loss(part) + loss(y) + loss(znp.array([*y.flat]))


@on(TABLE)
def reshape_as_a_copy(x):
    y = x * 2
    copied, seen = y.reshape(-1, copy=True), np.reshape(y, -1, copy=False)
    copied[0] = 5.0
    seen[1] = 4.0
    return loss(y) + loss(copied)


@on(LINE)
def nan_to_num_in_place(x):
    y = x * 2
    y[0] = np.inf
    same = np.nan_to_num(y, copy=False, posinf=3.0)
    assert same is y or np.may_share_memory(same, y)
    return loss(y)


def test_what_numpy_refuses_of_memory_is_refused():
    def written_windows(x):
        y = znp.zeros(4)
        np.lib.stride_tricks.sliding_window_view(y, 2)[0] = x[0]
        return y.sum()

    def copy_that_is_none(x):
        return (x * 2).T.reshape(-1, copy=False).sum()

    for f, x in ((written_windows, LINE), (copy_that_is_none, TABLE)):
        with pytest.raises(ValueError, match=r"read-only|Unable to avoid"):
            zyg.gradient(f, x)


@pytest.mark.parametrize(
    "write",
    [
        lambda v, y: np.copyto(v, y), lambda v, y: np.putmask(v, True, y),
        lambda v, y: np.add.at(v, (), y), lambda v, y: np.exp(y, out=v), lambda v, y: v.fill(y),
    ],
)  # fmt: skip
def test_a_number_is_no_target(write):
    with pytest.raises(TypeError, match=r"must be an array, not a number \(float64\)"):
        zyg.gradient(lambda x: write(x[1] * 2, x[0]) or x[0], np.ones(3))
