"""What solvers say of their results: it is looked at, and no derivative of it is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import eye_array

import zyg
from zyg.errors import MissingRuleError
from zyg.scipy import integrate, optimize
from zyg.scipy.sparse import linalg

REFUSED = pytest.raises(MissingRuleError, match="norms and estimates")


def area(p):
    return integrate.quad(lambda x: np.exp(p * x), 0.0, 1.0)


def residuals(p):
    return optimize.least_squares(lambda x: x * x - p, [1.0])


NUMBERS = {
    "quad": lambda p: area(p)[1],
    "quad_vec": lambda p: integrate.quad_vec(lambda x: np.exp(p * x), 0.0, 1.0)[1],
    "nquad": lambda p: integrate.nquad(lambda x: np.exp(p * x), [(0.0, 1.0)])[1],
    "dblquad": lambda p: integrate.dblquad(lambda y, x: p * x * y, 0, 1, 0, 1)[1],
    "tanhsinh": lambda p: integrate.tanhsinh(lambda x: np.exp(p * x), 0.0, 1.0).error,
    "nsum": lambda p: integrate.nsum(lambda k: np.exp(-p * k), 0.0, np.inf).error,
    "cubature": lambda p: integrate.cubature(lambda x: np.exp(p * x[:, 0]), [0.0], [1.0]).error,
    "a region": lambda p: integrate.cubature(
        lambda x: np.exp(p * x[:, 0]), [0.0], [1.0]
    ).regions[0].estimate,
    "odeint": lambda p: integrate.odeint(
        lambda y, t: -p * y, [1.0], [0.0, 1.0], full_output=True
    )[1]["hu"][0],
    "least_squares": lambda p: residuals(p).optimality,
    "minimize": lambda p: optimize.minimize(
        lambda x: np.sum((x - p) ** 2), [1.0], method="trust-constr"
    ).tr_radius,
    "lsq_linear": lambda p: optimize.lsq_linear(np.eye(2), p * np.ones(2)).optimality,
    "lsqr": lambda p: linalg.lsqr(eye_array(2), p * np.ones(2))[4],
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_no_derivative_of_an_estimate_is_none_or_zero(name):
    f = NUMBERS[name]

    for use in (f, lambda p: p + np.sum(f(p))):
        with REFUSED:
            zyg.gradient(use, 2.0)
        with REFUSED:
            zyg.pushforward(use, (2.0,), (1.0,))
    assert isinstance(f(2.0), (float, np.ndarray))


def test_errors_can_be_looked_at():
    def careful(p):
        y, error = area(p)
        assert error < 1e-8 and error > -1 and error != 1 and bool(error)  # noqa: PT018
        plain = area(zyg.primal(p))[1]
        assert f"{error:.1e}" == f"{plain:.1e}"
        assert (repr(error), str(error)) == (repr(plain), str(plain))
        assert (max(error, 1e-3), int(error)) == (1e-3, 0)
        assert type(zyg.primal(error)) is float
        assert zyg.primal([error]) == [plain]
        return y

    assert zyg.gradient(careful, 2.0)[0] == pytest.approx((np.exp(2.0) + 1.0) / 4.0)
    zyg.check_gradient(careful, 2.0, order=1)


@pytest.mark.parametrize(
    "use",
    [
        lambda e: e + 1, lambda e: 1 - e, lambda e: -e, lambda e: +e, lambda e: e % 2,
        lambda e: 2 // e, lambda e: round(e, 3), abs, float, complex, np.sqrt, np.array,
        lambda e: np.float64(2.0) * e, lambda e: np.maximum([1.0, 2.0], e), lambda e: e.real,
    ],
)  # fmt: skip
def test_errors_are_not_computed_with(use):
    with REFUSED:
        zyg.gradient(lambda p: area(p)[0] + 0.0 * abs(use(area(p)[1])), 2.0)


def test_arrays_tell_their_form():
    def f(p):
        found = optimize.minimize(lambda x: np.sum((x - p) ** 2), [1.0, 2.0])
        assert (found.jac.shape, found.jac.ndim, found.jac.dtype) == ((2,), 1, np.float64)
        assert str(found.jac) == str(zyg.primal(found.jac))
        assert "jac: " in str(found)
        return found.x[0] + found.jac.sum()

    with REFUSED:
        zyg.gradient(f, 2.0)


def test_beside_a_loss_they_are_plain():
    (value, error), slopes = zyg.value_and_gradient(area, 2.0)
    assert (value, error) == area(2.0)
    assert type(error) is float
    assert slopes == zyg.gradient(lambda p: area(p)[0], 2.0)

    def loss(p):
        found = residuals(p)
        return found.x[0], found

    (_, found), _ = zyg.value_and_gradient(loss, 2.0)
    plain = residuals(2.0)
    assert found.optimality == plain.optimality
    assert {k: type(v) for k, v in found.items()} == {k: type(v) for k, v in plain.items()}


def test_beside_the_loss_of_an_inner_gradient_they_are_not():
    def inner(p):
        (_, error), _ = zyg.value_and_gradient(lambda q: area(p * q), 1.0)
        return error + p

    with REFUSED:
        zyg.gradient(inner, 2.0)


def test_a_cotangent_of_an_estimate_is_refused():
    _, back = zyg.pullback(area, 2.0)
    assert back((1.0, None)) == back((1.0, 0.0)) == zyg.gradient(lambda p: area(p)[0], 2.0)
    with REFUSED:
        back((None, 1.0))
    for mode in ("forward", "reverse", "auto"):
        with REFUSED:
            zyg.jacobian(area, 2.0, mode=mode)


def test_results_pass_through_functions_and_checkpoints():
    def f(p):
        found = zyg.checkpoint(residuals, p)
        area, _ = integrate.quad(lambda x: x * found.x[0], 0.0, 2.0)
        return area + zyg.checkpoint(lambda found: found.x[0], found)

    assert zyg.gradient(f, 2.0)[0] == pytest.approx(3 * 0.5 / np.sqrt(2.0))
    with REFUSED:
        zyg.gradient(lambda p: zyg.checkpoint(lambda p: area(p)[1], p), 2.0)


@given(st.floats(0.1, 10.0), st.floats(0.1, 10.0))
def test_where_no_gradient_runs_any_more_they_are_numbers(p, other):
    seen = []
    zyg.gradient(lambda p: seen.extend(area(p)) or seen[0], p)
    error, plain = seen[1], area(p)[1]

    assert error + other == plain + other
    assert other / error == other / plain
    assert np.sqrt(error) == np.sqrt(plain)
    assert float(error) == plain
    assert np.array_equal(error * np.ones(2), plain * np.ones(2))
    with REFUSED:
        zyg.gradient(lambda x: x * error, other)
