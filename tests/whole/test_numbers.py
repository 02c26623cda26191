"""Numbers of every type: Fractions, Decimals, NumPy's, complex ones, those of one's own."""

import enum
import functools
import math
import numbers
import operator
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import uncertainties
from hypothesis import given
from hypothesis import strategies as st

import zyg
from zyg import gradient, pullback, value_and_gradient

from .test_python import BINARY, UNARY, slope

# Number types


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: x**2 + 3 * x + 1, Fraction(1, 3), Fraction(11, 3)),
        (lambda x: x**-2, Fraction(2, 3), Fraction(-27, 4)),
        (lambda x: 1 / x, Fraction(2, 3), Fraction(-9, 4)),
        (lambda x: x / (1 - x), Fraction(1, 3), Fraction(9, 4)),
        (lambda x: -x * x - x, Fraction(1, 3), Fraction(-5, 3)),
        (lambda x: abs(x) * x, Fraction(-1, 3), Fraction(2, 3)),
        (lambda x: (10**40 + 1) * x, Fraction(1, 3), Fraction(10**40 + 1)),
        (lambda x: x * (10**40 + 1), Fraction(1, 3), Fraction(10**40 + 1)),
        (lambda x: x % Fraction(1, 4), Fraction(1, 3), Fraction(1)),
        (lambda x: max(x, 1 - x), Fraction(1, 3), Fraction(-1)),
        (lambda x: x**0 + x, Fraction(1, 3), Fraction(1)),
        (lambda x: +x - 2, Fraction(1, 3), Fraction(1)),
        (lambda x: 2 - x, Fraction(1, 3), Fraction(-1)),
        (lambda x: sum([x, x * x, 1]), Fraction(1, 3), Fraction(5, 3)),
        (lambda x: x**2 + 3 * x + 1, Decimal("0.3"), Decimal("3.6")),
        (lambda x: 1 / x, Decimal("0.5"), Decimal(-4)),
        (lambda x: x / (1 - x), Decimal("0.5"), Decimal(4)),
        (lambda x: -x * x, Decimal("0.5"), Decimal(-1)),
        (lambda x: abs(x) * x, Decimal("-0.5"), Decimal(1)),
        (lambda x: x**3, Decimal("0.1"), Decimal("0.03")),
        (lambda x: x**-1, Decimal("0.5"), Decimal(-4)),
        (lambda x: x - 2 - x * x, Decimal("0.1"), Decimal("0.8")),
        (lambda x: Decimal(7) % x, Decimal(3), Decimal(-2)),
        (lambda x: x * Decimal("0.1"), Decimal(3), Decimal("0.1")),
        (lambda x: x**2 + 3 * x + 1, mpmath.mpf("0.3"), mpmath.mpf("3.6")),
        (lambda x: 1 / x, mpmath.mpf(4), mpmath.mpf(-1) / 16),
        (lambda x: abs(x) * x, mpmath.mpf(-3), mpmath.mpf(6)),
        (lambda x: -x / 2, mpmath.mpf(-3), mpmath.mpf("-0.5")),
        (lambda x: x**-2, mpmath.mpf(2), mpmath.mpf("-0.25")),
    ],
)
def test_numbers_keep_their_type_exactly(f, x, expected):
    (result,) = gradient(f, x)
    assert type(result) is type(x)
    assert abs(result - expected) < 1e-15 if isinstance(x, mpmath.mpf) else result == expected
    value = pullback(f, x)[0]
    assert value == f(x)
    assert type(value) is type(f(x))


def test_fractions_in_two_places_and_in_structures():
    f = lambda d: d["a"] ** 2 * d["b"][0] / 3  # noqa: E731
    (result,) = gradient(f, {"a": Fraction(1, 2), "b": [Fraction(3, 5)]})
    assert result == {"a": Fraction(1, 5), "b": [Fraction(1, 12)]}
    assert all(type(v) is Fraction for v in (result["a"], result["b"][0]))


def test_second_derivatives_of_fractions_are_exact():
    D = lambda f: lambda x: gradient(f, x)[0]  # noqa: E731, N806
    assert D(D(lambda x: 1 / (1 + x)))(Fraction(1, 2)) == Fraction(2) / Fraction(3, 2) ** 3
    assert type(D(D(lambda x: x**3))(Fraction(1, 2))) is Fraction


def test_powers_of_decimals():
    x, p = Decimal("2"), Decimal("3")
    x_bar, p_bar = gradient(lambda x, p: x**p, x, p)
    assert type(x_bar) is type(p_bar) is Decimal
    assert x_bar == 12
    assert float(p_bar) == pytest.approx(8 * math.log(2), rel=1e-15)


def test_high_precision_stays_high():
    with mpmath.workdps(50):
        x = mpmath.mpf("0.7")
        (result,) = gradient(lambda x, p: x**p, x, mpmath.mpf("2.5"))[:1]
        assert abs(result - mpmath.mpf("2.5") * x ** mpmath.mpf("1.5")) < mpmath.mpf(10) ** -48
        x_bar, p_bar = gradient(lambda x, p: x**p / 3, x, mpmath.mpf("2.5"))
        closed = x ** mpmath.mpf("2.5") * mpmath.log(x) / 3
        assert abs(p_bar - closed) < mpmath.mpf(10) ** -48
        assert isinstance(x_bar, mpmath.mpf)


def test_complex_mpmath():
    z = mpmath.mpc(3, 4)
    (result,) = gradient(lambda z: abs(z), z)
    assert isinstance(result, mpmath.mpc)
    assert abs(result - mpmath.mpc("0.6", "0.8")) < 1e-15


@pytest.mark.parametrize(
    ("f", "nominal"),
    [
        (lambda x: x**2 + 3 * x + 1, 7.0),
        (lambda x: x**3 / (x - 1), 4.0),
        (lambda x: 1 / x, -0.25),
        (lambda x: (x * 2) ** -1, -0.125),
    ],
)
def test_uncertain_numbers(f, nominal):
    x = uncertainties.ufloat(2.0, 0.1)
    (result,) = gradient(f, x)
    assert isinstance(result, uncertainties.UFloat)
    assert result.nominal_value == pytest.approx(nominal)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_modulus_of_an_uncertain_number():
    # A slope that is certain is a plain number: an uncertain one is not made from it alone.
    assert gradient(lambda x: abs(x), uncertainties.ufloat(-2.0, 0.1)) == (-1.0,)


def test_the_uncertainty_of_a_gradient_is_propagated():
    x = uncertainties.ufloat(2.0, 0.1)
    (result,) = gradient(lambda x: x**3, x)  # 3 x**2 has uncertainty 6 x * 0.1
    assert result.std_dev == pytest.approx(1.2)


def test_a_number_type_of_ones_own():
    @functools.total_ordering
    class Tropical(numbers.Number):
        """A wrapped float that refuses to mix with floats."""

        def __init__(self, v):
            assert isinstance(v, (int, float))
            self.v = v

        def _lift(self, other):
            if isinstance(other, int):
                return other
            assert isinstance(other, Tropical), other
            return other.v

        def __add__(self, o):
            return Tropical(self.v + self._lift(o))

        def __mul__(self, o):
            return Tropical(self.v * self._lift(o))

        def __sub__(self, o):
            return Tropical(self.v - self._lift(o))

        def __rsub__(self, o):
            return Tropical(self._lift(o) - self.v)

        def __truediv__(self, o):
            return Tropical(self.v / self._lift(o))

        def __rtruediv__(self, o):
            return Tropical(self._lift(o) / self.v)

        def __pow__(self, o):
            return Tropical(self.v ** self._lift(o))

        def __neg__(self):
            return Tropical(-self.v)

        def __eq__(self, o):
            return self.v == self._lift(o)

        def __lt__(self, o):
            return self.v < self._lift(o)

        def __hash__(self):
            return hash(self.v)

        __radd__, __rmul__ = __add__, __mul__

    (result,) = gradient(lambda x: -x * x * x / (x + 1) + 2 * x**3 - 1, Tropical(2.0))
    assert type(result) is Tropical
    assert result.v == pytest.approx(slope(lambda x: -x * x * x / (x + 1) + 2 * x**3 - 1, 2.0))


# NumPy's numbers and complex numbers


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
def test_numpy_floats_keep_their_type(kind):
    for f in (lambda x: x * x, lambda x: 2 * x + 1, lambda x: np.exp(x), lambda x: x / 3,
              lambda x: x * np.pi, lambda x: 2.5 * x**2, lambda x: x * np.float64(2),
              lambda x: np.sum(x * np.ones(3))):  # fmt: skip
        assert type(gradient(f, kind(1.5))[0]) is kind


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint8])
def test_numpy_ints_get_floats(kind):
    (result,) = gradient(lambda n: n * 1.5, kind(3))
    assert type(result) is float
    assert result == 1.5
    assert gradient(lambda n: n * n, kind(5)) == (10.0,)


def test_int_arrays_get_float64_gradients():
    (result,) = gradient(lambda n: np.sum(n * n), np.array([1, 2, 3], dtype=np.int16))
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, [2, 4, 6])
    seen = []
    gradient(
        lambda n: seen.append((n.dtype, np.arange(5)[n].tolist())) or np.sum(n), np.array([1, 3])
    )
    assert seen == [(np.dtype(int), [1, 3])]


def test_unsigned_gradients_can_be_negative():
    (result,) = gradient(lambda n: -np.sum(n * 1.0), np.array([1, 2], dtype=np.uint8))
    np.testing.assert_array_equal(result, [-1.0, -1.0])


def test_bool_arrays_have_no_gradient():
    b, x = np.array([True, False]), np.array([2.0, 3.0])
    b_bar, x_bar = gradient(lambda b, x: np.sum(x[b]) + np.sum(x * b), b, x)
    assert b_bar is None
    np.testing.assert_array_equal(x_bar, [2.0, 0.0])
    assert gradient(lambda b, x: x * b, True, 2.0) == (None, 1.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x * np.ones(3)),
        lambda x: np.sum(x * 2.5),
        lambda x: np.sum(np.float64(2.5) * x),
        lambda x: np.sum(x @ np.eye(3)),
        lambda x: np.sum(x.astype(np.float64) ** 2),
        lambda x: np.sum(np.concatenate([x, np.ones(2)])),
        lambda x: np.sum(x + 1j).real,
        lambda x: x[0] * 3.7,
        lambda x: np.mean(x, dtype=np.float64),
        lambda x: np.sum(x[[0, 0, 1]] * np.arange(3)),
        lambda x: np.sum(np.where(np.array([True, False, True]), x, np.pi)),
        lambda x: sum(x) * np.float64(3),
    ],
)
def test_float32_arrays_get_float32_whatever_they_met(f):
    (result,) = gradient(f, np.ones(3, np.float32))
    assert result.dtype == np.float32
    assert result.shape == (3,)


def test_float32_operands_do_not_lower_a_float64_gradient():
    x, w = np.ones(3) / 3, np.ones(3, np.float32)
    x_bar, w_bar = gradient(lambda x, w: np.sum(x * w * x), x, w)
    assert x_bar.dtype == np.float64
    assert w_bar.dtype == np.float32
    np.testing.assert_array_equal(x_bar, 2 * x)


def test_zero_dimensional_arrays():
    x = np.array(3.0)
    (result,) = gradient(lambda x: x * x, x)
    assert isinstance(result, np.ndarray)
    assert result.shape == ()
    assert result == 6.0
    (result,) = gradient(lambda x: np.sum(x[()] * np.ones(2)), x)
    assert isinstance(result, np.ndarray)
    assert result.shape == ()
    assert result == 2.0
    (result,) = gradient(lambda x: x.item() ** 2, x)
    assert result.shape == ()


def test_empty_arrays_keep_their_shape():
    for shape in [(0,), (0, 3), (2, 0)]:
        (result,) = gradient(
            lambda x: np.sum(x * 2) + np.sum(np.exp(x)), np.zeros(shape, np.float32)
        )
        assert result.shape == shape
        assert result.dtype == np.float32
    assert gradient(lambda x: sum(x, 0.0), np.zeros(0), zeros=True)[0].shape == (0,)


def test_complex_gradients_point_uphill():
    def loss(z):
        return abs(z - (1 + 2j)) ** 2 + (z * z).real

    z = 0.3 - 0.8j
    (z_bar,) = gradient(loss, z)
    h = 1e-6
    u_bar = (loss(z + h) - loss(z - h)) / (2 * h)
    v_bar = (loss(z + 1j * h) - loss(z - 1j * h)) / (2 * h)
    assert z_bar == pytest.approx(u_bar + 1j * v_bar)
    assert type(z_bar) is complex
    assert loss(z - 0.01 * z_bar) < loss(z)


COMPLEX = {
    "product": lambda z, w: (z * w).real, "quotient": lambda z, w: (z / w).imag,
    "power": lambda z, w: abs(z**w), "int power": lambda z, w: (z**3 * w**-2).real,
    "exp": lambda z, w: np.exp(z * w).imag, "abs": lambda z, w: abs(z) * abs(w),
    "conj": lambda z, w: (z.conjugate() * w * z).real, "mixed": lambda z, w: z.real * w.imag,
    "sum": lambda z, w: (z + w * 2 - 1j).imag, "neg": lambda z, w: (-z * w).real,
    "log": lambda z, w: np.log(z).real * np.sqrt(w).imag, "angle": lambda z, w: np.angle(z * w),
    "pos": lambda z, w: (+z).real + abs(w) ** 2,
}  # fmt: skip


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("kinds", [(complex, complex), (complex, float), (float, complex),
                                   (np.complex128, np.complex64)])  # fmt: skip
def test_complex_and_real_arguments_mixed(name, kinds):
    f = COMPLEX[name]
    values = [1.2 + 0.7j, 0.4 - 1.1j]
    args = [k(v.real) if k is float else k(v) for k, v in zip(kinds, values, strict=True)]
    results = gradient(f, *args, zeros=True)
    h = 1e-6
    for k, (kind, result) in enumerate(zip(kinds, results, strict=True)):
        assert type(result) is kind

        def at(v, k=k):
            wide = [a if isinstance(a, float) else complex(a) for a in args]
            wide[k] = wide[k] + v
            return f(*wide)

        expected = (at(h) - at(-h)) / (2 * h)
        if kind is not float:
            expected = expected + 1j * (at(1j * h) - at(-1j * h)) / (2 * h)
        tolerance = 1e-5 if np.complex64 in kinds else 1e-7
        assert complex(result) == pytest.approx(complex(expected), rel=tolerance, abs=tolerance)


def test_complex_arrays_and_real_arrays():
    z, x = np.array([1 + 2j, 3 - 1j]), np.array([0.5, 2.0])
    z_bar, x_bar = gradient(lambda z, x: np.sum(np.abs(z * x) ** 2), z, x)
    np.testing.assert_allclose(z_bar, 2 * z * x**2)
    np.testing.assert_allclose(x_bar, 2 * x * np.abs(z) ** 2)
    assert z_bar.dtype == np.complex128
    assert x_bar.dtype == np.float64


def test_gradient_descent_on_a_complex_array_lowers_the_loss():
    a = np.array([[1 + 1j, 2.0], [0.5j, 1 - 1j]])
    b = np.array([1.0, 1j])

    def loss(z):
        return np.sum(np.abs(a @ z - b) ** 2)

    z = np.zeros(2, complex)
    for _ in range(100):
        z = z - 0.05 * gradient(loss, z)[0]
    assert loss(z) < 0.05 * loss(np.zeros(2, complex))


# The short path of watched floats equals the general path

_LEAF = st.one_of(
    st.sampled_from(["x", "y"]),
    st.integers(-4, 4).map(Fraction),
    st.fractions(min_value=-3, max_value=3, max_denominator=7),
)
_TREE = st.recursive(
    _LEAF,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+-*/"), inner, inner),
        st.tuples(st.just("**"), inner, st.integers(-2, 4)),
        st.tuples(st.sampled_from(["neg", "pos", "abs"]), inner),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner),
    ),
    max_leaves=12,
)


def _evaluate(tree, scope, number):
    match tree:
        case str():
            return scope[tree]
        case Fraction():
            return number(tree)
        case ("**", base, n):
            return _evaluate(base, scope, number) ** n
        case (("neg" | "pos" | "abs") as name, inner):
            return UNARY[name](_evaluate(inner, scope, number))
        case (name, left, right):
            return BINARY[name](_evaluate(left, scope, number), _evaluate(right, scope, number))


class Dual:
    """An exact derivative by fractions, written independently: value and derivatives in x and y."""

    def __init__(self, value, *slopes):
        self.value, self.slopes = value, slopes

    def _with(self, value, a, other, b):
        return Dual(value, *(a * p + b * q for p, q in zip(self.slopes, other.slopes, strict=True)))

    def __add__(self, o):
        return self._with(self.value + o.value, 1, o, 1)

    def __sub__(self, o):
        return self._with(self.value - o.value, 1, o, -1)

    def __mul__(self, o):
        return self._with(self.value * o.value, o.value, o, self.value)

    def __truediv__(self, o):
        return self._with(self.value / o.value, 1 / o.value, o, -self.value / o.value**2)

    def __pow__(self, n):
        a = n * self.value ** (n - 1) if n else 0
        return self._with(self.value**n, a, self, 0)

    def __neg__(self):
        return self._with(-self.value, -1, self, 0)

    def __pos__(self):
        return self

    def __abs__(self):
        return self._with(abs(self.value), (self.value > 0) - (self.value < 0), self, 0)

    def __lt__(self, o):
        return self.value < o.value

    def __gt__(self, o):
        return self.value > o.value


def _exact(tree, x, y):
    scope = {"x": Dual(x, Fraction(1), Fraction(0)), "y": Dual(y, Fraction(0), Fraction(1))}
    return _evaluate(tree, scope, lambda v: Dual(v, Fraction(0), Fraction(0)))


_POINT = st.fractions(min_value=-3, max_value=3, max_denominator=9)


@given(_TREE, _POINT, _POINT)
def test_random_programs_of_fractions_are_exact(tree, x, y):
    try:
        exact = _exact(tree, x, y)
    except ZeroDivisionError:
        return

    def f(x, y):
        return _evaluate(tree, {"x": x, "y": y}, lambda v: v) + 0 * x

    assert gradient(f, x, y, zeros=True) == exact.slopes
    assert pullback(f, x, y)[0] == exact.value


@given(_TREE, _POINT, _POINT, st.sampled_from([(float, float), (np.float64, np.float64),
                                               (float, np.float64)]))  # fmt: skip
def test_random_programs_of_floats_are_near_the_exact_derivative(tree, x, y, kinds):
    try:
        exact = _exact(tree, x, y)
    except ZeroDivisionError:
        return
    magnitudes = [abs(v) for v in (exact.value, *exact.slopes)]
    if max(magnitudes) > 1e6:
        return

    def f(x, y):
        return _evaluate(tree, {"x": x, "y": y}, float) + 0.0 * x

    def rounded():
        # Ties of min and max that exact arithmetic sees may be broken by rounding, and the reverse.
        steps = []
        _evaluate_watched(tree, {"x": Dual(x, 0, 0), "y": Dual(y, 0, 0)}, steps)
        return any(abs(float(s)) < 1e-9 for s in steps)

    try:
        got = gradient(f, kinds[0](x), kinds[1](y), zeros=True)
    except (ZeroDivisionError, OverflowError):
        return
    if rounded():
        return
    assert got == pytest.approx([float(v) for v in exact.slopes], rel=1e-6, abs=1e-6)
    assert [type(v) for v in got] == list(kinds)


def _evaluate_watched(tree, scope, steps):
    """The differences on which abs, min, max, / and ** turn; a tiny one makes floats undecided."""

    def walk(tree):
        match tree:
            case str():
                return scope[tree].value
            case Fraction():
                return tree
            case ("**", base, n):
                v = walk(base)
                steps.append(v if n < 2 else 1)
                return v**n
            case ("abs", inner):
                v = walk(inner)
                steps.append(v)
                return abs(v)
            case ("neg" | "pos", inner):
                return walk(inner)
            case (name, left, right):
                a, b = walk(left), walk(right)
                steps.append({"min": a - b, "max": a - b, "/": b}.get(name, 1))
                return BINARY[name](a, b)

    return walk(tree)


class General(float):
    """A float for which there is no short path: the same operators by the general rules."""

    def _same(name):  # noqa: N805
        method = getattr(float, name)

        def operator_(self, *others):
            y = method(self, *others)
            return General(y) if type(y) is float else y

        return operator_

    for _name in ("add", "sub", "mul", "truediv", "pow", "mod", "floordiv"):
        locals()[f"__{_name}__"] = _same(f"__{_name}__")
        locals()[f"__r{_name}__"] = _same(f"__r{_name}__")
    for _name in ("neg", "pos", "abs"):
        locals()[f"__{_name}__"] = _same(f"__{_name}__")


# Nothing tiny: where a power overflows, Python's floats raise and NumPy's are infinite.
_FLOAT = st.one_of(
    st.integers(-3000, 3000).map(lambda n: n / 1001), st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5])
)


@given(_TREE, _FLOAT, _FLOAT)
def test_the_short_path_equals_the_general_path(tree, x, y):
    def f(x, y):
        return _evaluate(tree, {"x": x, "y": y}, float)

    def outcome(kind):
        try:
            return value_and_gradient(f, kind(x), kind(y), zeros=True)
        except (ZeroDivisionError, OverflowError) as error:
            return type(error)
        except zyg.errors.ComplexOutputError as error:
            return type(error)

    short, general = outcome(float), outcome(General)
    if isinstance(short, type):
        assert short is general
        return
    assert short[0] == pytest.approx(float(general[0]), rel=1e-12, abs=1e-12, nan_ok=True)
    assert list(short[1]) == pytest.approx(
        [float(v) for v in general[1]], rel=1e-9, abs=1e-12, nan_ok=True
    )


_KINDS = [float, int, np.float64, np.float32, General, Fraction]
_PAIRS = [(a, b) for a in _KINDS for b in _KINDS if {a, b} != {Fraction, np.float32}]


@pytest.mark.parametrize("name", ["+", "-", "*", "/", "//", "%", "**"])
@pytest.mark.parametrize("kinds", _PAIRS, ids=lambda ks: "-".join(k.__name__ for k in ks))
def test_every_operator_on_every_pair_of_types_as_plain_python_does_it(name, kinds):
    f = BINARY[name]
    a, b = kinds[0](3), kinds[1](2)
    plain = f(a, b)
    # Fraction ** n asks isinstance(n, int), as which a watched n cannot pass: it answers in float.
    inexact = name == "**" and kinds[0] is Fraction
    expected = {
        "+": (1, 1), "-": (1, -1), "*": (2, 3), "/": (0.5, -0.75), "//": (0, 0), "%": (1, -1),
        "**": (6, 9 * math.log(3)),
    }[name]  # fmt: skip
    for g, args, places in (
        (f, (a, b), (0, 1)),
        (lambda a: f(a, b), (a,), (0,)),
        (lambda b: f(a, b), (b,), (1,)),
    ):
        y, back = pullback(g, *args)
        assert y == plain
        assert type(y) is type(plain) or (inexact and type(y) is float)
        for bar, place in zip(back(1, zeros=True), places, strict=True):
            kind = kinds[place]
            assert float(bar) == pytest.approx(float(expected[place]), rel=1e-6)
            assert type(bar) in ({float, kinds[1 - place]} if kind is int else {kind})


# Members of enums, which are numbers to operators and cannot be watched


class Count(enum.IntEnum):
    TWO = 2


class Flags(enum.IntFlag):
    A, B = 1, 2


class Exponent(float, enum.Enum):
    HALF, MINUS = 0.5, -0.5


class Turn(complex, enum.Enum):
    LEFT = 1j


OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.floordiv,
    operator.mod, np.add, np.multiply, np.power, np.hypot,
)  # fmt: skip


@pytest.mark.parametrize("member", [Count.TWO, Flags.A | Flags.B, *Exponent, Turn.LEFT], ids=repr)
@pytest.mark.parametrize(
    "x",
    [3.0, 3, 0.0, np.float64(3), np.float32(3), Fraction(3), 3 + 1j, np.array([3.0, 4.0]),
     np.array([3, 4]), np.array([3, 4], np.float32)],
    ids=repr,
)  # fmt: skip
def test_a_member_of_an_enum_is_an_operand_as_its_number_is(x, member):
    number = next(t(member) for t in (int, float, complex) if isinstance(member, t))

    def outcome(f):
        try:
            y, back = zyg.pullback(f, x)
            return repr((y, back(np.ones_like(y) if np.ndim(y) else 1.0)))
        except (AttributeError, TypeError, ZeroDivisionError) as error:
            return type(error)

    def check(f):
        """`f`, of the value and the other operand."""
        if outcome(lambda _: f(x, member)) == outcome(lambda _: f(x, number)):
            assert outcome(lambda x: f(x, member)) == outcome(lambda x: f(x, number)), f

    with np.errstate(all="ignore"):
        for op in OPERATORS:
            check(op)
            check(functools.partial(_swapped, op))


def _swapped(op, x, other):
    return op(other, x)


def test_an_enum_of_no_numbers_is_no_operand():
    class Colour(enum.Enum):
        RED = 1

    for f in (lambda x: x + Colour.RED, lambda x: Colour.RED * x):
        with pytest.raises(TypeError, match="unsupported operand"):
            zyg.gradient(f, 2.0)
