"""Functions of arrays, each with arguments: one thing each that whole functions may do."""

# ruff: noqa: B007

import cmath
import math

import numpy as np

from .program import program

X = np.array([0.5, -1.2, 2.0, 0.1, 3.5])
Y = np.linspace(-1, 1, 5)
A = np.arange(12.0).reshape(3, 4) * 0.5 - 2
B = np.cos(np.arange(20.0)).reshape(4, 5)
C = np.sin(np.arange(24.0)).reshape(2, 3, 4)
K = np.array([3, 0, 0, 2])
M = np.array([True, False, True, True, False])
SCALE = 1.5
WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0, 5.0])

LISTS = "a list of a length that is computed"

# Lists


@program(0.7, Y)
def a_list_plus_an_array_in_place(x, a):
    """NumPy's operator comes before the list's."""
    one, both = [0.2], [x] * 5
    one += a * 2
    both += a
    both -= [1.0, x, 2.0, x, 3.0]
    return one[-1] * x + (one * both).sum()


# Elements


@program(X)
def sum_by_index(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return s


@program(X)
def sum_by_element(x):
    s = 0.0
    for v in x:
        s += v * v if v > 0 else -math.sin(v)
    return s


@program(A)
def rows(a):
    total = 0.0
    for k, row in zip(range(3), [0, 1, 2], strict=True):
        total += a[k, row]
    for row in a:
        for v in row:
            total += v
    return total


@program(X)
def negative_indices(x):
    return x[-1], x[-len(x)], x[len(x) - 2], x[0] - x[-2]


@program(X)
def periodic(u):
    v = np.zeros(len(u))
    for i in range(len(u)):
        v[i] = u[i - 1] - 2 * u[i]
    return v


@program(A, 2)
def element_of_matrix(a, k):
    return a[k, k], a[k][1], a[-1, -1], a[k - 3, 0]


@program(X)
def unpacking(x):
    a, b, c, d, e = x[:5]
    return a * b + c, d, e


@program(A)
def unpacked_shape(a):
    n, m = a.shape
    s = 0.0
    for i in range(n):
        for j in range(m):
            s += a[i, j] * (i + 1) * (j - 1)
    return s, n, m, a.ndim, a.size, len(a)


@program(X)
def writes(x):
    x[0] = 5.0
    x[-1] += 2
    x[1] *= x[0]
    return x[0] + x[1]


@program(X)
def backwards(x):
    for i in range(len(x) - 2, -1, -1):
        x[i] += x[i + 1]
    return x[0]


@program(X, 0.1)
def stencil(u, c):
    n = len(u)
    v = np.zeros(n)
    for t in range(3):
        for i in range(1, n - 1):
            v[i] = u[i] - c * u[i] * (u[i + 1] - u[i - 1])
        for i in range(1, n - 1):
            u[i] = v[i]
    return (u**2).sum()


@program(X)
def triangular(x):
    s = 0.0
    for i in range(len(x)):
        p = 1.0
        for j in range(i):
            p *= np.cos(x[j] * x[i])
        s += p
    return s


@program(A)
def lower_triangle(a):
    s = 0.0
    for i in range(3):
        for j in range(i + 1):
            s += a[i, j]
    return s


@program(np.eye(4) * 4 + 0.5)
def cholesky_by_loops(a):
    n = a.shape[0]
    m = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= m[i, k] * m[j, k]
            if i == j:
                m[i, i] = math.sqrt(s)
            else:
                m[i, j] = s / m[j, j]
    return m


@program(X, K)
def gathered(x, idx):
    s = 0.0
    for k in range(len(idx)):
        s += (k + 1) * x[idx[k]] ** 2
    return s


@program(X)
def matrix_of_bools(x):
    seen = np.zeros((len(x), 2), dtype=bool)
    for i in range(len(x)):
        seen[i, 0] = x[i] > 0
        seen[i, 1] = not seen[i, 0]
    return seen, seen.sum()


@program(X)
def counts(x):
    c = np.zeros(3, dtype=int)
    for v in x:
        c[1 if v > 1 else 0] += 1
    return c, c[0], c.dtype == np.int64


# Slices, views


@program(X)
def slices(x):
    return x[1:], x[:-1], x[::2], x[::-1], x[1:4:2], x[-3:], x[3:0:-1], x[:2], x[4:1]


@program(A)
def slices_of_a_matrix(a):
    return a[1], a[:, 1], a[1:, :2], a[..., -1], a[None, 0], a[:, None, 2], a[::-1, ::2], a[-1, 1:]


@program(C)
def slices_of_three_axes(c):
    return c[0], c[:, 1], c[..., 2], c[1, ..., None, 0], c[:, :, ::-1][0, 1], c.T[0]


@program(X, 2, 9)
def slices_by_variables(x, i, j):
    return x[i:], x[:i], x[i:j], x[-i:], x[: i - 4], x[j:], x[-j:i]


@program(X)
def writes_to_slices(x):
    x[1:3] = 7.0
    x[3:] = x[:2]
    x[::2] *= 2
    return x


@program(X)
def rows_of_tuples(x):
    a, few = np.zeros((3, 2, 3)), [x[0], 2.0]
    a[0, 1] = x[0], 2, x[1]
    a[1] = (x[:3], [x[2], x[3], 1])
    a[2, 0, 1:] = few
    a[2, 0, 1:] = a[2, 0, 2], a[2, 0, 1]
    a[[0, 2], 0, 0] = few
    few.append(3.0)
    return a * a


@program(X)
def overlapping(x):
    x[1:] = x[:-1]
    x[:-1] += x[1:]
    x[::-1][1:3] = x[0:2]
    return x


@program(A)
def through_views(a):
    b = a.T
    c = b[1:]
    c[0, 1] = 9.0
    c[1] += 1
    row = a[2]
    row *= 2
    a[0] = row
    return a, c


@program(A)
def swapped_rows(a):
    for i in range(2):
        tmp = a[i].copy()
        a[i] = a[i + 1]
        a[i + 1] = tmp
    return a


@program(A)
def alias(a):
    b = a
    b[0, 0] = 100.0
    return a[0, 0], b.shape


@program(X)
def in_place_of_a_name(x):
    y = x
    y += 1
    y **= 2
    return x, y.sum()


@program(X, 1.0)
def in_branches(x, t):
    y = np.zeros(5)
    if t > 0.5:
        y[1:] = x[:-1]
        y = y * 2
    else:
        y = x[::-1]
    return y


@program(X, 0.2)
def other_branch(x, t):
    if t > 0.5:
        y = x + 1
    else:
        y = x[::-1]
    y[0] = 3
    return y, x


@program(X)
def rebound_in_a_loop(x):
    h = np.zeros(len(x))
    for v in x:
        h = np.tanh(0.5 * h + v)
    return h


@program(X, 3)
def shrinking(x, n):
    y = x
    for _ in range(n):
        y = y[1:] * y[:-1]
    return y


@program(X)
def double_buffer(u):
    v = np.zeros(len(u))
    for _ in range(3):
        v[1:-1] = 0.5 * (u[2:] + u[:-2])
        u, v = v, u
    return u


@program(X)
def slices_in_loops(x):
    s = 0.0
    for i in range(1, len(x)):
        s += x[i:].sum() * x[:i].max()
    return s


@program(A)
def reshaping(a):
    b = a.reshape(4, 3)
    c = a.ravel()
    d = a.reshape(-1)
    e = a.T.reshape(2, -1)
    c[0] = 50.0
    return b, d[0], e, a.reshape((12,))[3], a.flatten()


@program(C)
def axes_moved(c):
    return (np.transpose(c, (1, 2, 0)), c.swapaxes(0, 2), np.moveaxis(c, 0, -1),
            np.expand_dims(c[0], 0), c[:, :1].squeeze(1))  # fmt: skip


# Elementwise


@program(X, Y, differences="jumps")
def arithmetic(x, y):
    return x + y, x * 2 - y / 4, -x, x**2, x // 0.7, x % 0.7, abs(x), 2**x, 1 - x, +y


@program(A, np.arange(4.0), np.arange(3.0))
def broadcasting(a, r, c):
    return a + r, a * c[:, None], r + c[:, None], a - a.mean(axis=0), a[:1] * r, 1 / (1 + a**2)


@program(np.ones((1, 4)), np.ones((3, 1)), np.ones(1))
def broadcasting_ones(a, b, c):
    return a + b, a * c, c + b


@program(X, Y)
def comparisons(x, y):
    return x > y, (x > 0) & (y < 0), ~(x == y), (x > 0) | (y != 0), x <= 0.5, np.isnan(x)


@program(X, Y)
def out_arguments(x, y):
    z = np.empty(5)
    np.multiply(x, y, out=z)
    np.add(z, 1, z)
    np.exp(z, out=x)
    np.sqrt(x, out=z, where=x > 1)
    return z


@program(X, K, M)
def mixed_types(x, k, m):
    return k + 1, k * 0.5, k / 2, k // 2, k**2, m + m, m * 2, m & True, x * m, k % 3, -k, m + 1.5


@program(X.astype(np.float32), K)
def single_precision(x, k):
    return (
        x + 1,
        x * 2.5,
        x + k[:1],
        x.sum(),
        x.mean(),
        x[0] * 2.0,
        np.exp(x),
        x @ x,
        x + np.float64(1),
    )


@program(K)
def ints(k):
    return k.sum(), k.mean(), k.max(), k.prod(), np.sqrt(k), k[0] * 2, k[0] / 2, k > 1


# Reductions


@program(A)
def softmax(a):
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@program(X, Y, traced="float(x)")
def python_functions_of_arrays(x, y):
    return len(x), sum(x), abs(x), x.tolist() if False else 0, float(x[0]), int(x[2])


# Masks and index arrays


@program(X)
def masks(x):
    y = x[x > 0]
    x[x < 0] = 0.0
    x[x > 3] *= 2
    return y, x, y.sum(), len(y)


@program(A, differences="jumps")
def masks_of_matrices(a):
    b = a.copy()
    b[a > 1] = -1
    return a[a > 0], b, a[a[:, 0] < 0], a[:, a[0] > -1.6]


@program(X, K)
def picks(x, k):
    return x[k], x[k + 1], x[[0, 2]], np.where(x > 0)[0], np.nonzero(x)[0]


@program(A, np.array([2, 0]), np.array([1, 3]))
def picks_of_matrices(a, i, j):
    return a[i], a[i, j], a[:, j], a[i, 1], a[i[:, None], j], a[1:, j], a[None, i]


@program(X, K)
def writes_by_picks(x, k):
    x[k] = np.array([1.0, 2.0, 3.0, 4.0])
    x[k[:2]] += 10
    return x


@program(X, K)
def adding_at(x, k):
    np.add.at(x, k, 1.0)
    np.add.at(x, k, np.array([1.0, 2.0, 3.0, 4.0]))
    h = np.zeros(4)
    np.add.at(h, k, x[:4])
    return x, h


# Products


@program(A.astype(np.float32), K)
def products_of_other_types(a, k):
    return a @ a.T, k @ k, a @ k.astype(np.float32)


@program(B, X)
def recurrent(w, x):
    h = np.zeros(4)
    for t in range(5):
        h = np.tanh(w[:, :4] @ h + x[t])
    return h @ h


# Creation, joining


@program(3, 2.5, traced="float(x)")
def created(n, v):
    return (np.zeros(n), np.ones((2, n)), np.full(n, v), np.eye(n), np.arange(n), np.arange(v),
            np.arange(1, 2 * n, 2), np.linspace(0, v, n), np.zeros((n, 2), dtype=int),
            np.zeros_like(np.ones(n)), np.full((2,), 7), np.empty((0, n)))  # fmt: skip


@program(2.0, 3.0)
def of_lists(a, b):
    x = np.array([a, b, a * b])
    m = np.array([[a, 1.0], [0.0, b]])
    return x, m, m @ x[:2], np.asarray([1, 2]), np.array([a, 1]), np.array([True, False])


@program(X, A)
def joined(x, a):
    return (np.concatenate([x, x[:2]]), np.stack([x, x]), np.stack((x, 2 * x), axis=1),
            np.concatenate((a, a[:1])), np.concatenate([a, a], axis=1), np.flip(x))  # fmt: skip


@program(X)
def copies(x):
    y = x.copy()
    y[0] = 9
    z = np.array(x)
    z[1] = 8
    w = np.asarray(x)
    w[2] = 7
    return x, y, z


# Captured, helpers


@program(X)
def captured(x):
    return (x * WEIGHTS).sum() * SCALE


def helper(x, k):
    x[k] = 1.0
    return x.sum()


@program(X)
def writing_helper(x):
    s = helper(x, 1)
    return s + helper(x, 2), x


# Zero axes, no elements


@program(np.array(2.5), np.zeros((0, 3)), np.zeros(0))
def no_axes_no_elements(a, b, c):
    return (a * 2, a + np.ones(2), a.sum(), a.shape, b.sum(axis=0), b.sum(axis=1), c.sum(),
            c.prod(),            b.T, c * 2, b @ np.ones(3), np.concatenate([c, c]))  # fmt: skip


@program(np.array(2.5))
def writes_without_axes(a):
    a[()] = 4.0
    a[...] += 1
    a *= 2
    return a, a[()]


@program(np.asfortranarray(A), X[::-1], B[::2, 1::2])
def layouts(a, x, b):
    a[0, 1] = 77.0
    x[0] = 5.0
    return a, x * 2, b + 1, a.T[1]


@program(X)
def result_is_argument(x):
    x[0] = 1
    return x


@program(A)
def results_are_views(a):
    return a[1:], a[0], a.T


# Functions written in the language


@program(np.array([3.0, 1.0, 2.0, 1.0, 7.0, -1.0, 0.5]), A, differences="ties")
def sorting(x, a):
    y = x.copy()
    y.sort()
    return np.sort(x), np.sort(-a, axis=0), x.argsort(kind="stable"), np.median(x), np.sort(a), y


# Complex numbers

Z = np.array([1 + 2j, -0.5j, 3.0, -2 + 0.1j])


@program(1 + 2j, 0.5 - 1j, 3.0, traced="complex(x)")
def complex_numbers(z, w, x):
    return (z * w + 1, z / w, abs(z), z.real, z.imag, z.conjugate(), z**2, z == w, complex(x, 2),
            z * x, cmath.exp(z), cmath.sqrt(w), 1j * x, -z, z**w, cmath.phase(z))  # fmt: skip


@program(Z, np.array([1.0, 2, -3, 4]))
def complex_arrays(z, x):
    y = z * 1j + x
    y[0] = 5
    y[1:] *= z[:-1]
    s = 0j
    for v in z:
        s += v * v
    return (y, np.abs(z), z.real, z.imag.copy(), np.exp(1j * x), np.conj(z), z.conj(), z.sum(),
            z.mean(), z @ z, np.sqrt(z), s, z[0], np.angle(z), z[0] * x[0], (abs(z) ** 2).sum(),
            np.zeros(3, dtype=complex), np.array([x[0], 1j]), np.where(x > 0, z, 0), z / 2,
            z[:2].reshape(1, 2) @ np.ones((2, 2)))  # fmt: skip


@program(Z)
def writes_to_parts(z):
    z.real[0] = 3.0
    z.imag[:] *= 2
    for k in range(3):
        z = z * z * 0.1 + k
    return z, z[0].real, z[1].conjugate()


@program(0.3 + 0.5j, 50)
def mandelbrot(c, n):
    z = 0j
    for k in range(n):
        z = z * z + c
        if abs(z) > 2:
            return k
    return n


@program(Z)
def parts_set(z):
    z.imag *= 2
    z.real = 1.0
    return z


@program(13, np.array([1, 2, -7]), 3)
def shifts(n, x, k):
    return n << 1, n >> 2, n << k, -n >> k, x << 1, x >> k, x[0] << 2, 1 << k


@program(
    A, X, K, ir=LISTS, text=LISTS, text_of_derivatives=LISTS,
    pullback="of a sum that begins with 0, the value is Python's float",
)  # fmt: skip
def lists_and_arrays(a, x, k):
    doubled = []
    for v in x:
        doubled.append(v * 2)  # noqa: PERF401
    return (np.stack([np.exp(r) for r in a]).sum(axis=0), np.array([math.sin(v) for v in x]),
            np.array(doubled), np.array(x.tolist()), np.mean([x[0], x[1]]), np.max([1.0, x[0]]),
            np.concatenate([r * 2 for r in a]), sum(u * v for u, v in zip(x, x[::-1], strict=True)),
            [r.sum() for r in a], k.tolist())  # fmt: skip


@program({"w": A, "b": X[:3]}, X[:4], [A, A * 2])
def structures_of_arrays(p, x, ws):
    s = np.tanh(p["w"] @ x + p["b"]).sum()
    for w in ws:
        s += (w @ x).sum()
    return {"s": s, "two": (ws[1][0, 0], len(ws)), "x": x * 2}
