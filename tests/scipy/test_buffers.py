"""On buffers that hold nothing watched, SciPy's functions and classes are SciPy's own."""

from array import array

import numpy as np
import pytest
import scipy.ndimage
import scipy.sparse.linalg
from scipy import interpolate, linalg, optimize, signal, stats
from scipy.spatial import transform

import zyg
import zyg.numpy as znp
import zyg.scipy as zscipy
from zyg.errors import MissingRuleError, MutationError
from zyg.scipy import ndimage as zndimage
from zyg.scipy import sparse as zsparse
from zyg.scipy.spatial import transform as ztransform

A = np.array([[2.0, 1.0], [0.5, 3.0]])
B = np.array([1.0, 2.0])


def inside(f):
    """What f gives in a gradient, in which `A` and `B` are buffers."""
    found = []

    def run(x):
        found.append(f(znp.array(A), znp.array(B)))
        return x

    assert zyg.gradient(run, 1.0) == (1.0,)
    return found[0]


CALLS = [
    (linalg.eig, lambda a, b: (a, None, True, True)),
    (linalg.signm, lambda a, b: (a,)),
    (linalg.solve, lambda a, b: (a, b)),
    (signal.welch, lambda a, b: (b, 1.0, "hann", 2, 1, None, False)),
    (signal.find_peaks, lambda a, b: (b,)),
    (stats.linregress, lambda a, b: (b, a[0])),
    (stats.sem, lambda a, b: (b, None, 0, "omit")),
    (optimize.nnls, lambda a, b: (a, b)),
]


@pytest.mark.parametrize(("function", "arguments"), CALLS, ids=lambda c: getattr(c, "__name__", ""))
def test_what_a_rule_does_not_know_is_scipys(function, arguments):
    package = function.__module__.split(".")[1]
    ours = getattr(getattr(zscipy, package), function.__name__)
    expected = function(*arguments(A, B))
    found = inside(lambda a, b: ours(*arguments(a, b)))
    assert type(found) is type(expected) or not isinstance(expected, tuple)
    np.testing.assert_equal(found, expected)


def test_a_solver_whose_function_holds_buffers_alone_gives_scipys_result():
    def solve(a, b, least_squares=optimize.least_squares):
        bounds = np.array([0.0, 0.0]), b
        return least_squares(lambda x: a @ x - b, [0.1, 0.2], loss="soft_l1", bounds=bounds)

    expected = solve(A, B)
    found = inside(lambda a, b: solve(a, b, zscipy.optimize.least_squares))
    assert type(found.jac) is np.ndarray
    np.testing.assert_equal(found.x, expected.x)


def test_a_filter_whose_function_holds_buffers_alone_gives_scipys_result():
    image = np.arange(12, dtype=np.int8).reshape(3, 4)

    def weighed(a, b, module):
        return module.generic_filter(image, lambda row: np.sum(row * b), footprint=a > 0.9)

    b = np.array([1.0, 2.0, 3.0])
    expected = weighed(A, b, scipy.ndimage)
    np.testing.assert_equal(inside(lambda a, _: weighed(a, znp.array(b), zndimage)), expected)


def test_a_list_that_a_solver_fills_is_the_users():
    def solve(a, b):
        filled = []
        zsparse.linalg.lgmres(a, b, outer_k=2, maxiter=3, outer_v=filled, inner_m=1)
        return len(filled)

    assert inside(solve) > 0


@pytest.mark.parametrize("how", ["rng", "seed", "by place"])
def test_a_seed_means_in_a_gradient_what_it_means_to_scipy(how):
    def found(search, x):
        def f(v):
            return np.sum((v - x) ** 2)

        bounds = [(-2.0, 2.0)] * 2
        if how == "by place":
            return search(f, bounds, (), "best1bin", 40, 15, 1e-12, (0.5, 1), 0.7, 3).x
        return search(f, bounds, maxiter=40, tol=1e-12, **{how: 3}).x

    expected = found(optimize.differential_evolution, 0.3)
    y = zyg.pullback(lambda x: found(zscipy.optimize.differential_evolution, x), 0.3)[0]
    np.testing.assert_array_equal(y, expected)


def test_what_comes_back_can_be_written_with_watched_values():
    def f(x):
        y = zscipy.linalg.solve(znp.array(A), znp.array(B))
        y[0] = x * x
        return y.sum()

    assert zyg.gradient(f, 3.0) == (6.0,)


def test_a_view_of_what_was_given_is_one_of_the_buffer():
    def f(x):
        b = znp.zeros((2, 2))
        y = zscipy.linalg.toeplitz(znp.array(B))
        y[0, 0] = x
        b[:] = y
        return b.sum()

    assert zyg.gradient(f, 3.0) == (1.0,)


def test_a_buffer_that_holds_a_watched_value_goes_by_the_rule():
    def f(x):
        a = znp.array(A)
        a[0, 0] = x
        return zscipy.linalg.inv(a)[0, 0]

    zyg.check_gradient(f, 2.0)

    def refused(x):
        a = znp.array(A)
        a[0, 0] = x
        return zscipy.linalg.eig(a, None, True, True)[0][0].real

    with pytest.raises(MissingRuleError, match="eig"):
        zyg.gradient(refused, 2.0)


def test_a_buffer_in_a_closure_is_read_by_the_rule():
    def f(x):
        b = znp.array(B)
        area = zscipy.integrate.quad(lambda t: t * b[0], 0.0, 1.0)[0]
        b[0] = x
        return area + zscipy.integrate.quad(lambda t: t * b[0], 0.0, 1.0)[0]

    assert zyg.gradient(f, 3.0) == pytest.approx((0.5,))


def test_a_buffer_given_twice_is_one_array():
    found = inside(lambda a, b: zscipy.signal.csd(b, b, nperseg=2, noverlap=1)[1])
    assert found.dtype == signal.csd(B, B, nperseg=2, noverlap=1)[1].dtype == np.float64


@pytest.mark.parametrize("name", ["csr_array", "csc_matrix", "coo_array"])
def test_sparse_matrices_are_made_of_buffers(name):
    found = inside(lambda a, b: getattr(zsparse, name)(a))
    assert isinstance(found, getattr(scipy.sparse, name))
    np.testing.assert_array_equal(found.toarray(), A)


def test_products_and_systems_of_buffers_are_scipys():
    def f(a, b):
        matrix = zsparse.csc_matrix(a)
        return zsparse.linalg.spsolve(matrix, b), matrix @ b, matrix * b, matrix.dot(b), b @ matrix

    plain = scipy.sparse.csc_matrix(A)
    products = plain @ B, plain @ B, plain @ B, B @ plain
    expected = scipy.sparse.linalg.spsolve(plain, B), *products
    np.testing.assert_equal(inside(f), expected)
    line = inside(lambda a, b: zsparse.coo_array(b) @ b)
    assert line == B @ B


def test_a_sparse_matrix_keeps_the_memory_that_it_shares():
    def f(x):
        b = znp.array(B)
        matrix = zsparse.csr_array((b, np.array([0, 1]), np.array([0, 1, 2])))
        b[0] = x
        return (matrix @ znp.ones(2)).sum()

    with pytest.raises(MutationError, match="in use as plain numbers"):
        zyg.gradient(f, 3.0)


def test_formats_that_cannot_be_watched_may_be_given_where_nothing_is():
    lil = scipy.sparse.lil_matrix(A)
    found = inside(lambda a, b: zsparse.csr_array(lil) @ b)
    np.testing.assert_array_equal(found, A @ B)
    assert inside(lambda a, b: zscipy.special.logsumexp(array("d", [0.0, 0.0]))) == np.log(2.0)


class _Holder:
    """An array to NumPy."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return self.data


def test_an_object_that_counts_as_an_array_may_hold_a_buffer():
    found = inside(lambda a, b: zscipy.linalg.solve(_Holder(a), _Holder(b)))
    np.testing.assert_array_equal(found, linalg.solve(A, B))
    assert inside(lambda a, b: zscipy.linalg.det(_Holder(A))) == linalg.det(A)


def test_rotations_are_made_of_buffers():
    q = [0.0, 0.6, 0.0, 0.8]
    plain = transform.Rotation.from_quat(q)

    def of_buffers(a, b):
        r = ztransform.Rotation.from_quat(znp.array(q))
        axes = znp.eye(3)
        return r.as_matrix(), r.as_davenport(axes, "extrinsic"), r.apply(znp.ones(3))

    expected = (
        plain.as_matrix(),
        plain.as_davenport(np.eye(3), "extrinsic"),
        plain.apply(np.ones(3)),
    )
    np.testing.assert_equal(inside(of_buffers), expected)


def test_a_rotation_does_not_share_the_memory_of_a_buffer():
    def f(x):
        q = znp.array([0.0, 0.0, 0.0, 1.0])
        before = ztransform.Rotation(q, copy=False)
        q[0] = x
        return ztransform.Rotation(q).as_rotvec()[0] + before.as_matrix()[1, 1]

    zyg.check_gradient(f, 0.5)


def test_draws_take_buffers_as_parameters():
    found = inside(lambda a, b: znp.random.default_rng(0).integers(0, znp.array([5, 9])))
    np.testing.assert_array_equal(found, np.random.default_rng(0).integers(0, [5, 9]))


def test_functions_of_images_take_options_of_scipys():
    image = np.arange(6.0).reshape(2, 3)
    found = inside(lambda a, b: zndimage.gaussian_filter(znp.array(image), 1.0, output=np.float32))
    assert found.dtype == np.float32


def test_solvers_take_jacobians_in_any_sparse_format():
    lil = scipy.sparse.lil_matrix(np.eye(2))

    def f(x):
        c = znp.ones(2)
        c[0] = x
        solved = zscipy.optimize.least_squares(lambda p: p - c, np.zeros(2), lambda p: lil)
        return solved.x.sum()

    assert zyg.gradient(f, 3.0) == pytest.approx((1.0,))


def test_scipys_own_code_knows_spsolve():
    x = np.linspace(0.0, 1.0, 6)
    values, solver = np.outer(x, x**2), zsparse.linalg.spsolve
    spline = interpolate.RegularGridInterpolator((x, x), values, method="cubic", solver=solver)
    np.testing.assert_allclose(spline((0.5, 0.5)), 0.125)
