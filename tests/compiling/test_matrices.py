"""Jacobians and Hessians of compiled functions: as those of the traced engine, and differences."""

import math
from collections import namedtuple

import numpy as np
import pytest

import zyg

from ..programs.derivatives import rounded

SIZES = [0, 1, 3, 4, 5, 8, 9, 16, 17]
MODES = ["auto", "forward", "reverse"]
Pair = namedtuple("Pair", "left right")


def numbers(n, seed=0):
    return np.random.default_rng(seed + n).uniform(0.4, 1.6, n)


def alike(found, right, rtol=1e-9):
    """The same structure, types, shapes and dtypes, and the same numbers."""
    if isinstance(right, (tuple, list, dict)):
        assert type(found) is type(right)
        assert len(found) == len(right)
        keys = right if isinstance(right, dict) else range(len(right))
        for k in keys:
            alike(found[k], right[k], rtol)
        return
    assert type(found) is type(right)
    if right is not None:
        assert np.shape(found) == np.shape(right)
        assert np.asarray(found).dtype == np.asarray(right).dtype
        np.testing.assert_allclose(found, right, rtol=rtol, atol=rtol)


def elementwise(x):
    return np.sin(x) * x


def chain(x):
    y = np.zeros_like(x)
    h = 0.0
    for i in range(len(x)):
        h = np.tanh(0.5 * h + x[i])
        y[i] = h * x[len(x) - 1 - i]
    return y


def in_place(x):
    u = np.zeros_like(x)
    for i in range(len(x)):
        u[i] = x[i]
    for _ in range(3):
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1]) * u[i]
    return u


def until(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        s = x[i]
        while s < 4.0:
            if s > 2.0:
                s = s * 1.7
            else:
                s = s * s + 0.7
        y[i] = s
    return y


def kept(x):
    return x[x > 0.8] ** 2


def total(x):
    s = 1.0
    for i in range(len(x)):
        s = s + np.sin(s) * x[i] ** 2
    return s


def some(x):
    return total(x), np.sum(x) ** 3


def halves(x):
    if len(x) < 2:
        return np.sum(x * x)
    m = len(x) // 2
    return halves(x[:m]) * 0.5 + np.sin(halves(x[m:]))


ONE_ARRAY = [elementwise, chain, in_place, until, kept, total, some, halves]


def is_program(f, verb):
    ways = [f"{verb} {way}" for way in ("columns", "rows", "forward", "reverse")]
    return any(f.entries(name) for name in (verb, *ways))


@pytest.fixture(autouse=True)
def _nothing_falls_back():
    with zyg.config(fallback="error"):
        yield


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", ONE_ARRAY, ids=lambda f: f.__name__)
def test_jacobians_by_an_array(f, mode):
    g = zyg.compile(f)
    for n in SIZES:
        x = numbers(n)
        alike(zyg.jacobian(g, x, mode=mode), zyg.jacobian(f, x, mode=mode))
    assert is_program(g, "jacobian")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [elementwise, chain, in_place], ids=lambda f: f.__name__)
def test_jacobians_are_slopes(f, mode):
    x, eps = numbers(9), 1e-6
    (found,) = zyg.jacobian(zyg.compile(f), x, mode=mode)
    for k, unit in enumerate(np.eye(9) * eps):
        slope = (f(x + unit) - f(x - unit)) / (2 * eps)
        np.testing.assert_allclose(found[:, k], slope, rtol=1e-6, atol=1e-8)


def product(a, b):
    return a @ b


def twice(a, b):
    return (a @ b) @ a.T + np.outer(a[:, 0], a[:, 1]) @ (a @ b)[:, ::-1] @ a.T


def both(a, b):
    return (a @ b).T @ a[:, 0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [product, twice, both], ids=lambda f: f.__name__)
@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 3), (3, 2), (5, 5), (7, 4)])
def test_products_of_matrices(f, m, n, mode):
    if f is twice:
        m = max(m, 2)
    a = numbers(m * n).reshape(m, n)
    if f is twice:
        a = numbers(m * m).reshape(m, m)
    b = numbers(a.shape[1] * m, 1).reshape(a.shape[1], m)
    g = zyg.compile(f)
    alike(zyg.jacobian(g, a, b, mode=mode), zyg.jacobian(f, a, b, mode=mode))
    assert is_program(g, "jacobian")


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "A": lambda a: np.repeat(a, 2, 1)[:, ::2],
}


@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF", "CA", "AF"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_matrices_of_any_layout(dtype, orders):
    def f(a, b):
        return a @ b, (b.T @ a.T)[1:], a[1:].T @ a[1:]

    g, near = zyg.compile(f), 1e-5 if dtype == np.float32 else 1e-12
    for m, k, n in ((1, 1, 1), (1, 9, 7), (9, 1, 7), (8, 9, 1), (5, 3, 4), (13, 6, 11)):
        a, b = numbers(m * k).reshape(m, k), numbers(k * n, 1).reshape(k, n)
        a, b = (LAYOUTS[o](x.astype(dtype)) for o, x in zip(orders, (a, b), strict=True))
        values, back = zyg.pullback(g, a, b)
        wanted, wanted_back = zyg.pullback(f, a, b)
        for y, w in zip((*values, *back(values)), (*wanted, *wanted_back(wanted)), strict=True):
            assert y.dtype == w.dtype
            np.testing.assert_allclose(y, w, near, near)


SUMS = {
    "sum": np.sum, "mean": np.mean, "rows": lambda x: np.sum(x.reshape(3, -1), axis=1),
    "product": lambda x: x @ x, "squares": lambda x: np.sum(x * x), "var": np.var,
    "average": np.average, "trapezoid": np.trapezoid, "norm": np.linalg.norm,
    "where": lambda x: np.sum(x, where=x > 0), "inner": np.inner, "vdot": np.vdot, "dot": np.dot,
    "initial": lambda x: np.sum(x, initial=np.float32(1)),
    "einsum": lambda x: np.einsum("i,i", x, x),
    "one axis": lambda x: np.einsum("ij->i", x.reshape(3, -1)),
}  # fmt: skip


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_float32_keep_its_digits(name):
    x = np.linspace(0.05, 0.15, 300_000, dtype=np.float32)
    args = (x, x) if name in ("inner", "vdot", "dot") else (x,)
    f = SUMS[name]
    found, wanted = zyg.compile(f)(*args), f(*(a.astype(float) for a in args))
    assert np.asarray(found).dtype == np.float32
    np.testing.assert_allclose(found, wanted, 3e-6)


def several(x, s, pair, n):
    y = x * s
    for _ in range(n):
        y = y * pair[0] + np.sum(pair[1])
    return {"y": y, "rest": (y[0] * s, [s * s, np.sin(pair[1])])}


def by_numbers(a, b, c, d, e, f, g, h, i, j):
    return a * b * c + d, np.stack([e * f, g, h * i * j, a])


def flags(x, flag, nothing, name):
    return (x * 2.0 if flag else x), flag, nothing


def named(p):
    return Pair(p.left * p.right, [p.left, np.sum(p.right)])


def of_32(x, s):
    return x * s, s * s


CASES = [
    (several, numbers(3), 1.5, (0.5, numbers(4)), 3),
    (several, numbers(3), np.float64(1.5), (0.5, numbers(9)), 0),
    (by_numbers, *map(float, numbers(10))),
    (flags, numbers(3), True, None, "x"),
    (named, Pair(1.5, numbers(9))),
    (of_32, numbers(9).astype(np.float32), 1.5),
    (of_32, numbers(9), np.float32(1.5)),
    (of_32, numbers(9).astype(np.float32), np.float32(1.5)),
    (elementwise, numbers(9).astype(np.float32)),
    (in_place, numbers(9).astype(np.float32)),
    (total, numbers(9).astype(np.float32)),
    (elementwise, np.array(0.5)),
    (elementwise, 0.5),
    (elementwise, np.float64(0.5)),
    (elementwise, numbers(24).reshape(2, 3, 4)),
    (elementwise, numbers(24).reshape(4, 6).T),
    (elementwise, numbers(24)[::-3]),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_jacobians_of_structures(case, mode):
    f, *args = case
    g = zyg.compile(f)
    rtol = 1e-5 if f is of_32 or getattr(args[0], "dtype", None) == np.float32 else 1e-9
    alike(zyg.jacobian(g, *args, mode=mode), zyg.jacobian(f, *args, mode=mode), rtol)


def rotated(x):
    return np.exp(1j * x) * x


def of_a_complex_number(x):
    return (x[0] + 1j * x[1]) ** 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [rotated, of_a_complex_number])
def test_complex_results_have_complex_jacobians(f, mode):
    x = numbers(9)
    alike(zyg.jacobian(zyg.compile(f), x, mode=mode), zyg.jacobian(f, x, mode=mode))


def test_complex_arguments_are_refused():
    with pytest.raises(zyg.errors.HolomorphicError):
        zyg.jacobian(zyg.compile(elementwise), numbers(3) + 1j)


@pytest.mark.parametrize("mode", MODES)
def test_an_argument_that_is_there_twice(mode):
    x = numbers(5)
    f = lambda a, b: a * np.sin(b)  # noqa: E731
    alike(zyg.jacobian(zyg.compile(f), x, x, mode=mode), zyg.jacobian(f, x, x, mode=mode))
    h = lambda p: p[0] * np.sin(p[1])  # noqa: E731
    alike(zyg.jacobian(zyg.compile(h), (x, x), mode=mode), zyg.jacobian(h, (x, x), mode=mode))


def root(x):
    return np.where(x > 0, np.sqrt(x), 0.0)


@pytest.mark.parametrize("mode", MODES)
def test_an_exact_zero_stays_zero(mode):
    x = np.array([0.0, 4.0, 0.0, 1.0, 9.0, 0.0, 0.25, 16.0, 0.0])
    right = np.diag([0.0, 0.25, 0.0, 0.5, 1 / 6, 0.0, 1.0, 0.125, 0.0])
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(zyg.jacobian(zyg.compile(root), x, mode=mode)[0], right)


def domain(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = math.log(x[i])
    return y


def far(x):
    return x[len(x)] * x


@pytest.mark.parametrize("mode", MODES)
def test_what_python_raises(mode):
    f = zyg.compile(domain)
    x = numbers(9)
    for _ in range(2):
        alike(zyg.jacobian(f, x, mode=mode)[0], np.diag(1 / x))
        with pytest.raises(ValueError, match=r"math domain error|positive"):
            zyg.jacobian(f, np.where(np.arange(9) == 4, -1.0, x), mode=mode)
    for n in (0, 3):
        with pytest.raises(IndexError):
            zyg.jacobian(zyg.compile(far), numbers(n), mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_what_a_function_takes_from_outside_is_read_at_each_call(mode):
    scale = np.arange(1.0, 10.0)
    f = zyg.compile(lambda x: x * scale)
    alike(zyg.jacobian(f, numbers(9), mode=mode)[0], np.diag(scale))
    scale = scale**2
    alike(zyg.jacobian(f, numbers(9), mode=mode)[0], np.diag(scale))


@pytest.mark.parametrize("mode", ["auto", "forward"])
def test_a_rule_of_ones_own(mode):
    f = lambda x: rounded(x, 4) * x  # noqa: E731
    x = numbers(9)
    alike(zyg.jacobian(zyg.compile(f), x, mode=mode), zyg.jacobian(f, x, mode=mode))


@pytest.mark.parametrize("mode", MODES)
def test_a_jacobian_is_differentiated_further(mode):
    def traced(f):
        return lambda x: np.sum(np.sin(zyg.jacobian(f, x, mode=mode)[0]))

    x = numbers(5)
    for f in (elementwise, chain):
        found, right = (zyg.gradient(traced(g), x) for g in (zyg.compile(f), f))
        alike(found, right)


# Second derivatives


def bowl(x):
    s = 0.0
    for i in range(len(x)):
        for j in range(i):
            s += np.sin(x[i] * x[j]) * x[i]
        s += x[i] ** 3
    return s


def quadratic(x):
    a = np.outer(x, x) + np.eye(len(x))
    return np.sum((a @ x) ** 2)


def waves(x):
    return np.sum(np.sin(x) * x**2) * x[0]


def halved(x):
    s = np.sum(x)
    while s > 1.0:
        s = s * 0.5
    return s * s * x[0] if len(x) > 0 else s


LOSSES = [bowl, quadratic, halved, total, halves]


@pytest.mark.slow
@pytest.mark.parametrize("f", LOSSES, ids=lambda f: f.__name__)
def test_second_derivatives(f):
    g = zyg.compile(f)
    for n in SIZES[1:]:
        x, v = numbers(n), numbers(n, 3)
        full = zyg.hessian(g, x)
        alike(full, zyg.hessian(f, x))
        alike(zyg.diaghessian(g, x), zyg.diaghessian(f, x))
        alike(zyg.hvp(g, x, v), zyg.hvp(f, x, v))
        np.testing.assert_allclose(full, full.T, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(full @ v, zyg.hvp(g, x, v), rtol=1e-10, atol=1e-12)
    for verb in ("hessian", "diaghessian", "hvp"):
        assert is_program(g, verb)


def of_parts(p):
    return np.sum(np.sin(p["w"] * p["s"])) * p["s"] + p["pair"][0] ** 3 * np.sum(p["pair"][1])


def of_a_pair(p):
    return np.sum(np.sin(p[0] * p[1]))


@pytest.mark.slow
@pytest.mark.parametrize(("f", "x"), [
    (of_parts, {"w": numbers(3), "s": 0.7, "pair": (0.3, numbers(9))}),
    (of_a_pair, (numbers(4), 1.5)), (of_a_pair, [numbers(9), numbers(9, 2)]),
    (lambda x: x**3, 2.0), (lambda x: np.sum(x**3), np.array(2.0)),
    (waves, numbers(9).astype(np.float32)), (lambda p: p[0] ** 2 * 3.0, (1.5, numbers(3))),
])  # fmt: skip
def test_second_derivatives_of_structures(f, x):
    g = zyg.compile(f)
    for verb in (zyg.hessian, zyg.diaghessian):
        alike(verb(g, x), verb(f, x), 1e-4 if f is waves else 1e-9)
    alike(zyg.hvp(g, x, x), zyg.hvp(f, x, x), 1e-4 if f is waves else 1e-9)


def test_a_direction_has_the_structure_of_its_argument():
    g = zyg.compile(bowl)
    zyg.hvp(g, numbers(4), numbers(4))
    for v in (numbers(3), 1.0, (numbers(4),), np.ones((4, 1))):
        with pytest.raises(zyg.errors.StructureError):
            zyg.hvp(g, numbers(4), v)


def test_empty_second_derivatives():
    for f in (bowl, total):
        g = zyg.compile(f)
        alike(zyg.hessian(g, np.zeros(0)), np.zeros((0, 0)))
        alike(zyg.diaghessian(g, np.zeros(0)), np.zeros(0))


# Few numbers in the middle


def narrow(point, centre, scale):
    x, y, z = point[0] - centre[0], point[1] - centre[1], point[2] - centre[2]
    if x > y:
        u, v = x * scale / z, np.sin(y * z)
    else:
        u, v = y / z, x * y * scale
    out = np.stack([u * v, u - v * scale, x, u])
    if u > 0.0:
        out[3] = u * v * v
    return out


def narrow_before_a_loop(a, b, n):
    x = a[0] * a[1] + b
    total = 0.0
    for k in range(n):
        total += np.sin(x * k) + a[0]
    y = total * b
    return np.stack([y * y, np.cos(y)])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("f", "args"),
    [
        (narrow, (np.array([0.5, 0.3, 1.2]), np.array([0.1, 0.2, 0.1]), 1.3)),
        (narrow, (np.array([0.1, 0.9, 1.2]), np.array([0.7, 0.2, 0.1]), 0.7)),
        (narrow_before_a_loop, (np.array([0.5, 0.3]), 0.2, 3)),
    ],
)
def test_jacobians_through_few_numbers(f, args, mode):
    alike(zyg.jacobian(zyg.compile(f), *args, mode=mode), zyg.jacobian(f, *args, mode=mode))


# Inside compiled functions


def reprojected(camera, point):
    r = camera[0] * point[0] + camera[3]
    if r > 0.5:
        r = np.sqrt(r)
    return np.stack([r * point[1], camera[1] / (r + 2.0)])


def along_rows(cameras, points):
    out = np.zeros((len(cameras), 2, 9))
    for i in range(len(cameras)):
        by_camera, by_point = zyg.jacobian(reprojected, cameras[i], points[:, i])
        out[i, :, :5], out[i, :, 5:] = by_camera, by_point
    return out


def of_chains(x, y):
    bent = zyg.diaghessian(lambda z: np.sum(np.sin(z) * z) ** 2, y)
    slopes = zyg.hessian(lambda z: np.sum(elementwise(z)) ** 2, x)
    return np.sum(zyg.jacobian(elementwise, x)[0] ** 2) + np.sum(slopes[:, 0]) + np.sum(bent) ** 2


@pytest.mark.slow
def test_jacobians_by_rows_of_arrays_in_a_loop():
    cameras, points = numbers(35).reshape(7, 5), numbers(28).reshape(4, 7)
    found = zyg.compile(along_rows)(cameras, points)
    for i in range(7):
        by_camera, by_point = zyg.jacobian(reprojected, cameras[i], points[:, i].copy())
        alike(found[i], np.concatenate([by_camera, by_point], axis=1))
    g = zyg.compile(lambda a, b: np.sum(np.sin(along_rows(a, b))))
    zyg.check_gradient(g, cameras, points)


def test_derivatives_of_lanes_inside():
    x, y = numbers(9), numbers(7)
    g = zyg.compile(of_chains)
    assert g(x, y) == pytest.approx(of_chains(x, y), rel=1e-10)


def test_an_argument_that_does_not_matter_is_looked_at():
    f = zyg.compile(lambda x, y: y[3] * 2.0 + 0.0 * len(x), wrt=0)
    alike(zyg.jacobian(f, numbers(3), numbers(5))[0], np.zeros(3))
    with pytest.raises(IndexError):
        zyg.jacobian(f, numbers(3), numbers(2))


def wide(x):
    return np.stack([np.sum(x), np.sum(x * x)])


def test_the_cheaper_way_is_taken():
    for f, n, way in ((total, 40, "rows"), (wide, 900, "rows"), (chain, 9, "columns")):
        g = zyg.compile(f)
        alike(zyg.jacobian(g, numbers(n)), zyg.jacobian(f, numbers(n)))
        alike(zyg.jacobian(g, numbers(n)), zyg.jacobian(f, numbers(n)))
        assert g.entries(f"jacobian {way}")


def powered(x, k, *, by="sin", scale=2.0):
    return (np.sin(x) if by == "sin" else x) ** k * scale


def scaled(x, scale=2.0, by="sin"):
    return (np.sin(x) if by == "sin" else x) * scale


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("names", [{"scale": 3.0}, {"by": "none"}, {"scale": 0.5, "by": "sin"}])
@pytest.mark.parametrize(("f", "args"), [(powered, (2.0,)), (scaled, ())])
def test_keywords_have_no_jacobians(f, args, names, mode):
    x, g = numbers(4), zyg.compile(f)
    right = zyg.jacobian(lambda *row: f(*row, **names), x, *args)
    for _ in range(2):  # made, then known
        found = zyg.jacobian(g, x, *args, mode=mode, **names)
        assert len(found) == len(right) == 1 + len(args)
        alike(found, right)
