"""`zyg.numpy` and `zyg.math`, for programs that make buffers or call math."""

import math

import numpy as np
import pytest

import zyg
import zyg.math
import zyg.numpy as znp
from zyg import errors

from ..core.checks import LINE, check, loss

# zyg.numpy


def test_creation_functions_make_buffers():
    rows = [[1.0, 2, 3], [4, 5, 6]]
    for name, args in {
        "zeros": ((2, 3),), "ones": ((2, 3),), "empty": ((2, 3),), "full": ((2, 3), 2.0),
        "array": (rows,), "asarray": (rows,), "eye": (2, 3), "ascontiguousarray": (rows,),
        "asfortranarray": (rows,), "asanyarray": (rows,), "copy": (rows,), "tri": (2, 3),
        "zeros_like": (rows, float), "full_like": (rows, 2.0, float),
    }.items():  # fmt: skip

        def f(x, name=name, args=args):
            b = getattr(znp, name)(*args)
            assert b.shape == (2, 3), name
            b[...] = 0.0
            b[0] = x[:3]
            b[:, 1] *= x[3:5]
            return loss(b)

        check(f, LINE)


def test_what_creation_functions_space_is_a_buffer_if_it_is_of_floats():
    def f(x):
        b, c = znp.linspace(0.0, 1.0, 3), znp.arange(3.0)
        b[0], c[1] = x[0], x[1]
        assert type(znp.arange(3)) is np.ndarray
        return loss(b) + loss(c)

    check(f, LINE)


def test_creation_functions_equal_numpys():
    for name, args in {
        "zeros": (3, np.float32), "ones": ((2, 2), complex), "full": ((2,), 1.5), "eye": (3,),
        "identity": (2,), "array": ([1, 2],), "asarray": ([[1.5], [2.5]],), "arange": (4,),
        "linspace": (0, 1, 3), "sin": (1.5,),
    }.items():  # fmt: skip
        np.testing.assert_array_equal(
            np.asarray(getattr(znp, name)(*args)), getattr(np, name)(*args), strict=True
        )
    assert znp.empty((2, 3), np.float32).dtype == np.float32
    assert znp.pi is np.pi
    assert znp.linalg.norm(np.array([3.0, 4.0])) == 5.0
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        znp.nothing_of_the_kind  # noqa: B018


def test_array_stacks_watched_values():
    def f(x):
        a = znp.array([x[0], 2.0, x[1] * x[2]])
        b = znp.array([[x[0], x[1]], [x[2], 1.0]])
        c = znp.array([x, x[::-1]])
        a[0] = b[1, 0]
        c[0] *= 2
        return loss(a) + loss(b) + loss(c) + loss(x)

    check(f, LINE)


def test_array_of_plain_rows_among_watched_ones():
    def f(x):
        a = znp.array([x[:2], [1.0, 2.0], np.ones(2), (x[2], 3)])
        return loss(a)

    check(f, LINE)


def test_array_copies_and_asarray_does_not():
    def f(x):
        y = x * 1
        copied, same = znp.array(y), znp.asarray(y) if zyg.is_traced(y) else y
        copied *= 2
        same[0] = x[1]
        return loss(y) + loss(copied)

    check(f, LINE)


def test_full_with_a_watched_value():
    def f(x):
        y = znp.full((2, 2), x[0] * x[1])
        y[0, 0] = x[2]
        z = znp.full(3, x[3:])
        return loss(y) + loss(z)

    check(f, LINE)


def test_array_with_a_dtype():
    def f(x):
        return np.sum(znp.array([x[0], x[1]], dtype=np.float32) * 2)

    value, (slope,) = zyg.value_and_gradient(f, LINE)
    assert type(value) is np.float32
    assert slope.dtype == np.float64
    np.testing.assert_array_equal(slope, [2, 2, 0, 0, 0, 0])


def test_scalar_argument_fills_a_buffer():
    def powers(x):
        p = znp.ones(5)
        for i in range(1, 5):
            p[i] = p[i - 1] * x
        return np.sum(p)

    def slope(x):
        return zyg.gradient(powers, x)[0]

    assert zyg.gradient(powers, 2.0) == (1 + 4 + 12 + 32.0,)
    assert zyg.gradient(slope, 2.0) == (2 + 12 + 48.0,)


def test_buffer_that_never_meets_a_watched_value_is_a_plain_array():
    def f(x):
        b = znp.zeros(3)
        b[1] = 2.0
        b += 1
        view = b[1:]
        view *= 2
        assert not zyg.is_traced(b)
        assert isinstance(b, np.ndarray)
        assert b.sum() == 9.0
        assert list(map(float, b)) == [1.0, 6.0, 2.0]
        assert math.sqrt(b[0]) == 1.0
        assert np.linalg.norm(b) == math.sqrt(41)
        return x * b[1]

    assert zyg.gradient(f, 2.0) == (6.0,)


def test_buffer_filled_in_one_gradient_is_plain_in_the_next():
    kept = []

    def f(x):
        if not kept:
            kept.append(znp.zeros(3))
        kept[0][0] = x
        return kept[0][0] * x

    def g(x):
        return kept[0][0] * x

    assert zyg.gradient(f, 2.0) == (4.0,)
    assert zyg.gradient(g, 3.0) == (2.0,)
    assert zyg.gradient(f, 5.0) == (10.0,)
    np.testing.assert_array_equal(np.asarray(kept[0]), [5.0, 0.0, 0.0])


X3 = np.array([0.7, -0.4, 1.3])


@pytest.mark.parametrize(
    "f",
    [
        lambda n, x: n.r_[x[0], x[1], 1.0],
        lambda n, x: n.r_[x, 1, 2.0],
        lambda n, x: n.r_[x, 0:3],
        lambda n, x: n.r_[0 : x[2] : 2j, x],
        lambda n, x: n.r_[x[0] : 3, x[1] : 2 : x[0]],
        lambda n, x: n.r_["0,2", x, X3],
        lambda n, x: n.r_["1,2,0", x, X3, 0:3],
        lambda n, x: n.r_["-1", x[None], X3[None]],
        lambda n, x: n.r_[[x[0], 2.0], (3, 4)] if n is znp else n.r_[x[0], 2.0, 3, 4],
        lambda n, x: n.r_[x.astype(np.float32), 2.0],
        lambda n, x: n.c_[x],
        lambda n, x: n.c_[x, X3],
        lambda n, x: n.c_[x[:, None] * x, x],
    ],
)
def test_r_and_c(f):
    value, expected = zyg.pullback(lambda x: f(znp, x), X3)[0], f(np, X3)
    np.testing.assert_allclose(value, expected, rtol=1e-15)
    assert value.dtype == expected.dtype
    if value.dtype == float:
        zyg.check_gradient(lambda x: np.sum(np.sin(f(znp, x))), X3, order=2)


def test_r_of_plain_parts_is_numpys():
    assert type(znp.r_[1:3, 5.0]) is np.ndarray
    assert len(znp.c_) == 0
    with pytest.raises(ValueError, match="directive"):
        zyg.pullback(lambda x: znp.r_["nonsense", x], X3)


# zyg.math

_ONE = [0.3, 0.7]
MATH = {
    "acos": _ONE, "acosh": [1.3, 2.0], "asin": _ONE, "asinh": _ONE, "atan": _ONE, "atanh": _ONE,
    "cbrt": _ONE, "cos": _ONE, "cosh": _ONE, "degrees": _ONE, "erf": _ONE, "erfc": _ONE,
    "exp": _ONE, "exp2": _ONE, "expm1": _ONE, "fabs": [-0.3, 0.7], "gamma": [2.5, -0.3],
    "lgamma": [2.5, 0.3],
    "log": [0.3, 2.0], "log10": _ONE, "log1p": _ONE, "log2": _ONE, "radians": _ONE, "sin": _ONE,
    "sinh": _ONE, "sqrt": _ONE, "tan": _ONE, "tanh": _ONE,
    "atan2": [(0.3, 0.7), (-0.4, -1.1)], "copysign": [(0.3, -0.7), (-2.0, -1.0)],
    "fmod": [(5.3, 2.2), (-5.3, 2.2)], "pow": [(0.3, 0.7), (1.5, -2.0)], "hypot": [(0.3, -0.7)],
    "log(x, base)": [(0.3, 0.7)], "hypot of three": [(0.3, 0.7, -1.1)], "hypot of one": [(-0.3,)],
    "dist": [(0.3, 0.7, 1.5, -0.4)], "fsum": [(0.3, 0.7, 1.5)], "prod": [(0.3, 0.7, 1.5)],
    "ldexp": [(0.7,)],
    "remainder": [(5.3, 2.2), (-5.3, 2.2), (7.0, -1.9)], "sumprod": None, "fma": None,
}  # fmt: skip
_SPELLED = {
    "log(x, base)": lambda m, x, b: m.log(x, b),
    "hypot of three": lambda m, *x: m.hypot(*x),
    "hypot of one": lambda m, x: m.hypot(x),
    "dist": lambda m, a, b, c, d: m.dist([a, b], [c, d]),
    "fsum": lambda m, *x: m.fsum(x),
    "prod": lambda m, *x: m.prod(x, start=2.0),
    "ldexp": lambda m, x: m.ldexp(x, 3),
}
_MATH_CONSTANT = {
    "ceil", "comb", "factorial", "floor", "gcd", "isclose", "isfinite", "isinf", "isnan", "isqrt",
    "lcm", "perm", "trunc", "frexp", "modf", "isnormal", "issubnormal", "signbit", "fmax", "fmin",
    "nextafter", "ulp",
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name, points in MATH.items() if points])
def test_function_of_zyg_math_has_maths_value_and_the_slope_of_differences(name):
    call = _SPELLED.get(name, lambda m, *x: getattr(m, name)(*x))
    for point in MATH[name]:
        x = point if isinstance(point, tuple) else (point,)
        value, slopes = zyg.value_and_gradient(lambda *x: call(zyg.math, *x), *x, zeros=True)

        assert value == pytest.approx(call(math, *x), rel=1e-15)
        assert call(zyg.math, *x) == call(math, *x)
        for k in range(len(x)):

            def along(t, k=k, x=x):
                return call(math, *(t if j == k else v for j, v in enumerate(x)))

            h = 1e-6
            expected = (along(x[k] + h) - along(x[k] - h)) / (2 * h)
            assert slopes[k] == pytest.approx(expected, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("name", [name for name, points in MATH.items() if points])
def test_function_of_zyg_math_has_a_second_derivative(name):
    call = _SPELLED.get(name, lambda m, *x: getattr(m, name)(*x))
    for point in MATH[name]:
        x = point if isinstance(point, tuple) else (point,)

        def slope(t, x=x):
            return zyg.gradient(lambda t: call(zyg.math, t, *x[1:]), t, zeros=True)[0]

        h = 1e-6
        expected = (slope(x[0] + h) - slope(x[0] - h)) / (2 * h)
        assert zyg.gradient(slope, x[0], zeros=True)[0] == pytest.approx(
            expected, rel=1e-7, abs=1e-8
        )


def test_every_function_of_math_is_accounted_for():
    names = {n for n in dir(math) if callable(getattr(math, n)) and not n.startswith("_")}
    assert not names - set(MATH) - _MATH_CONSTANT


@pytest.mark.parametrize("name", ["modf", "frexp"])
def test_functions_of_math_without_a_rule_refuse(name):
    with pytest.raises(errors.MissingRuleError, match=f"math.{name}"):
        zyg.gradient(lambda x: getattr(zyg.math, name)(x), 2.5)
    assert getattr(zyg.math, name)(2.5) == getattr(math, name)(2.5)


def test_functions_of_zyg_math_that_carry_nothing():
    def f(x):
        assert zyg.math.floor(x) == 2
        assert zyg.math.ceil(x) == 3
        assert zyg.math.trunc(x) == 2
        assert zyg.math.isfinite(x)
        assert not zyg.math.isnan(x)
        assert zyg.math.isclose(x, 2.5)
        assert zyg.math.isclose(x, 3.0, rel_tol=0.0, abs_tol=x)
        assert zyg.math.ulp(x) == math.ulp(2.5)
        return zyg.math.floor(x) * x

    assert zyg.gradient(f, 2.5) == (2.0,)
    assert zyg.math.pi == math.pi
    assert zyg.math.factorial(4) == 24
    assert zyg.gradient(lambda x: zyg.math.nextafter(x, 3.0), 2.5) == (1.0,)
