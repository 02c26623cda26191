"""Matrices of derivatives: values, structures, types of numbers, modes, and what is refused."""

import itertools
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import zyg
from zyg.errors import (
    AdjointError,
    HolomorphicError,
    MissingRuleError,
    NonScalarOutputError,
    StructureError,
)
from zyg.verbs import jacobians

X = np.array([0.5, -1.2, 2.0])
U = np.array([1.0, 0.5, -2.0])
A = np.arange(6.0).reshape(2, 3) + 0.5
Z = np.array([1 + 2j, 0.5 - 1j])
MODES = ("auto", "forward", "reverse")
SINGLE = X.astype(np.float32)


@dataclass
class Model:
    w: np.ndarray
    b: float
    name: str = "m"


def kinds(x):
    """A value with every number and array replaced by what it is."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(kinds, x))
    if isinstance(x, dict):
        return {k: kinds(v) for k, v in x.items()}
    if isinstance(x, zyg.Tangent):
        return kinds(vars(x))
    return (x.dtype, x.shape) if isinstance(x, np.ndarray) else type(x)


def same(a, b):
    """Equal in structure, types and, but for rounding, numbers."""
    assert kinds(a) == kinds(b)
    pairs = [(a, b)]
    while pairs:
        a, b = pairs.pop()
        if isinstance(a, zyg.Tangent):
            a, b = vars(a), vars(b)
        if isinstance(a, (list, tuple)):
            pairs += zip(a, b, strict=True)
        elif isinstance(a, dict):
            pairs += [(v, b[k]) for k, v in a.items()]
        elif isinstance(a, np.ndarray) and a.dtype != object:
            np.testing.assert_allclose(a, b, rtol=1e-6 if a.itemsize < 8 else 1e-12, atol=1e-12)
        else:
            assert np.all(a == b) or a == pytest.approx(b)


def writes(x):
    x[0] = x[1] * 2
    return x[::-1] * x


def diag(n, dtype=float):
    return np.eye(n, dtype=dtype)


# name: (f, arguments, the Jacobian)
CASES = {
    "a matrix": (lambda x: A @ x, (X,), (A,)),
    "two arguments": (lambda x, y: x * y, (X, U), (np.diag(U), np.diag(X))),
    "a number by a number": (lambda x: x * x, (3.0,), (6.0,)),
    "numpy's number": (lambda x: x * x, (np.float32(3.0),), (np.float32(6.0),)),
    "an array by a number": (lambda x: x * X, (2.0,), (X,)),
    "a number by an array": (np.sum, (X,), (np.ones(3),)),
    "0-d": (lambda x: np.multiply(x, x), (np.array(2.0),), (np.array(4.0),)),
    "a table by a table": (
        lambda x: 2 * x, (A[:, :2],), (2 * np.eye(4).reshape(2, 2, 2, 2),),
    ),
    "an integer": (lambda n: n * n, (3,), (6.0,)),
    "integers": (lambda n: n * n, (np.array([1, 2]),), (np.diag([2.0, 4.0]),)),
    "integers out": (lambda x: x.astype(int), (X,), (np.zeros((3, 3)),)),
    "booleans": (lambda x, b: np.where(b, x, 0.0), (X, X > 0), (np.diag([1.0, 0, 1]), None)),
    "text and None": (lambda x, s, n: x * len(s), (2.0, "ab", None), (2.0, None, None)),
    "float32": (np.sin, (SINGLE,), (np.diag(np.cos(SINGLE)),)),
    "float64 of float32": (lambda x: A @ x, (SINGLE,), (A.astype(np.float32),)),
    "float32 of float64": (lambda x: (A @ x).astype(np.float32), (X,), (A,)),
    "float32 of a number": (lambda x: x * SINGLE, (2.0,), (SINGLE.astype(float),)),
    "complex of real": (lambda x: np.exp(1j * x), (X,), (np.diag(1j * np.exp(1j * X)),)),
    "complex64 of float32": (
        lambda x: np.complex64(1j) * x, (SINGLE,), (np.diag(np.full(3, 1j, np.complex64)),),
    ),
    "a complex number": (lambda x: x * (2 + 1j), (3.0,), (2 + 1j,)),
    "nothing in": (lambda x: A @ x, (np.zeros((3, 0)),), (np.zeros((2, 0, 3, 0)),)),
    "nothing out": (lambda x: x[:0], (X,), (np.zeros((0, 3)),)),
    "nothing at all": (np.sin, (np.zeros(0, np.float32),), (np.zeros((0, 0), np.float32),)),
    "no dependence": (lambda x: np.ones(2), (X,), (np.zeros((2, 3)),)),
    "no dependence of a number": (lambda x: 3, (2.0,), (0.0,)),
    "one of two": (lambda x, y: 2 * x, (2.0, X), (2.0, np.zeros(3))),
    "no number": (lambda x: ("text", None, X > 0), (X,), (None,)),
    "a dict out": (
        lambda x: {"a": x[0], "b": (2 * x, "s", 3)}, (X,),
        ({"a": np.array([1.0, 0, 0]), "b": (2 * diag(3), None, np.zeros(3))},),
    ),
    "a dict in": (
        lambda d: d["a"] * d["b"][0], ({"a": 2.0, "b": [X, "s"]},),
        ({"a": X, "b": [2 * diag(3), None]},),
    ),
    "structures in and out": (
        lambda d: [d["a"] * d["b"], d["a"]], ({"a": 2.0, "b": 3.0},),
        ([{"a": 3.0, "b": 2.0}, {"a": 1.0, "b": 0.0}],),
    ),
    "an object": (
        lambda m: m.w * m.b, (Model(X, 2.0),),
        (zyg.Tangent("Model", w=2 * diag(3), b=X, name=None),),
    ),
    "the same array twice": (
        lambda p: p[0] * p[1], ([X, X],), ([np.diag(2 * X), np.diag(2 * X)],),
    ),
    "overlapping views": (
        lambda p: p[0] * p[1], ([X[:2], X[1:]],),
        ([np.array([[X[1], X[0]], [0, X[2]]]), np.array([[X[0], 0], [X[2], X[1]]])],),
    ),
    "a view along which all is one": (
        lambda p: p[0].sum(axis=0) * p[1], ([np.broadcast_to(X, (2, 3)), X],),
        ([np.stack([np.diag(4 * X)] * 2, axis=1), np.diag(4 * X)],),
    ),
    "strided": (lambda x: 2 * x, (X[::2],), (2 * diag(2),)),
    "Fortran's order": (lambda x: x[0] * 2, (np.asfortranarray(A),), (
        np.stack([2 * diag(3), 0 * diag(3)], axis=1),)),
    "broadcast": (lambda x: 2 * x, (np.broadcast_to(1.0, (2,)),), (2 * diag(2),)),
    "writes": (writes, (X,), (np.array([[0, 2 * X[2], 2 * X[1]], [0, 2 * X[1], 0],
                                        [0, 2 * X[2], 2 * X[1]]]),)),
    "fractions": (
        lambda x, y: [x * y, x + y], (Fraction(1, 2), Fraction(1, 3)),
        ([Fraction(1, 3), Fraction(1)], [Fraction(1, 2), Fraction(1)]),
    ),
    "decimals": (lambda x: x * x, (Decimal(2),), (Decimal(4),)),
    "mpmath": (lambda x: [x**2, 1 / x], (mpmath.mpf(2),), ([mpmath.mpf(4), mpmath.mpf(-0.25)],)),
    "an array of objects": (
        lambda x: x[0] * x[1], (np.array([2.0, 3.0], object),),
        (np.array([3.0, 2.0], object),),
    ),
    "no arguments": (lambda: 3.0, (), ()),
    "more columns than go at once": (
        lambda x: x**2, (np.arange(300.0),), (np.diag(2 * np.arange(300.0)),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", MODES)
def test_jacobians(name, mode):
    f, args, expected = CASES[name]
    before = [np.copy(x) for x in args if isinstance(x, np.ndarray)]
    same(zyg.jacobian(f, *args, mode=mode), expected)
    for x, y in zip([x for x in args if isinstance(x, np.ndarray)], before, strict=True):
        np.testing.assert_array_equal(x, y)


def test_keywords_are_passed_on():
    for mode in MODES:
        (found,) = zyg.jacobian(lambda x, s, *, v: x * s * v, X, s=2.0, v=U, mode=mode)
        np.testing.assert_array_equal(found, np.diag(2 * U))


def test_few_columns_are_taken_in_forward_mode_by_one_call():
    calls = []

    def f(x):
        calls.append(1)
        return np.outer(x, np.arange(15.0))

    zyg.jacobian(f, X[:2])
    assert calls == [1]


def test_the_mode_is_chosen_by_what_there_are_fewer_of():
    levels = []

    @zyg.adjoint
    def spy(x):
        def spy_pullback(y_bar):
            levels.append("reverse")
            return (y_bar,)

        return x, spy_pullback

    @spy.pushforward
    def spy_forward(x):
        def pushforward(x_dot):
            levels.append("forward")
            return x_dot

        return x, pushforward

    wide = np.arange(20.0)
    zyg.jacobian(lambda x: np.sum(spy(x) ** 2), wide)
    assert set(levels) == {"reverse"}
    levels.clear()
    zyg.jacobian(lambda x: np.concatenate([spy(x), x]), wide)
    assert set(levels) == {"forward"}


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="unknown mode 'sideways'; there are: 'auto', 'forward'"):
        zyg.jacobian(np.sin, X, mode="sideways")


@pytest.mark.parametrize("verb", [zyg.jacobian, zyg.hessian, zyg.diaghessian])
@pytest.mark.parametrize("z", [1j, Z, [1.0, Z]])
def test_complex_arguments_are_refused(verb, z):
    with pytest.raises(HolomorphicError, match=r"argument 0 of the function is complex") as caught:
        verb(lambda z: np.abs(z), z)
    assert "test_jacobians.py" in str(caught.value)
    assert "zyg.wirtinger" in str(caught.value)


def test_a_hook_needs_reverse_mode():
    def f(x):
        return zyg.hook(lambda d: -d, x)

    np.testing.assert_array_equal(zyg.jacobian(f, X, mode="reverse")[0], -np.eye(3))
    with pytest.raises(MissingRuleError, match=r'jacobian\(..., mode="reverse"\)') as caught:
        zyg.jacobian(f, X)
    assert "hvp and hessian work too" in str(caught.value)


def twice_and_squared(c):
    return 2 * c + c * np.abs(c)


def pair_of(x):
    return zyg.hook(lambda c: [twice_and_squared(v) for v in c], [x[0] * x[1], x * x])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.sin(zyg.hook(twice_and_squared, x * x))),
        lambda x: np.sum(zyg.hook(lambda c: np.clip(c, -0.5, 0.5), x * x) ** 2),
        lambda x: zyg.hook(twice_and_squared, x[0] ** 2) * x[1] * x[2],
        lambda x: (lambda p: p[0] * p[1][0] + np.sum(p[1] ** 2))(pair_of(x)),
        lambda x: np.sum(zyg.checkpoint(lambda v: zyg.hook(twice_and_squared, v) ** 3, x)),
    ],
)
def test_second_derivatives_of_a_hooked_program_are_those_of_its_gradient(f):
    v, h = np.array([1.0, -0.5, 2.0]), 1e-6
    x = np.array([0.3, 0.7, -0.4])
    ahead, behind = (zyg.gradient(f, x + s * h * v)[0] for s in (1, -1))
    expected = (ahead - behind) / (2 * h)
    np.testing.assert_allclose(zyg.hvp(f, x, v), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(zyg.hessian(f, x) @ v, expected, rtol=1e-6, atol=1e-6)
    (over,) = zyg.jacobian(lambda x: zyg.gradient(f, x)[0], x, mode="reverse")
    np.testing.assert_allclose(over @ v, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("outer", MODES)
@pytest.mark.parametrize("inner", MODES)
def test_jacobians_of_jacobians(outer, inner):
    def f(x):
        return np.sin(x) * x[::-1]

    found = zyg.jacobian(lambda x: zyg.jacobian(f, x, mode=inner)[0], X, mode=outer)[0]
    h = 1e-6
    for k, e in enumerate(np.eye(3) * h):
        slope = (zyg.jacobian(f, X + e)[0] - zyg.jacobian(f, X - e)[0]) / (2 * h)
        np.testing.assert_allclose(found[:, :, k], slope, atol=1e-8)


@pytest.mark.parametrize("mode", MODES)
def test_jacobians_inside_gradients(mode):
    def f(x, w):
        return np.sum(zyg.jacobian(lambda y: w * y**3, x, mode=mode)[0] ** 2)

    x_bar, w_bar = zyg.gradient(f, X, U)
    np.testing.assert_allclose(x_bar, 2 * (3 * U * X**2) * 6 * U * X)
    np.testing.assert_allclose(w_bar, 2 * U * 9 * X**4)
    x_dot = zyg.pushforward(f, (X, U), (U, None))[1]
    assert x_dot == pytest.approx(x_bar @ U)


def test_jacobians_of_no_elements_inside_gradients():
    x_bar = zyg.gradient(lambda x: np.sum(zyg.jacobian(lambda x: x[:0], x)[0]) + np.sum(x), X)[0]
    np.testing.assert_array_equal(x_bar, 1.0)


def test_a_jacobian_in_structures_inside_a_gradient():
    def f(x):
        return zyg.jacobian(lambda d: d["a"] ** 2 * d["b"], {"a": x, "b": x})[0]["a"]

    assert zyg.gradient(f, 2.0) == (8.0,)  # of 2 x * x


def test_results_are_writable_and_share_nothing():
    results = [zyg.jacobian(lambda x: 2 * x, X, mode=m)[0] for m in MODES]
    results += [
        f(lambda x: np.sum(x**3), X)
        for f in (zyg.hessian, zyg.diaghessian, lambda f, x: zyg.hvp(f, x, U))
    ]
    assert all(r.flags.writeable for r in results)
    assert not any(np.shares_memory(r, x) for r in results for x in (X, U))


# Second derivatives


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def in_place(x):
    y = x * 1
    y[1:] *= y[:-1]
    y[::2] = np.sin(y[::2])
    np.add.at(y, [0, 0, 1], x)
    return np.sum(y**3)


def argument_written(x):
    x[0] *= x[1]
    x += np.sin(x[::-1])
    return np.sum(x**3)


def branches(x):
    y = 1.0
    for k in range(6):
        y = y * x[k % 3] if y < 1 else y - x[k % 3] ** 2
    return y


@pytest.mark.parametrize("f", [rosenbrock, in_place, argument_written, branches])
def test_second_derivatives_agree_and_are_symmetric(f):
    hessian = zyg.hessian(f, X)
    h = 1e-5
    differences = [
        (zyg.gradient(f, X + e)[0] - zyg.gradient(f, X - e)[0]) / (2 * h) for e in np.eye(3) * h
    ]
    np.testing.assert_allclose(hessian, differences, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(zyg.hvp(f, X, U), hessian @ U, rtol=1e-12)
    np.testing.assert_allclose(zyg.diaghessian(f, X), np.diag(hessian), rtol=1e-12)
    both = zyg.jacobian(lambda x: zyg.gradient(f, x)[0], X, mode="reverse")[0]
    np.testing.assert_allclose(both, hessian, rtol=1e-12, atol=1e-12)


def test_second_derivatives_keep_the_dtype():
    for verb in (zyg.hessian, zyg.diaghessian, lambda f, x: zyg.hvp(f, x, U)):
        assert verb(rosenbrock, SINGLE).dtype == np.float32


def test_second_derivatives_of_structures():
    d = {"a": X, "b": [2.0, "t"]}

    def f(d):
        return np.sum(d["a"] ** 2) * d["b"][0] ** 2

    mixed = 4 * 2.0 * X
    by_b = 2 * float(X @ X)
    same(
        zyg.hessian(f, d),
        {
            "a": {"a": 8 * np.eye(3), "b": [mixed, None]},
            "b": [{"a": mixed, "b": [by_b, None]}, None],
        },
    )
    same(zyg.diaghessian(f, d), {"a": np.full(3, 8.0), "b": [by_b, None]})
    same(
        zyg.hvp(f, d, {"a": U, "b": [3.0, None]}),
        {"a": 8 * U + 3 * mixed, "b": [float(mixed @ U) + 3 * by_b, None]},
    )
    same(zyg.hvp(f, d, {"a": None, "b": [1.0, None]}), {"a": mixed, "b": [by_b, None]})


def test_second_derivatives_of_overlapping_views():
    found = zyg.hessian(lambda p: np.sum(p[0] * p[1] ** 2), [X[:2], X[1:]])
    whole = np.array([[0, 2 * X[1], 0], [2 * X[1], 2 * X[0], 2 * X[2]], [0, 2 * X[2], 2 * X[1]]])
    parts = (slice(2), slice(1, 3))
    for i, rows in enumerate(parts):
        for j, columns in enumerate(parts):
            np.testing.assert_allclose(found[i][j], whole[rows, columns])


@pytest.mark.parametrize(
    ("x", "second"),
    [
        (2.0, 12.0),
        (2, 12.0),
        (np.float32(2), np.float32(12)),
        (np.array(2.0), np.array(12.0)),
        (Fraction(1, 3), Fraction(2)),
        (Decimal(2), Decimal(12)),
        (mpmath.mpf(2), mpmath.mpf(12)),
    ],
)
def test_second_derivatives_of_numbers(x, second):
    for found in (
        zyg.hessian(lambda x: x**3, x),
        zyg.diaghessian(lambda x: x**3, x),
        zyg.hvp(lambda x: x**3, x, 1),
    ):
        assert found == second
        assert type(found) is type(second)


def test_second_derivatives_of_integers():
    n = np.array([1, 2])
    for verb in (zyg.hessian, lambda f, x: np.diag(zyg.diaghessian(f, x))):
        np.testing.assert_array_equal(verb(lambda n: np.sum(n**3), n), np.diag([6.0, 12.0]))


@pytest.mark.parametrize("f", [np.sum, lambda x: 3.0, lambda x: np.max(x)])
def test_second_derivatives_that_vanish(f):
    np.testing.assert_array_equal(zyg.hessian(f, X), np.zeros((3, 3)))
    np.testing.assert_array_equal(zyg.diaghessian(f, X), np.zeros(3))
    np.testing.assert_array_equal(zyg.hvp(f, X, U), np.zeros(3))


def test_second_derivatives_of_nothing():
    nothing = np.zeros(0)
    assert zyg.hessian(np.sum, nothing).shape == (0, 0)
    assert zyg.diaghessian(np.sum, nothing).shape == (0,)
    assert zyg.hvp(np.sum, nothing, nothing).shape == (0,)


def test_many_elements():
    x = np.arange(270.0)
    np.testing.assert_array_equal(zyg.hessian(lambda x: np.sum(x**3), x), np.diag(6 * x))
    np.testing.assert_array_equal(zyg.diaghessian(lambda x: np.sum(x**3), x), 6 * x)
    assert zyg.hessian(lambda x: np.sum(x**3), np.ones((2, 3))).shape == (2, 3, 2, 3)
    np.testing.assert_array_equal(
        zyg.diaghessian(lambda x: np.sum(x**3), np.ones((2, 3))), np.full((2, 3), 6.0)
    )


def test_hvp_of_a_complex_argument_is_the_derivative_of_its_gradient():
    def f(z):
        return np.sum(np.abs(z) ** 4)

    v = np.array([1j, 2 - 1j])
    h = 1e-6
    expected = (zyg.gradient(f, Z + h * v)[0] - zyg.gradient(f, Z - h * v)[0]) / (2 * h)
    np.testing.assert_allclose(zyg.hvp(f, Z, v), expected, rtol=1e-7)


def test_hvp_of_a_direction_that_does_not_fit():
    with pytest.raises(StructureError, match=r"tangent of shape \(2,\) does not fit argument 0"):
        zyg.hvp(rosenbrock, X, U[:2])
    with pytest.raises(StructureError, match="complex tangent"):
        zyg.hvp(rosenbrock, X, 1j * U)
    np.testing.assert_array_equal(zyg.hvp(rosenbrock, X, None), np.zeros(3))


WIDE = np.random.default_rng(3).normal(size=(800, 12))


@pytest.mark.parametrize("x", [WIDE[0], {"w": WIDE[0, :9], "b": 0.3}])
@pytest.mark.parametrize("rows", [20, 800])
def test_hessians_by_rows_and_by_columns_agree(x, rows):
    called = []

    def f(x):
        called.append(1)
        w = np.append(x["w"], [x["b"]] * 3) if isinstance(x, dict) else x
        return np.sum(np.log(1 + np.exp(WIDE[:rows] @ w))) + np.prod(w)

    found = zyg.hessian(f, x)
    assert called == [1, 1]
    for mode in ("forward", "reverse"):
        (expected,) = zyg.jacobian(lambda x: zyg.gradient(f, x)[0], x, mode=mode)
        for a, b in zip(leaves_of(found), leaves_of(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)
            assert np.shape(a) == np.shape(b)


def leaves_of(x):
    return [y for part in x.values() for y in leaves_of(part)] if isinstance(x, dict) else [x]


@pytest.mark.parametrize(("n", "rows", "mode"), [
    (8, 800, "forward"), (12, 20, "forward"), (12, 800, "reverse"),
])  # fmt: skip
def test_a_hessian_goes_by_rows_where_arrays_are_large(monkeypatch, n, rows, mode):
    asked, jacobian = [], jacobians.jacobian

    def noted(f, x, mode):
        asked.append(mode)
        return jacobian(f, x, mode=mode)

    monkeypatch.setattr(jacobians, "jacobian", noted)
    zyg.hessian(lambda x: np.sum(np.exp(WIDE[:rows, :n] @ x)), WIDE[0, :n])
    assert asked == [mode]


def test_second_derivatives_need_a_number():
    for verb in (zyg.hessian, zyg.diaghessian, lambda f, x: zyg.hvp(f, x, U)):
        with pytest.raises(NonScalarOutputError, match=r"returned an array of shape \(3,\)"):
            verb(np.sin, X)


def test_second_derivatives_inside_gradients():
    def third(f):
        return np.stack([f(X + h) - f(X - h) for h in np.eye(3) * 1e-5]) / 2e-5

    for verb in (
        lambda x: np.sum(zyg.hvp(rosenbrock, x, U)),
        lambda x: np.sum(zyg.hessian(rosenbrock, x) @ U),
        lambda x: np.sum(zyg.diaghessian(rosenbrock, x) * U),
    ):
        np.testing.assert_allclose(zyg.gradient(verb, X)[0], third(verb), rtol=1e-6, atol=1e-4)
    assert zyg.hessian(lambda x: zyg.hessian(lambda y: y**4, x), 2.0) == 24.0
    assert zyg.gradient(lambda a: zyg.hessian(lambda x: a * x**3, 2.0), 3.0) == (12.0,)


# Complex derivatives


@pytest.mark.parametrize(
    ("f", "derivative"),
    [
        (np.sin, np.cos),
        (lambda z: z**3 - 1j * z, lambda z: 3 * z**2 - 1j),
        (lambda z: np.exp(1j * z) / z, lambda z: np.exp(1j * z) * (1j * z - 1) / z**2),
    ],
)
def test_holomorphic_functions(f, derivative):
    np.testing.assert_allclose(zyg.holomorphic(f, Z), np.diag(derivative(Z)), atol=1e-14)
    z = complex(Z[0])
    assert zyg.holomorphic(f, z) == pytest.approx(derivative(z))
    by_z, by_conjugate = zyg.wirtinger(f, Z.reshape(1, 2))
    assert by_z.shape == by_conjugate.shape == (1, 2, 1, 2)
    np.testing.assert_allclose(by_conjugate, 0, atol=1e-14)


WIRTINGER = {
    "conjugate": (np.conj, lambda z: 0, lambda z: 1),
    "real": (np.real, lambda z: 0.5, lambda z: 0.5),
    "imag": (np.imag, lambda z: -0.5j, lambda z: 0.5j),
    "abs": (np.abs, lambda z: np.conj(z) / abs(z) / 2, lambda z: z / abs(z) / 2),
    "square of abs": (lambda z: z * np.conj(z), np.conj, lambda z: z),
    "mixed": (lambda z: z**2 * np.conj(z), lambda z: 2 * z * np.conj(z), lambda z: z**2),
}


@pytest.mark.parametrize("name", WIRTINGER)
def test_both_complex_derivatives_and_the_refusal_of_one(name):
    f, by_z, by_conjugate = WIRTINGER[name]
    for z in (complex(Z[0]), np.complex128(Z[1]), np.array(Z[1])):
        found = zyg.wirtinger(f, z)
        np.testing.assert_allclose(found, (by_z(z), by_conjugate(z)), atol=1e-14)
    found = zyg.wirtinger(f, Z)
    np.testing.assert_allclose(found[0], np.diag(by_z(Z) + 0 * Z), atol=1e-14)
    np.testing.assert_allclose(found[1], np.diag(by_conjugate(Z) + 0 * Z), atol=1e-14)
    with pytest.raises(HolomorphicError) as caught:
        zyg.holomorphic(f, Z)
    text = str(caught.value)
    assert "is not holomorphic at this point" in text
    assert "zyg.wirtinger(f, z)" in text
    assert "test_jacobians.py" in text


@pytest.mark.parametrize("z", [1.0, X, [1j, 2.0], 3, {"a": Z, "b": X}])
def test_complex_derivatives_by_real_arguments_are_refused(z):
    for verb in (zyg.holomorphic, zyg.wirtinger):
        with pytest.raises(HolomorphicError, match="argument of a complex derivative is not compl"):
            verb(lambda z: z, z)


def test_complex_derivatives_in_structures():
    same(zyg.holomorphic(lambda z: {"a": z * z, "b": [z, 1]}, 1j), {"a": 2j, "b": [1 + 0j, 0j]})
    by_z, by_conjugate = zyg.wirtinger(lambda d: d["a"] * np.conj(d["b"]), {"a": 1j, "b": 2j})
    assert by_z == {"a": -2j, "b": 0j}
    assert by_conjugate == {"a": 0j, "b": 1j}


def test_complex_derivatives_of_single_precision_and_of_nothing():
    z = Z.astype(np.complex64)
    assert zyg.holomorphic(np.sin, z).dtype == np.complex64
    assert [d.dtype for d in zyg.wirtinger(np.conj, z)] == [np.complex64] * 2
    assert zyg.holomorphic(np.sin, Z[:0]).shape == (0, 0)
    assert zyg.holomorphic(lambda z: 3.0, 1j) == 0


def test_complex_numbers_of_mpmath():
    assert zyg.holomorphic(lambda z: z**3, mpmath.mpc(1, 1)) == mpmath.mpc(0, 6)
    with pytest.raises(HolomorphicError):
        zyg.holomorphic(lambda z: z * z.conjugate(), mpmath.mpc(1, 1))


def test_a_derivative_that_is_not_finite_is_not_holomorphic():
    with pytest.raises(HolomorphicError, match="with respect to z is nan"):
        zyg.holomorphic(lambda z: z * np.nan, 1j)


def test_complex_derivatives_inside_others():
    assert zyg.gradient(lambda a: np.real(zyg.holomorphic(lambda z: a * z**2, 1 + 1j)), 3.0) == (
        2.0,
    )
    assert zyg.holomorphic(lambda z: zyg.holomorphic(lambda w: w**3, z), 1j) == 6j


# forwarddiff


def power(x):
    y = 1.0
    for _ in range(5):
        y = y * x
    return y


def test_forwarddiff_is_f():
    assert zyg.forwarddiff(power, 2.0) == 32.0
    assert zyg.gradient(lambda x: zyg.forwarddiff(power, x), 2.0) == (80.0,)


def test_forwarddiff_to_third_order_in_all_modes():
    def by(f, mode):
        if mode == "reverse":
            return lambda x: zyg.gradient(f, x)[0]
        return lambda x: zyg.pushforward(f, (x,), (1.0,))[1]

    def f(x):  # what is done with it is not linear
        return zyg.forwarddiff(power, x) ** 2 * x

    for modes in np.ndindex(2, 2, 2):
        g = f
        for order, mode in enumerate(modes):
            g = by(g, ("reverse", "forward")[mode])
            assert g(1.5) == pytest.approx(np.prod(np.arange(11 - order, 12)) * 1.5 ** (10 - order))


def test_forwarddiff_keeps_the_gradients_of_the_closure():
    def f(x, a):
        return np.sum(zyg.forwarddiff(lambda v: a * v**3, x) ** 2)

    x_bar, a_bar = zyg.gradient(f, X, U)
    np.testing.assert_allclose(x_bar, 6 * U**2 * X**5)
    np.testing.assert_allclose(a_bar, 2 * U * X**6)
    mixed = zyg.hessian(lambda p: f(p[0], p[1]), [X, U])
    np.testing.assert_allclose(mixed[0][1], np.diag(12 * U * X**5), atol=1e-12)
    np.testing.assert_allclose(mixed[1][1], np.diag(2 * X**6), atol=1e-12)
    assert zyg.gradient(lambda x: zyg.forwarddiff(lambda v: v * x, x), 3.0) == (6.0,)


@pytest.mark.parametrize("outer", MODES)
@pytest.mark.parametrize("inner", MODES)
def test_forwarddiff_keeps_the_levels_that_are_newer_than_its_argument(outer, inner):
    def slope(f, x, mode):
        if mode == "forward":
            return zyg.pushforward(f, (x,), (1.0,))[1]
        return zyg.gradient(f, x)[0]

    def f(x, p):
        return zyg.forwarddiff(lambda v: np.sin(v * p) * v + p, x) * p

    def by_p(x):
        return slope(lambda p: f(x, p), 2.0, inner)

    h = 1e-5
    expected = (by_p(0.7 + h) - by_p(0.7 - h)) / (2 * h)
    assert slope(by_p, 0.7, outer) == pytest.approx(expected, rel=1e-8)
    x, p = np.array([0.7, 0.2]), np.array([2.0, -1.0])
    mixed = zyg.jacobian(lambda x: zyg.jacobian(lambda p: f(x, p), p, mode=inner)[0], x, mode=outer)
    whole = zyg.hessian(lambda q: np.sum(np.sin(q[0] * q[1]) * q[0] * q[1] + q[1] ** 2), [x, p])
    np.testing.assert_allclose(np.sum(mixed[0], axis=0), whole[1][0], rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda v: np.sum(np.abs(v**2) ** 2), Z),
        (lambda v: np.sum((v * np.conj(v) * np.real(v)).real), Z),
        (lambda v: np.sum(np.real(np.exp(1j * v) * (1 + 2j))), X),
        (lambda v: np.abs(v * (1 + 2j)), 0.5 - 1j),
        (lambda v: v**3, 2),
        (lambda v: np.sum(v**3), np.array([1, 2])),
        (lambda v: np.sum(np.sin(v)), SINGLE),
        (lambda v: np.sum(v), np.zeros(0)),
        (lambda v: np.sum(v[:0]), X),
        (lambda v: np.sin(v), np.array(1.0)),
        (lambda v: v**3, Fraction(1, 3)),
        (lambda v: np.sum(v**2), np.arange(130.0)),
        (lambda v: np.sum(v[0] * v[1]), [X[:2], X[1:]]),
        (lambda v: np.sum(v["a"]) * v["b"][0], {"a": X, "b": [2.0, "s"]}),
    ],
)
def test_forwarddiff_of_any_argument(f, x):
    same(zyg.gradient(lambda x: zyg.forwarddiff(f, x), x), zyg.gradient(f, x))


def test_forwarddiff_gives_any_structure():
    def f(x):
        made = zyg.forwarddiff(lambda v: {"a": v * v, "b": [v[0], "s", None, 3]}, x)
        assert made["b"][1:] == ["s", None, 3]
        return np.sum(made["a"]) * made["b"][0]

    np.testing.assert_allclose(
        zyg.gradient(f, X)[0], zyg.gradient(lambda x: np.sum(x * x) * x[0], X)[0]
    )


def test_forwarddiff_calls_f_once_for_256_numbers():
    calls = []

    def f(v):
        calls.append(1)
        return v * 2

    for n, expected in ((3, 1), (256, 1), (257, 2), (520, 3)):
        calls.clear()
        zyg.gradient(lambda x: np.sum(zyg.forwarddiff(f, x)), np.arange(float(n)))
        assert len(calls) == expected


def test_forwarddiff_puts_nothing_of_f_on_the_tape():
    seen = []

    def f(v):
        for _ in range(100):
            v = v * 1.01
        return v

    def loss(x):
        y = zyg.forwarddiff(f, x)
        seen.append(len(x.strand.tape))
        return y

    zyg.gradient(loss, 1.0)
    assert seen[0] <= 3 * 5


def test_forwarddiff_refuses_writes_to_the_argument():
    def f(x):
        y = x * 1.0
        r = zyg.forwarddiff(lambda v: v.__setitem__(0, 5.0) or v * v, y)
        return np.sum(r) + np.sum(y)

    for x in (X, [X[:2], X[1:]]):
        with pytest.raises(ValueError, match="read-only"):
            zyg.gradient(
                f
                if x is X
                else lambda p: np.sum(
                    zyg.forwarddiff(lambda v: v[0].__setitem__(0, 5.0) or v[0], p)
                ),
                x,
            )


def test_the_hessian_of_an_object_is_named_after_it_and_has_its_fields_only():
    class Pair:
        def __init__(self):
            self.a, self.b = 2.0, 3.0

    for f in (lambda p: p.a**2 * p.b, lambda p: zyg.checkpoint(lambda: p.a**2 * p.b)):
        h = zyg.hessian(f, Pair())

        assert h == zyg.Tangent(
            "Pair", a=zyg.Tangent("Pair", a=6.0, b=4.0), b=zyg.Tangent("Pair", a=4.0, b=0.0)
        )
        assert set(vars(h)) == {"a", "b"}
    (j,) = zyg.jacobian(lambda p: zyg.gradient(lambda p: p.a * p.b, p)[0], Pair(), mode="reverse")
    assert j.a == zyg.Tangent("Pair", a=0.0, b=1.0)


DRAWS = np.random.default_rng(3)


def drawn(x):
    return x * DRAWS.normal()


def drawn_squares(x):
    return np.sum(drawn(x) * x)


@pytest.mark.parametrize("diagonal", [
    lambda x: np.diag(zyg.jacobian(drawn, x, mode="forward")[0]),
    lambda x: np.diag(zyg.hessian(drawn_squares, x)), lambda x: zyg.diaghessian(drawn_squares, x),
    lambda x: zyg.gradient(lambda x: np.sum(zyg.forwarddiff(drawn, x)), x)[0],
    lambda x: np.diag(zyg.wirtinger(drawn, x[:9] + 0j)[0]),
])  # fmt: skip
def test_all_columns_are_of_one_draw(diagonal):
    before = DRAWS.bit_generator.state["state"]
    found = diagonal(np.linspace(0.1, 1.0, 600))
    np.testing.assert_allclose(found, found[0], rtol=1e-12)
    assert DRAWS.bit_generator.state["state"] != before


def test_columns_of_different_functions_are_refused():
    calls = itertools.count(1)

    def impure(x):
        return x * next(calls)

    with pytest.raises(AdjointError, match="impure gave another value when it was called again"):
        zyg.jacobian(impure, np.ones(300), mode="forward")
