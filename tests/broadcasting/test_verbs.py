"""Broadcasting a scalar function: the scenarios of the design, through the public interface."""

import dataclasses
import functools
import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
import trio

import zyg
from zyg.errors import CaptureError, KernelError, MutationError, ShapeError

from ..compiler import helpers
from ..kernels.backend import forget_plans, in_python
from ..whole.test_policy import FUNCTIONS, INNER, MODES, SECOND

CELL = (0.3, 0.1, 0.2, -0.4)


COMPILED = {
    "test_1_to_4_update_copy_and_flush", "test_5_float32_stays_float32", "test_20_two_results",
    "test_7_gradients_are_summed_over_what_was_broadcast", "test_26_modes_agree",
    "test_40_float16_is_computed_in_float32",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _backend(request, monkeypatch, tmp_path):
    """To compile a kernel takes a second: most tests run its text as plain Python."""
    monkeypatch.setenv("ZYG_CACHE_DIR", str(tmp_path))
    forget_plans()
    if request.node.originalname not in COMPILED:
        in_python(monkeypatch)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def update(c, f, i, g, z1, z2):
    """The cell of a hierarchical multiscale recurrent network (Chung et al., 2017)."""
    if z1 == 1.0:
        return sigmoid(i) * math.tanh(g)
    if z2 == 1.0:
        return sigmoid(f) * c + sigmoid(i) * math.tanh(g)
    return c


def update_with_helper_elsewhere(c, f, i, g, z1, z2):
    if z1 == 1.0:
        return helpers.sigmoid(i) * math.tanh(g)
    if z2 == 1.0:
        return helpers.sigmoid(f) * c + helpers.sigmoid(i) * math.tanh(g)
    return c


UPDATE = (
    -0.05141510044783612,
    (0.52497918747894, 0.07481281205786759, -0.09404366494284111, 0.4704592940066102),
)
COPY = (0.3, (1.0, 0.0, 0.0, 0.0))
FLUSH = (-0.20890885669151812, (0.0, 0.0, -0.09404366494284111, 0.4704592940066102))
Z1, Z2 = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0])
EXPECTED = [np.array(v) for v in zip(*((y, *d) for y, d in (UPDATE, COPY, FLUSH)), strict=True)]


def close(x, y, rtol=1e-12):
    np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


# 1 to 6: the cell


@pytest.mark.parametrize("f", [update, update_with_helper_elsewhere])
def test_1_to_4_update_copy_and_flush(f):
    cell = [np.full(3, v) for v in CELL]
    y, (*slopes, by_z1, by_z2) = zyg.partials(f, *cell, Z1, Z2)
    close(y, EXPECTED[0])
    for d, right in zip(slopes, EXPECTED[1:], strict=True):
        close(d, right)
    assert [d[1] for d in slopes] == [1, 0, 0, 0]  # exactly
    assert slopes[0][2] == slopes[1][2] == 0
    assert not by_z1.any()
    assert not by_z2.any()
    bars = zyg.gradient(lambda *a: zyg.broadcast(f, *a, Z1, Z2).sum(), *cell)
    for c, right in zip(bars, EXPECTED[1:], strict=True):
        close(c, right)


def test_5_float32_stays_float32():
    cell = [np.full(3, v, np.float32) for v in CELL]
    z1, z2 = Z1.astype("f4"), Z2.astype("f4")
    y, back = zyg.pullback(lambda *a: zyg.broadcast(update, *a, z1, z2), *cell)
    assert y.dtype == np.float32
    close(y, EXPECTED[0], 2e-6)
    for c, right in zip(back(np.ones(3, "f4")), EXPECTED[1:], strict=True):
        assert c.dtype == np.float32
        close(c, right, 2e-6)
    text = zyg.elementwise(update).source(*["f4"] * 6)
    assert "float64" not in text


@pytest.mark.parametrize("dtype", [np.int64, np.bool_, np.float32])
def test_6_conditions_of_any_dtype(dtype):
    cell = [np.full(3, v) for v in CELL]
    y, slopes = zyg.partials(update, *cell, Z1.astype(dtype), Z2.astype(dtype))
    close(y, EXPECTED[0])
    close(slopes[0], EXPECTED[1])
    if dtype is np.bool_:
        assert slopes[4] is None


# 7 to 9: shapes


def product(x, w):
    return x * w


@pytest.mark.parametrize(
    ("w", "expected"),
    [(np.ones(3), [5, 7, 9]), (np.ones((2, 1)), [[6], [15]]), (1.0, 21), (np.array(1.0), 21)],
)
def test_7_gradients_are_summed_over_what_was_broadcast(w, expected):
    x = np.arange(1.0, 7).reshape(2, 3)
    x_bar, w_bar = zyg.gradient(lambda x, w: zyg.broadcast(product, x, w).sum(), x, w)
    close(w_bar, expected)
    assert np.shape(w_bar) == np.shape(w)
    assert type(w_bar) is type(w)
    close(x_bar, np.ones((2, 3)) * w)


def test_8_both_operands_broadcast():
    x, w = np.array([[1.0], [2.0]]), np.array([[3.0, 4.0, 5.0]])
    x_bar, w_bar = zyg.gradient(lambda x, w: zyg.broadcast(product, x, w).sum(), x, w)
    np.testing.assert_array_equal(x_bar, [[12.0], [12.0]])
    np.testing.assert_array_equal(w_bar, [[3.0, 3.0, 3.0]])


def test_9_shapes_that_do_not_broadcast_and_empty_ones():
    with pytest.raises(ShapeError, match=r"\(2, 3\) and \(4,\)"):
        zyg.broadcast(product, np.ones((2, 3)), np.ones(4))
    y = zyg.broadcast(product, np.ones((0, 3)), np.ones(3))
    assert y.shape == (0, 3)
    bars = zyg.gradient(lambda x, w: zyg.broadcast(product, x, w).sum(), np.ones((0, 3)), 2.0)
    assert bars[0].shape == (0, 3)
    assert bars[1] == 0.0


# 10 to 21: values and partial derivatives


def product_of_sigmoids(*xs):
    y = 1.0
    for x in xs:
        y = y * math.tanh(x)
    return y


def cube_root(a, x):
    while abs(x**3 - a) > 1e-14 * abs(a):
        x -= (x**3 - a) / (3 * x * x)
    return x


def series(x):
    s = 0
    for k in range(1, 4):
        s += x**k / k
    return s


def softplus(x):
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


def bump(x, y):
    return math.exp(x * y) + x**3


NUMBERS = {
    "10 tanh": (math.tanh, (0.5,), 0.46211715726000974, (0.7864477329659274,)),
    "10 tanh at inf": (math.tanh, (math.inf,), 1.0, (0.0,)),
    "10 tanh at -inf": (math.tanh, (-math.inf,), -1.0, (0.0,)),
    "10 tanh of nan": (math.tanh, (math.nan,), math.nan, (math.nan,)),
    "13 while": (cube_root, (2.0, 1.5), 1.2599210498948732, (0.20998684164914552, 0.0)),
    "14 for": (series, (0.5,), 0.6666666666666666, (1.75,)),
    "15 x**0": (lambda x: x**0, (0.0,), 1.0, (0.0,)),
    "15 x**p": (lambda x, p: x**p, (2.0, 3.0), 8.0, (12.0, 5.545177444479562)),
    "15 0**2": (lambda x, p: x**p, (0.0, 2.0), 0.0, (0.0, 0.0)),
    "16 abs": (abs, (0.0,), 0.0, (0.0,)),
    "16 maximum": (lambda x, y: np.maximum(x, y), (1.5, 1.5), 1.5, (0.0, 1.0)),
    "16 max": (lambda x, y: max(x, y), (1.5, 1.5), 1.5, (1.0, 0.0)),
    "16 clip": (lambda x: np.clip(x, 0.0, 1.0), (1.0,), 1.0, (1.0,)),
    "17 erf": (math.erf, (0.5,), 0.5204998778130465, (0.8787825789354448,)),
    "17 hypot": (math.hypot, (3.0, 4.0), 5.0, (0.6, 0.8)),
    "17 atan2": (math.atan2, (1.0, 2.0), math.atan2(1, 2), (0.4, -0.2)),
    "17 log1p": (math.log1p, (0.5,), math.log1p(0.5), (2 / 3,)),
    "18 where": (lambda x: np.where(x > 0, math.sqrt(x), 0.0), (-1.0,), 0.0, (0.0,)),
    "19 softplus": (softplus, (0.7,), 1.103186048885458, (0.6681877721681662,)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_10_to_19_numbers(name):
    f, at, value, slopes = NUMBERS[name]
    y, partials = zyg.partials(f, *at)
    rtol = 1e-9 if "while" in name else 1e-12
    close(y, value)
    close(partials, slopes, rtol)
    bars = zyg.gradient(lambda *a: zyg.broadcast(f, *a), *at, zeros=True)
    close(bars, slopes, rtol)
    for k in range(len(at)):
        y_dot = zyg.pushforward(
            lambda *a: zyg.broadcast(f, *a), at, tuple(float(j == k) for j in range(len(at)))
        )[1]
        close(y_dot, slopes[k], rtol)


def test_11_and_12_many_operands():
    def f(a, b, c):
        return math.tanh(sigmoid(a)) * math.tanh(sigmoid(b)) * math.tanh(sigmoid(c))

    xs = (0.2, 0.6, 0.9)
    y, slopes = zyg.partials(f, *xs)
    right = math.prod(math.tanh(sigmoid(x)) for x in xs)
    close(y, right)
    for x, d in zip(xs, slopes, strict=True):
        s, t = sigmoid(x), math.tanh(sigmoid(x))
        close(d, right / t * (1 - t * t) * s * (1 - s))
    xs = np.linspace(0.5, 1.5, 20)
    y, slopes = zyg.partials(product_of_sigmoids, *xs)
    close(y, np.prod(np.tanh(xs)))
    close(slopes, y / np.tanh(xs) * (1 - np.tanh(xs) ** 2))


def polar(r, t):
    return r * math.cos(t), r * math.sin(t)


def test_20_two_results():
    y, (by_r, by_t) = zyg.partials(polar, 2.0, 0.5)
    close(y, (1.7551651237807455, 0.958851077208406))
    close(by_r + by_t, (math.cos(0.5), -0.958851077208406, math.sin(0.5), 1.7551651237807455))
    _, back = zyg.pullback(lambda r, t: zyg.broadcast(polar, r, t), 2.0, 0.5)
    close(back((1.0, 1.0)), (1.3570081004945758, 0.7963140465723395))
    _, back = zyg.pullback(lambda r, t: zyg.broadcast(polar, r, t)[0], 2.0, 0.5)
    close(back(1.0), (math.cos(0.5), -0.958851077208406))


def test_21_hessian():
    x = np.array([0.5, 0.3])
    h = zyg.hessian(lambda x: zyg.broadcast(bump, x[0], x[1]), x)
    close(h[0, 0], 3.1045650818455455)
    close(h[0, 1], 1.3361093791375254)
    close(h[1, 1], 0.29045856068207077)
    np.testing.assert_array_max_ulp(h[0, 1], h[1, 0], 1)
    _, (by_x, _) = zyg.partials(bump, 0.5, 0.3)
    close(by_x, 0.3 * math.exp(0.15) + 0.75)


# 22 to 25: captures, nesting, higher order


def test_22_captured_numbers_are_operands():
    x = np.array([0.1, 0.2])

    def loss(a, x):
        return zyg.broadcast(lambda t: math.tanh(a * t), x).sum()

    a_bar, x_bar = zyg.gradient(loss, 1.5, x)
    close(a_bar, 0.2808107170416242)
    close(x_bar, (1.4667498701444752, 1.3727054427399437))
    close(loss(2.0, x), np.tanh(2 * x).sum())
    close(zyg.jacobian(lambda a: zyg.broadcast(lambda t: a * t, x), 1.5)[0], x)


def test_23_a_captured_array_is_refused():
    w = np.ones(3)
    with pytest.raises(CaptureError, match=r"the array w, of shape \(3,\)"):
        zyg.broadcast(lambda t: t * w, np.ones(3))
    with pytest.raises(CaptureError, match="array w"):
        zyg.gradient(lambda w: zyg.broadcast(lambda t: t * w, np.ones(3)).sum(), w)


def test_24_derivatives_inside_derivatives_are_not_confused():
    def slope_in_y(x):
        return zyg.gradient(lambda y: zyg.broadcast(lambda s, t: s + t, x, y), 1.0)[0]

    assert zyg.gradient(lambda x: x * slope_in_y(x), 1.0) == (1.0,)

    def captured(x):
        return zyg.gradient(lambda y: zyg.broadcast(lambda t: x * t * t, y), 3.0)[0]

    close(zyg.gradient(captured, 2.0), (6.0,))
    close(zyg.pushforward(captured, (2.0,), (1.0,))[1], 6.0)


def test_25_gradient_of_squared_gradients():
    x = np.array([0.3, -0.4])

    def squares(x):
        (c,) = zyg.gradient(lambda x: zyg.broadcast(bump, x, 0.5).sum(), x)
        return (c * c).sum()

    (c,) = zyg.gradient(squares, x)
    for k in range(2):
        step = 1e-5 * (np.arange(2) == k)
        close(c[k], (squares(x + step) - squares(x - step)) / 2e-5, 1e-6)


ORDERS = {
    "reverse": lambda f, x: zyg.gradient(f, x)[0],
    "forward": lambda f, x: zyg.pushforward(f, (x,), (1.0,))[1],
}


@pytest.mark.parametrize("outer", ORDERS)
@pytest.mark.parametrize("inner", ORDERS)
@pytest.mark.parametrize("middle", ORDERS)
def test_third_derivatives_in_any_mixture_of_modes(outer, middle, inner):
    def f(x):
        return zyg.broadcast(bump, x, 0.5)

    def first(x):
        return ORDERS[inner](f, x)

    def second(x):
        return ORDERS[middle](first, x)

    close(ORDERS[outer](second, 0.7), 0.125 * math.exp(0.35) + 6)


def test_hvp_jacobian_and_checkpoint():
    x = np.array([0.3, -0.4])

    def f(x):
        return zyg.broadcast(bump, x, 0.5)

    diagonal = 0.25 * np.exp(0.5 * x) + 6 * x
    close(zyg.hvp(lambda x: f(x).sum(), x, np.array([1.0, 2.0])), diagonal * [1, 2])
    close(zyg.diaghessian(lambda x: f(x).sum(), x), diagonal)
    for mode in ("forward", "reverse"):
        jacobian = zyg.jacobian(f, x, mode=mode)[0]
        close(jacobian, np.diag(0.5 * np.exp(0.5 * x) + 3 * x * x))
    (c,) = zyg.gradient(lambda x: zyg.checkpoint(f, x).sum(), x)
    close(c, np.diag(jacobian))


def test_inside_tasks_and_threads():
    x = np.array([0.3, -0.4])

    async def in_tasks(x):
        parts = {}

        async def part(k):
            await trio.lowlevel.checkpoint()
            parts[k] = zyg.broadcast(bump, x, 0.5 * k).sum()

        async with trio.open_nursery() as nursery:
            for k in range(3):
                nursery.start_soon(part, k)
        return parts[0] + parts[1] + parts[2]

    def in_threads(x):
        return sum(zyg.threads.map(lambda k: zyg.broadcast(bump, x, 0.5 * k).sum(), [0, 1, 2]))

    right = sum(0.5 * k * np.exp(0.5 * k * x) + 3 * x * x for k in range(3))
    close(zyg.gradient(in_tasks, x)[0], right)
    close(zyg.gradient(in_threads, x)[0], right)


# 26 to 32: modes, rules, refusals, forms of functions, layouts


def test_26_modes_agree():
    x, w = np.linspace(-1, 2, 7), np.array(0.5)

    def bars(mode):
        return zyg.gradient(lambda x, w: zyg.broadcast(bump, x, w, mode=mode).sum(), x, w)

    one = zyg.elementwise(bump).one_pass(np.ones(7), x, w)[1]
    for mode in ("cache", "recompute", "auto"):
        for c, d in zip(bars(mode), one, strict=True):
            np.testing.assert_array_equal(c, d)
    with pytest.raises(ValueError, match="'cached'"):
        bars("cached")


RATE = 2.0


def decaying(x):
    return math.exp(-RATE * x)


decay = zyg.scalar_rule(decaying, lambda x, y: -RATE * 10 * y)


def test_27_rules_of_ones_own(monkeypatch):
    x = np.array([0.5, 1.0])
    y, (d,) = zyg.partials(lambda x: 3 * decay(x), x)
    close(y, 3 * np.exp(-2 * x))
    close(d, -60 * np.exp(-2 * x))  # ten times too steep, as the rule says
    monkeypatch.setitem(globals(), "RATE", 3.0)
    y, (d,) = zyg.partials(lambda x: 3 * decay(x), x)
    close(y, 3 * np.exp(-3 * x))
    close(d, -90 * np.exp(-3 * x))
    with zyg.config(fallback="error"), pytest.raises(KernelError, match=r"gcd(.|\n)*scalar_rule"):
        zyg.broadcast(lambda x: math.gcd(x, 2), np.array([4]))


def test_30_defaults_and_keywords_of_the_function_itself():
    def line(x, slope=2.0, *, shift=0.5):
        return slope * x + shift

    close(zyg.broadcast(line, np.array([1.0, 2.0])), [2.5, 4.5])
    close(zyg.broadcast(line, 1.0, 3.0), 3.5)
    partial = functools.partial(line, shift=1.0)
    close(zyg.broadcast(partial, 1.0), 3.0)
    line.__defaults__ = (4.0,)
    line.__kwdefaults__ = {"shift": 0.25}
    close(zyg.broadcast(line, 1.0), 4.25)


def test_31_layouts():
    x = np.arange(24.0).reshape(4, 6) / 10
    right = np.exp(x * 0.5) + x**3
    for view in (x[::2], x.T, np.asfortranarray(x), x[::-1, ::-2], x[:, 2:3]):
        want = np.exp(view * 0.5) + view**3
        close(zyg.broadcast(bump, view, 0.5), want)
        (c,) = zyg.gradient(lambda v: zyg.broadcast(bump, v, 0.5).sum(), view)
        close(c, 0.5 * np.exp(view * 0.5) + 3 * view**2)
    close(zyg.broadcast(bump, x, 0.5), right)


def test_32_results_in_arrays_of_the_callers():
    x, out = np.linspace(0, 1, 5), np.zeros(5)
    assert zyg.broadcast(bump, x, 0.5, out=out) is out
    close(out, np.exp(x * 0.5) + x**3)
    assert zyg.elementwise(bump)(x, 0.25, out=out) is out
    close(out, np.exp(x * 0.25) + x**3)
    assert zyg.broadcast(product, out, 2.0, out=out) is out
    close(out, 2 * (np.exp(x * 0.25) + x**3))
    with pytest.raises(MutationError, match="out="):
        zyg.gradient(lambda x: zyg.broadcast(bump, x, 0.5, out=out).sum(), x)
    with pytest.raises(TypeError, match="int"):
        zyg.broadcast(bump, x, 0.5, out=np.zeros(5, int))
    with pytest.raises(TypeError, match="one result"):
        zyg.broadcast(polar, x, 0.5, out=out)


def test_40_float16_is_computed_in_float32():
    x = np.array([0.5, 2.0], np.float16)
    y, back = zyg.pullback(lambda x: zyg.broadcast(bump, x, 0.5), x)
    (c,) = back(np.ones(2, np.float16))
    assert y.dtype == c.dtype == np.float16
    wide = x.astype(np.float32)
    np.testing.assert_array_equal(y, (np.exp(wide * 0.5) + wide**3).astype(np.float16))
    close(c, (0.5 * np.exp(wide * 0.5) + 3 * wide**2), 1e-3)


# Structures, decorators, fusing


class Point(NamedTuple):
    x: float
    y: float


@dataclasses.dataclass
class Size:
    wide: float
    high: float


def moved(p, s, by=1.0):
    return Point(p.x + by * s.wide, p.y * s.high)


def test_structures_of_arrays():
    p, s = Point(np.array([1.0, 2.0]), 3.0), Size(np.array([[0.5], [1.5]]), np.ones(2))
    q = zyg.broadcast(moved, p, s)
    assert type(q) is Point
    close(q.x, p.x + s.wide)
    close(q.y, np.full((2, 2), 3.0))
    p_bar, s_bar = zyg.gradient(
        lambda p, s: (lambda q: (q.x * q.y).sum())(zyg.broadcast(moved, p, s)), p, s
    )
    assert type(p_bar) is Point
    close(p_bar.x, [6.0, 6.0])
    close(s_bar.wide, [[6.0], [6.0]])
    close(p_bar.y, 2 * p.x.sum() + 2 * s.wide.sum())


def test_elementwise_and_fuse():
    @zyg.elementwise(mode="recompute")
    def f(x, y):
        """Two numbers."""
        return math.tanh(x) * y

    assert (f.__name__, f.__doc__) == ("f", "Two numbers.")
    assert f.scalar(0.0, 3.0) == 0.0
    x = np.array([0.5, 1.0])
    close(f(x, 2.0), 2 * np.tanh(x))
    fused = zyg.fuse(lambda x, y: np.tanh(x) * y + np.where(x > 0.7, x, 0.0))
    close(fused(x, 2.0), 2 * np.tanh(x) + [0, 1])
    close(zyg.gradient(lambda x: fused(x, 2.0).sum(), x)[0], 2 / np.cosh(x) ** 2 + [0, 1])
    nested = zyg.elementwise(lambda x: f(x, 3.0) + 1)
    close(nested(x), 3 * np.tanh(x) + 1)
    with pytest.raises(KernelError):
        zyg.fuse(lambda x: np.sum(x))(x)


def test_constants_and_whole_and_logical_results():
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(zyg.broadcast(lambda t: 2.5, x), np.full(3, 2.5))
    above = zyg.broadcast(lambda t: t > 1.5, x)
    whole = zyg.broadcast(lambda t: round(t * 1.4), x)
    assert (above.dtype, whole.dtype) == (np.dtype(bool), np.dtype(np.int64))
    assert above.tolist() == [False, True, True]
    assert whole.tolist() == [1, 3, 4]
    assert zyg.gradient(lambda x: zyg.broadcast(lambda t: round(t), x).sum() * 1.0, x) == (None,)


def test_integers_are_the_real_numbers_they_are():
    k = np.array([1, 2, 3])
    (c,) = zyg.gradient(lambda k: zyg.broadcast(lambda n: n * n, k).sum(), k)
    assert c.dtype == float
    close(c, 2 * k)
    assert zyg.gradient(lambda k: zyg.broadcast(lambda n: n * n, k), 5) == (10.0,)


# The policy on kinks, ties, zeros and infinities is that of everything else


NOT_IN_KERNELS = {
    "modf, fraction", "modf, whole", "divmod, remainder", "imag", "conj", "angle below 0",
    "nan_to_num of nan", "nan_to_num of inf", "nan_to_num of a number",
    "nan_to_num(x)**2 at nan",
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("row", FUNCTIONS)
def test_slopes_are_those_of_the_table_of_policies(row, mode):
    f, at, expected = FUNCTIONS[row]

    def kernel(*xs):
        return zyg.broadcast(f, *xs)

    with np.errstate(all="ignore"), zyg.config(fallback="error"):
        if row in NOT_IN_KERNELS:
            with pytest.raises(KernelError):
                kernel(*at)
            return
        np.testing.assert_allclose(MODES[mode](kernel, at), expected, rtol=1e-14)
        arrays = [np.array([x, 0.75], np.float32) for x in at]
        for c, d in zip(MODES[mode](kernel, arrays), expected, strict=True):
            np.testing.assert_allclose(c[0], d, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("modes", [*itertools.product(MODES, MODES)], ids=" over ".join)
@pytest.mark.parametrize("row", SECOND)
def test_second_derivatives_are_those_of_the_table_of_policies(row, modes):
    f, at, expected = SECOND[row]
    outer, inner = MODES[modes[0]], INNER[modes[1]]

    def slope(x):
        return inner(lambda x: zyg.broadcast(f, x), x)

    with np.errstate(all="ignore"), zyg.config(fallback="error"):
        if row not in NOT_IN_KERNELS:
            np.testing.assert_allclose(outer(slope, [at]), [expected], rtol=1e-14)


def test_one_pass_of_watched_operands_can_itself_be_differentiated():
    cube = zyg.elementwise(lambda x: x**3)
    x, ones = np.arange(3.0), np.ones(3)

    (found,) = zyg.gradient(lambda x: cube.one_pass(ones, x)[1][0].sum(), x)

    np.testing.assert_allclose(found, 6 * x)


def test_one_pass_of_several_results():
    f = zyg.elementwise(lambda x, a: (math.sin(a * x), x > 0, x * a))
    x = np.linspace(-1.0, 1.0, 5)

    y, (x_bar, a_bar) = f.one_pass((np.ones(5), None, np.full(5, 2.0)), x, 1.5)

    assert y[1].dtype == bool
    np.testing.assert_allclose(x_bar, 1.5 * np.cos(1.5 * x) + 3)
    np.testing.assert_allclose(a_bar, np.sum(x * np.cos(1.5 * x) + 2 * x), atol=1e-14)


def test_one_pass_keeps_exact_zeros():
    root = zyg.elementwise(lambda x: math.sqrt(x * x))

    assert root.one_pass(np.ones(2), np.array([0.0, 2.0]))[1][0].tolist() == [0.0, 1.0]


SPEED = 2.0


@zyg.elementwise
def fading(x):
    return math.exp(-SPEED * x)


def test_an_elementwise_function_is_a_scalar_function_too(monkeypatch):
    x = np.ones(2)
    for speed in (2.0, 3.0):
        monkeypatch.setitem(globals(), "SPEED", speed)
        for y in (fading(x), zyg.broadcast(fading, x), zyg.partials(fading, x)[0]):
            np.testing.assert_allclose(y, math.exp(-speed), rtol=1e-14)
        twice = zyg.broadcast(lambda x: 2 * fading(x), x)
        np.testing.assert_allclose(twice, 2 * math.exp(-speed), rtol=1e-14)


def test_a_method_as_a_scalar_function_of_a_watched_object():
    class Bowl:
        def __init__(self, depth):
            self.depth = depth

        def at(self, x):
            return self.depth * x * x

    def total(bowl):
        return zyg.broadcast(bowl.at, np.array([1.0, 2.0])).sum()

    assert zyg.gradient(total, Bowl(1.5))[0].depth == 5.0


@pytest.mark.parametrize("shape", [(2, 3), (1,), ()])
def test_one_pass_refuses_a_cotangent_of_another_shape(shape):
    square = zyg.elementwise(lambda x: x * x)

    with pytest.raises(ShapeError, match=r"does not fit the value, which has shape \(3,\)"):
        square.one_pass(np.ones(shape), np.ones(3))
