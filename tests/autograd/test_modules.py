"""autograd's other modules: its NumPy and SciPy, `misc`, `util`; the name ``autograd`` itself."""

import importlib
import itertools
import subprocess
import sys
import textwrap

import numpy as onp
import pytest
import scipy.signal
import scipy.stats
import zyg.autograd.numpy.fft
import zyg.autograd.numpy.linalg
import zyg.autograd.numpy.random as npr
import zyg.autograd.scipy.linalg
import zyg.autograd.scipy.special as special
import zyg.autograd.scipy.stats.multivariate_normal as mvn
import zyg.autograd.scipy.stats.norm as norm
from zyg.autograd.numpy.linalg import solve
from zyg.autograd.scipy.special import logsumexp
from zyg.autograd.scipy.stats.norm import logpdf

import zyg
import zyg.autograd as autograd
import zyg.autograd.numpy as np
from zyg import errors
from zyg.autograd import grad
from zyg.autograd.misc import const_graph, flatten
from zyg.autograd.misc.fixed_points import fixed_point
from zyg.autograd.misc.flatten import flatten_func
from zyg.autograd.misc.optimizers import adam, rmsprop, sgd
from zyg.autograd.scipy.signal import convolve
from zyg.autograd.test_util import check_equivalent, check_grads, combo_check, scalar_close
from zyg.autograd.util import quick_grad_check, subvals
from zyg.autograd.wrap_util import unary_to_nary

X = onp.array([0.3, -1.2, 2.0])
RNG = onp.random.default_rng(0)


@pytest.fixture(autouse=True)
def _seeded():
    onp.random.seed(0)  # which autograd's checks draw from


# NumPy and SciPy


@pytest.mark.parametrize(
    "name", ["stack", "concatenate", "vstack", "hstack", "dstack", "column_stack"]
)
def test_functions_of_sequences_take_iterators(name):
    function = getattr(np, name)
    onp.testing.assert_array_equal(function(iter([X, X])), getattr(onp, name)([X, X]))
    onp.testing.assert_array_equal(function((X, X)), getattr(onp, name)((X, X)))
    assert grad(lambda x: np.sum(function(k * x for k in (1, 2))))(X).tolist() == [3.0] * 3


def test_lists_of_watched_numbers_are_arrays():
    assert grad(lambda x: np.sum(np.array([x, x**2, 1.0])))(3.0) == 7.0
    assert grad(lambda x: np.sum([x, x**2]))(3.0) == 7.0
    assert grad(lambda x: np.dot(np.array([[x, 0.0], [0.0, x]]), X[:2])[0])(3.0) == 0.3


def test_where_by_names():
    onp.testing.assert_array_equal(np.where(condition=X > 0, x=X, y=0.0), onp.maximum(X, 0))
    assert grad(lambda x: np.sum(np.where(x > 0, x=x**2, y=x)))(X).tolist() == [0.6, 1.0, 4.0]
    assert np.where(X > 0)[0].tolist() == [0, 2]
    made = np.where([True, False], [1.0, 2], [3.0, 4]), np.where(True, 1, 2.0)
    assert made == ([1.0, 4.0], 1.0)
    assert [*map(type, made)] == [list, float]
    assert type(np.where(onp.bool_(True), 1.0, 2.0)) is onp.ndarray


def test_modules_without_a_file_are_zygs():
    assert npr is zyg.numpy.random
    assert zyg.autograd.numpy.linalg is zyg.numpy.linalg
    assert special is zyg.scipy.special
    assert norm is zyg.scipy.stats.norm
    assert grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(X) == pytest.approx(6 * X)
    assert np.float64 is onp.float64
    assert np.pi == onp.pi


def test_distributions_and_special_functions():
    assert grad(logpdf, 1)(1.5, 0.5, 2.0) == 0.25
    assert grad(lambda x: norm.logcdf(x))(0.0) == pytest.approx(2 * scipy.stats.norm.pdf(0))
    onp.testing.assert_allclose(grad(logsumexp)(X), onp.exp(X) / onp.sum(onp.exp(X)))
    check_grads(lambda m: mvn.logpdf(X, m, onp.eye(3)), order=1)(onp.zeros(3))
    check_grads(lambda a: special.gammaln(a), order=2)(1.5)


@pytest.mark.parametrize("offset", [0, 2, -1])
@pytest.mark.parametrize("axes", [(0, 1), (-1, -2), (2, 0)])
def test_make_diagonal_goes_back_from_diagonal(offset, axes):
    def made(d):
        return np.make_diagonal(d, offset, *axes)

    d = onp.array([[1.0, onp.inf, 2.0], [3.0, 4.0, 5.0]])
    found = made(d)
    assert sorted(found.shape) == sorted((2, 3 + abs(offset), 3 + abs(offset)))
    onp.testing.assert_array_equal(onp.diagonal(found, offset, *axes), d)
    assert onp.count_nonzero(found) == 6
    zyg.check_gradient(made, RNG.normal(size=(2, 3)))
    assert made(onp.zeros((2, 0))).size == 2 * offset**2


def test_make_diagonal():
    onp.testing.assert_array_equal(np.make_diagonal(X, axis1=-1, axis2=-2), onp.diag(X))
    check_grads(lambda x: np.make_diagonal(x, axis1=-1, axis2=-2), order=1)(onp.ones((2, 3)))


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
@pytest.mark.parametrize("sizes", [(6, 3), (5, 2), (4, 4), (3, 5)])
def test_convolutions_along_all_axes_are_scipys(mode, sizes):
    a, b = (RNG.normal(size=n) for n in sizes)
    onp.testing.assert_allclose(convolve(a, b, mode=mode), scipy.signal.convolve(a, b, mode))
    a, b = RNG.normal(size=(6, 5)), RNG.normal(size=(2, 3))
    onp.testing.assert_allclose(convolve(a, b, mode=mode), scipy.signal.convolve(a, b, mode))


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_convolutions_along_some_axes(mode):
    a, b = RNG.normal(size=(2, 5, 4, 3)), RNG.normal(size=(2, 4, 2, 3, 2))
    y = convolve(a, b, axes=([1, 2], [2, 4]), dot_axes=([0, 3], [0, 3]), mode=mode)
    for k in range(4):
        parts = [
            scipy.signal.convolve(a[i, :, :, j], b[i, k, :, j, :], mode)
            for i, j in itertools.product(range(2), range(3))
        ]
        onp.testing.assert_allclose(y[k], sum(parts))
    a, b = RNG.normal(size=(2, 5)), RNG.normal(size=(3, 2))
    y = convolve(a, b, axes=([1], [1]), mode=mode)
    assert y.shape[:2] == (2, 3)
    onp.testing.assert_allclose(y[1, 2], scipy.signal.convolve(a[1], b[2], mode))
    y = convolve(a, b.T, axes=([], []), dot_axes=([0], [0]), mode=mode)
    onp.testing.assert_allclose(y, a.T @ b.T)
    combo_check(convolve, (0, 1), order=1)([a], [b], axes=[([1], [1])], mode=[mode])


# misc and util


def test_flatten_goes_both_ways():
    value = (1.0, onp.ones((2, 3)), [X, {"x": 2.0, "y": ()}])
    vector, unflatten = flatten(value)
    assert vector.shape == (11,)
    check_equivalent(unflatten(vector), value)
    assert flatten(())[0].shape == (0,)
    assert flatten(())[1](onp.zeros(0)) == ()
    assert grad(lambda x, y: np.sum(flatten([x, y])[0] * 2.0))(1.0, 2.0) == 2.0
    f, unflatten, vector = flatten_func(lambda p, k: {"b": k * p["a"]}, {"a": X})
    onp.testing.assert_array_equal(f(vector, 3.0), 3 * X)
    onp.testing.assert_array_equal(unflatten(vector)["a"], X)


@pytest.mark.parametrize("optimizer", [sgd, rmsprop, adam])
def test_optimizers_find_a_minimum(optimizer):
    seen = []

    def gradient(p, i):
        return {"a": 2 * (p["a"] - X), "b": (2 * (p["b"][0] - 1.5),)}

    start = {"a": onp.zeros(3), "b": (0.0,)}
    found = optimizer(gradient, start, lambda *now: seen.append(now), 120, step_size=0.1)
    onp.testing.assert_allclose(flatten(found)[0], [*X, 1.5], atol=0.05)
    assert [i for _, i, _ in seen] == [*range(120)]
    check_equivalent(seen[0][0], start)
    check_equivalent(seen[0][2], gradient(start, 0))


def test_the_first_steps_of_optimizers_are_those_of_their_formulas():
    def constant(x, i):
        return 0.0 * x + onp.array([2.0, -1.0])

    start, g = onp.zeros(2), onp.array([2.0, -1.0])
    onp.testing.assert_allclose(sgd(constant, start, None, 1, 0.1, 0.9), -0.1 * 0.1 * g)
    needed = -0.1 * (0.1 + 0.19) * g
    onp.testing.assert_allclose(sgd(constant, start, num_iters=2, step_size=0.1), needed)
    needed = -0.1 * g / (onp.sqrt(0.9 + 0.1 * g**2) + 1e-8)
    onp.testing.assert_allclose(rmsprop(constant, start, num_iters=1), needed)
    onp.testing.assert_allclose(adam(constant, start, num_iters=3), -0.003 * onp.sign(g))
    assert sgd(constant, start).shape == (2,)


@pytest.mark.parametrize("optimizer", [sgd, rmsprop, adam])
def test_a_gradient_of_another_length_is_refused(optimizer):
    with pytest.raises(errors.StructureError, match=r"an array of shape \(1,\)"):
        optimizer(lambda x, i: 2.0, onp.zeros(2), num_iters=1)


def test_a_fixed_point_has_the_derivative_of_the_solution():
    def newton(a):
        return lambda x: 0.5 * (x + a / x)

    def root(a):
        return fixed_point(newton, a, 1.0, lambda x, y: np.abs(x - y), 1e-10)

    assert root(2.0) == pytest.approx(2**0.5)
    assert grad(root)(2.0) == pytest.approx(0.5 * 2**-0.5)


def test_small_helpers():
    calls = []
    wrapped = const_graph(lambda x, y: calls.append(x) or x * y, 2.0)
    assert grad(wrapped)(3.0) == 2.0
    assert subvals((1, 2, 3), [(0, 5), (2, 7)]) == (5, 2, 7)
    quick_grad_check(lambda x, y: x**2 + y, 1.0, (2.0,))
    seen = []
    quick_grad_check(lambda x, y, *, by: seen.append(by) or x * y, 1.0, (2.0,), {"by": 3.0}, False)
    assert {*seen} == {3.0}
    assert scalar_close(1.0, 1.0 + 1e-7)
    assert not scalar_close(1.0, 1.0 + 1e-5)
    with pytest.raises(AssertionError, match="VSpace"):
        check_equivalent(1.0, X)
    with pytest.raises(AssertionError):
        check_equivalent(X, 2 * X)
    doubled = unary_to_nary(lambda f, x, by=2.0: f(by * x))
    assert doubled(lambda x, y: x - y, 1, by=3.0)(10.0, 2.0) == 4.0


def test_pythons_containers_are_used_as_they_are():
    def f(x):
        made = autograd.dict([("a", x)], b=autograd.list((x, x)))
        assert autograd.isinstance(x, float)
        assert autograd.type(x) is onp.float64
        assert autograd.isinstance(made, autograd.dict)
        return autograd.tuple(made["b"])[1] * made["a"]

    assert grad(f)(3.0) == 6.0
    inner = lambda x: np.sum(np.array(grad(lambda y: y[0] * y[1])(autograd.tuple((x, x)))))  # noqa: E731
    assert grad(inner)(5.0) == 2.0


# Names that are not there


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("ArrayVSpace", autograd.core),
        ("Node", autograd.tracer),
        ("balanced_eq", np.numpy_vjps),
        ("no_such_name", np),
        ("no_such_name", special),
        ("no_such_name", autograd.misc),
    ],
)
def test_a_missing_name_raises_an_attribute_error(name, module):
    with pytest.raises(AttributeError, match=name):
        getattr(module, name)


def test_a_missing_import_raises_zygs_error():
    with pytest.raises(errors.AdoptionError, match=r"zyg.autograd.tracer has no Node") as caught:
        from zyg.autograd.tracer import Node  # noqa: F401
    assert "fix:   use zyg.pullback" in str(caught.value)
    with pytest.raises(ImportError, match="no_such_name"):
        from zyg.autograd.numpy import no_such_name  # noqa: F401
    for name in ("no_such_module", "scipy.no_such", "numpy.no_such", "scipy.stats.no_such"):
        with pytest.raises(errors.AdoptionError, match=rf"there is no zyg.autograd.{name}"):
            importlib.import_module(f"zyg.autograd.{name}")


def run(program):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_libraries_that_import_autograd_get_zygs():
    run(
        """
        import zyg.autograd
        zyg.autograd.install()
        zyg.autograd.install()
        import autograd, autograd.numpy as np, autograd.numpy.random as npr
        import autograd.scipy.stats.norm as norm
        from autograd import grad
        from autograd.scipy.special import gammaln
        from autograd.misc.optimizers import adam
        import autograd.numpy.linalg
        assert autograd is zyg.autograd and grad is zyg.autograd.grad
        assert autograd.numpy is np is zyg.autograd.numpy
        assert grad(lambda x: np.sum(gammaln(x) + norm.logpdf(x)))(np.ones(2)).shape == (2,)
        for name in ("autograd.no_such", "autograd.numpy.no_such"):
            try:
                __import__(name)
            except ImportError as error:
                assert "there is no zyg.autograd." in str(error) and "fix:" in str(error), error
            else:
                raise AssertionError(name)
        """
    )


@pytest.mark.slow
def test_autograd_itself_must_not_be_there_already():
    run(
        """
        import sys, types
        sys.modules["autograd"] = types.ModuleType("autograd")
        import zyg
        try:
            zyg.autograd.install()
        except zyg.errors.AdoptionError as error:
            assert "came after the import of autograd" in str(error)
        else:
            raise AssertionError
        """
    )


@pytest.mark.slow
def test_without_install_autograd_is_not_touched():
    run(
        """
        import sys, zyg.autograd.numpy
        assert "autograd" not in sys.modules
        """
    )


def test_solve_from_its_module():
    check_grads(solve, (0, 1), order=1)(onp.eye(3) + 0.1, X)
