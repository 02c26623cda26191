"""SciPy's solvers over structures: as SciPy over vectors with derivatives by hand."""

import re
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import rosen, rosen_der, rosen_hess

import zyg
from zyg.errors import (
    ComplexOutputError,
    ConversionError,
    MissingRuleError,
    NonScalarOutputError,
    OptimizationError,
    StructureError,
)

minimize = zyg.optimize.minimize
START = {"w": np.zeros((2, 2)), "b": 0.5}


def bowl(p):
    return np.sum((p["w"] - 1.0) ** 2) + (p["b"] - 2.0) ** 2


def valley(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


METHODS = (
    None, "BFGS", "L-BFGS-B", "CG", "TNC", "SLSQP", "Newton-CG", "dogleg", "trust-ncg",
    "trust-krylov", "trust-exact", "trust-constr", "Powell", "COBYLA", "COBYQA",
)  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_the_derivatives_that_it_takes_and_no_others(method):
    found = minimize(bowl, START, method=method)  # SciPy warns of those that it does not use
    np.testing.assert_allclose(found.x["w"], np.ones((2, 2)), atol=1e-3)
    assert found.x["b"] == pytest.approx(2.0, abs=1e-3)
    assert type(found.x["b"]) is float
    assert START["b"] == 0.5


def test_the_steps_are_scipys():
    start = np.array([1.2, 1.1, 0.9])
    for method in ("L-BFGS-B", "trust-exact", "Nelder-Mead"):
        jac, hess = {
            "L-BFGS-B": (rosen_der, None),
            "trust-exact": (rosen_der, rosen_hess),
            "Nelder-Mead": (None, None),
        }[method]
        theirs = scipy.optimize.minimize(rosen, start, method=method, jac=jac, hess=hess)
        ours = minimize(valley, start, method=method)
        assert ours.nfev == theirs.nfev
        np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-6)


def test_one_evaluation_for_value_and_gradient():
    calls = []
    found = minimize(lambda p: calls.append(1) or bowl(p), START)
    assert len(calls) == found.nfev == found.njev


@dataclass(frozen=True)
class Line:
    slope: float
    offsets: np.ndarray
    name: str = "line"


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("start", "f", "solution"),
    [
        (1, lambda x: (x - 3.0) ** 2, 3.0),
        (np.array(1.0), lambda x: (x - 3.0) ** 2, np.array(3.0)),
        ([0.0, 1], lambda x: np.sum((x - 3.0) ** 2), np.array([3.0, 3.0])),
        (np.ones((1, 2)), lambda x: np.sum((x - 3.0) ** 2), np.full((1, 2), 3.0)),
        (np.ones(2, np.float32), lambda x: np.sum((x - 3) ** 2), np.full(2, 3, np.float32)),
        (np.zeros(2, complex), lambda z: np.sum(abs(z - 1j) ** 2), np.full(2, 1j)),
        (Pair(0.0, [np.ones(1)]), lambda p: (p.a - 1) ** 2 + p.b[0][0] ** 2, Pair(1.0, [[0.0]])),
    ],
)
def test_x_has_the_structure_of_the_start(start, f, solution):
    def checked(x):
        assert isinstance(x, Pair) or np.shape(x) == np.shape(start)
        return f(x)

    x = minimize(checked, start).x
    assert type(x) is type(solution)
    if isinstance(x, Pair):
        assert type(x.b) is list
        x, solution = [x.a, x.b[0][0]], [1.0, 0.0]
    else:
        assert np.asarray(x).dtype == np.asarray(solution).dtype
    np.testing.assert_allclose(x, solution, atol=1e-4)


def test_objects_and_closures():
    def loss(line, target):
        return (line.slope - target) ** 2 + np.sum(line.offsets**2)

    found = minimize(loss, Line(0.0, np.ones(2)), args=(3.0,), bounds=Line((0.0, 2.0), None))
    assert type(found.x) is Line
    assert found.x.name == "line"
    assert found.x.slope == 2.0

    def model():
        weights = np.ones(2)
        return lambda x: weights @ x

    best = minimize(lambda m: (m(np.ones(2)) - 5.0) ** 2, model()).x
    assert best(np.ones(2)) == pytest.approx(5.0)


class Polynomial:
    def __init__(self):
        self.degree, self.c = 3, np.zeros(3)

    def __call__(self, x):
        return sum(self.c[k] * x**k for k in range(self.degree))


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "TNC"])
def test_an_int_that_only_counts_goes_on_counting(method):
    x = np.linspace(-1.0, 1.0, 5)
    found = minimize(lambda m: np.sum((m(x) - x**2 - 1.0) ** 2), Polynomial(), method=method)
    assert found.x.degree == 3
    assert type(found.x.degree) is int
    np.testing.assert_allclose(found.x.c, [1.0, 0.0, 1.0], atol=1e-4)
    assert minimize(lambda p: (p["a"] - 2.5) ** 2, {"a": 0}).x["a"] == pytest.approx(2.5)


@pytest.mark.parametrize(
    "bounds",
    [
        {"w": (None, 0.5)},
        {"w": (-np.inf, np.full((2, 2), 0.5)), "b": None},
        {"w": np.broadcast_to([-1.0, 0.5], (2, 2, 2)), "b": [None, None]},
        {"w": [[(None, 0.5)] * 2] * 2, "b": (-9, 9)},
        [(None, 0.5)] * 4 + [(None, None)],
        scipy.optimize.Bounds(-np.inf, [0.5] * 4 + [np.inf]),
    ],
)
def test_bounds_by_structure_or_as_scipy_takes_them(bounds):
    found = minimize(bowl, START, bounds=bounds)
    np.testing.assert_array_equal(found.x["w"], np.full((2, 2), 0.5))
    assert found.x["b"] == pytest.approx(2.0)


def test_bounds_of_numbers_lists_and_residuals():
    assert minimize(lambda x: (x - 3.0) ** 2, 0.0, bounds=(0, 1)).x == 1.0
    found = minimize(
        lambda p: (p[0] - 3.0) ** 2 + np.sum(p[1] ** 2), [0.0, np.ones(2)], bounds=[(0, 1), None]
    )
    assert found.x[0] == 1.0
    found = zyg.optimize.least_squares(
        lambda p: [p["a"] - 3.0, p["b"]], {"a": 0.0, "b": 1.0}, bounds={"a": (0, 2)}
    )
    assert found.x["a"] == pytest.approx(2.0)


def test_bounds_of_an_array_met_twice():
    w = np.zeros(2)
    found = minimize(
        lambda p: np.sum((p["a"] + p["b"] - 9.0) ** 2),
        {"a": w, "b": w}, bounds={"a": (None, 1.0), "b": (-5.0, 2.0)},
    )  # fmt: skip
    assert found.x["a"] is found.x["b"]
    np.testing.assert_array_equal(found.x["a"], [1.0, 1.0])


def test_bounds_that_do_not_fit():
    def message(start, bounds):
        with pytest.raises(StructureError) as caught:
            minimize(bowl, start, bounds=bounds)
        return str(caught.value)

    assert "the top it needs no key 'c'" in message(START, {"w": (0, 1), "c": (0, 1)})
    assert "at .slope it needs a part" in message(Line(0.0, np.ones(2)), {"slope": (0, 1)})
    for pair in ((0, 1, 2), [(0, 1)] * 3, ("a", "b"), 1.0, np.zeros((1, 4, 2))):
        assert "the bounds at ['w'] do not fit an array of shape (2, 2)" in message(
            START, {"w": pair}
        )
    assert "complex numbers have no order" in message({"z": 1j}, {"z": (0, 1)})


def test_constraints_and_callbacks_see_the_structure():
    seen = []
    sum_to_one = {"type": "eq", "fun": lambda p: np.sum(p["w"]) - 1.0}
    found = minimize(bowl, START, constraints=sum_to_one, callback=seen.append)
    np.testing.assert_allclose(found.x["w"], np.full((2, 2), 0.25), atol=1e-6)
    assert {p["w"].shape for p in seen} == {(2, 2)}

    def told(intermediate_result):
        seen.append(intermediate_result.x["b"])
        raise StopIteration

    found = minimize(bowl, START, callback=told)
    assert found.nit == 1
    assert seen[-1] == found.x["b"]


def test_constraints_are_differentiated():
    traced = []

    def product(p):
        traced.append(zyg.is_traced(p["w"]))
        return p["w"][0] * p["w"][1]

    def norm(p):
        return np.sum(p["w"] ** 2)

    start = {"w": np.array([2.0, 1.0])}
    curved = scipy.optimize.NonlinearConstraint(product, 1.0, 1.0)
    equal = {"type": "eq", "fun": lambda p, c: product(p) - c, "args": (1.0,)}
    for method in ("SLSQP", "trust-constr"):
        for constraint in (curved, [curved], equal, (equal,)):
            traced.clear()
            found = minimize(norm, start, method=method, constraints=constraint)
            np.testing.assert_allclose(found.x["w"], [1.0, 1.0], atol=1e-3)
            assert True in traced
    for method in ("COBYLA", "COBYQA"):
        traced.clear()
        found = minimize(norm, start, method=method, constraints=curved)
        np.testing.assert_allclose(found.x["w"], [1.0, 1.0], atol=1e-2)
        assert True not in traced
    by_hand = {
        "type": "eq", "fun": lambda p: product(p) - 1.0, "jac": lambda p: p["w"][::-1].copy(),
    }  # fmt: skip
    traced.clear()
    found = minimize(norm, start, constraints=by_hand)
    np.testing.assert_allclose(found.x["w"], [1.0, 1.0], atol=1e-3)
    assert True not in traced
    assert curved.jac == "2-point"
    line = scipy.optimize.LinearConstraint([[1.0, 1.0]], 1.0, 1.0)
    found = minimize(norm, start, constraints=line)
    np.testing.assert_allclose(found.x["w"], [0.5, 0.5], atol=1e-6)


@pytest.mark.parametrize("start", [START, np.full(3, 1.2)])
@pytest.mark.parametrize("method", ["BFGS", "SLSQP", "Nelder-Mead", "trust-constr"])
def test_what_a_callback_raises_has_the_parameters_so_far(start, method):
    seen = []

    def stop(*given):
        seen.append(given[0])
        raise KeyError("enough")

    f = bowl if start is START else valley
    with pytest.raises(KeyError) as caught:
        minimize(f, start, callback=stop, method=method)
    assert caught.value.parameters is seen[0]
    assert "`parameters`" in caught.value.__notes__[0]


def test_roots_and_least_squares():
    def equations(p, c):
        return {"sum": p["a"] + p["b"] - 3, "product": p["a"] * p["b"] - c}

    for method in ("hybr", "lm", "krylov", "broyden1"):
        found = zyg.optimize.root(equations, {"a": 0.5, "b": 2.5}, (2.0,), method)
        assert found.x == pytest.approx({"a": 1.0, "b": 2.0}, abs=1e-4)
    for method in ("trf", "dogbox", "lm"):
        found = zyg.optimize.least_squares(
            equations, {"a": 0.5, "b": 3.0}, (2.0,), method, xtol=1e-12
        )
        assert found.x == pytest.approx({"a": 1.0, "b": 2.0})
        assert found.cost < 1e-20
    seen = []
    zyg.optimize.root(
        equations, {"a": 0.5, "b": 2.5}, (2.0,), "krylov", callback=lambda p, f: seen.append({*p})
    )
    assert seen[0] == {"a", "b"}


def test_a_minimum_is_differentiated():
    def bottom(c):
        f = lambda p: (p["a"] - c**2) ** 2 + c * p["b"] ** 2  # noqa: E731
        return minimize(f, {"a": 0.0, "b": 1.0}, bounds={"a": (0.0, 9.0)}).x["a"]

    assert zyg.gradient(bottom, 2.0) == pytest.approx((4.0,))
    assert zyg.gradient(
        lambda c: minimize(lambda x, c: (x - c**3) ** 2, 1.0, (c,)).x, 2.0
    ) == pytest.approx((12.0,))


def raised(error, *args, of=minimize, **options):
    with pytest.raises(error) as caught:
        of(*args, **options)
    return str(caught.value).splitlines()[0]


def test_a_start_from_which_nothing_can_go():
    solvers = minimize, zyg.optimize.least_squares, zyg.optimize.root
    for solver in solvers:
        name = f"zyg.optimize.{solver.__name__} was given a "
        for start in ({"name": "line"}, [], "x", None, np.zeros(0), {"w": np.zeros((0, 2))}):
            assert name + f"{type(start).__name__} without any number in it" in raised(
                StructureError, bowl, start, of=solver
            )
        assert name + "start with nan at ['b']" in raised(
            OptimizationError, bowl, {"w": np.zeros(3), "b": np.nan}, of=solver
        )
        assert "inf at [1]" in raised(OptimizationError, bowl, [0.0, np.inf], of=solver)
        assert "nanj at ['z']" in raised(
            OptimizationError, bowl, {"z": complex(0, np.nan), "b": 1j}, of=solver
        )


@pytest.mark.parametrize("method", ["BFGS", "Powell"])
def test_a_loss_that_is_not_one_real_number(method):
    def mine(p):
        return p["w"]

    assert "mine returned an array of shape (2, 2)" in raised(
        NonScalarOutputError, mine, START, method=method
    )
    error = ComplexOutputError if method == "BFGS" else NonScalarOutputError
    assert "returned a complex" in raised(error, lambda p: 1j * p["b"], START, method=method)
    assert "returned a tuple; a function that is minimized returns one real number" in raised(
        NonScalarOutputError, lambda p: (bowl(p), "aux"), START, method=method
    )


def test_derivatives_that_do_not_exist():
    @zyg.adjoint
    def once(x):  # its pullback cannot be differentiated
        def once_pullback(y_bar):
            return (y_bar * 2 * float(x),)

        return x**2, once_pullback

    def twice(p):
        return once(p["b"]) + bowl(p)

    assert minimize(twice, START).success
    for method in ("Newton-CG", "trust-exact"):
        assert "[conversion]" in raised(ConversionError, twice, START, method=method)
    assert "[no-rule]" in raised(
        MissingRuleError, lambda p: np.linalg.qr(p["w"], mode="raw")[0].sum(), START
    )
    with pytest.raises(ValueError, match="Unknown solver newtonian"):
        minimize(bowl, START, method="newtonian")


def test_a_method_of_ones_own():
    def descent(fun, x0, args, jac, **options):
        for _ in range(200):
            x0 = x0 - 0.1 * jac(x0)
        return scipy.optimize.OptimizeResult(x=x0, fun=fun(x0))

    assert minimize(bowl, START, method=descent).x["b"] == pytest.approx(2.0)


def test_the_bar(capsys, monkeypatch):
    pytest.importorskip("rich")
    found = minimize(bowl, START, progress=True)
    zyg.optimize.least_squares(lambda x: x - 3.0, [0.0, 1.0], progress=True)
    zyg.optimize.root(lambda x: x - 3.0, 1.0, progress=True, method="krylov")
    shown = capsys.readouterr().out
    assert re.search(rf"minimize .*{found.nfev}/\?", shown)
    assert "least_squares" in shown
    assert "root" in shown

    monkeypatch.setitem(__import__("sys").modules, "rich.progress", None)
    with pytest.raises(ImportError, match="pip install rich"):
        minimize(bowl, START, progress=True)
