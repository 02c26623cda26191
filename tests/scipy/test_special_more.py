"""Of scipy.special: nodes and weights, all degrees at once, searches, and where SciPy is wrong."""

import mpmath
import numpy as np
import pytest
import scipy.special as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import zyg
from zyg.errors import MissingRuleError
from zyg.scipy import special

POINTS = np.array([-0.9, -0.3, 0.2, 0.7])

# Jacobi's elliptic functions


@pytest.mark.parametrize(
    ("u", "m"), [(0.5, 0.3), (3.0, 0.4), (-7.0, 0.2), (10.0, 0.7), (0.3, 1e-9), (2.0, 1 - 1e-9)]
)
def test_elliptic_functions_move_with_their_parameter(u, m):
    for k, name in enumerate(("sn", "cn", "dn")):
        with mpmath.workdps(40):
            exact = mpmath.diff(lambda p, name=name: mpmath.ellipfun(name, u, m=p), m, h="1e-14")
        assert zyg.gradient(lambda p, k=k: sp.ellipj(u, p)[k], m)[0] == pytest.approx(
            float(exact), rel=1e-12
        )
    zyg.check_gradient(lambda u, m: sp.ellipj(u, m), u, min(max(m, 0.01), 0.99))


def test_elliptic_functions_at_the_ends_of_their_parameter():
    """There they are sines and hyperbolic tangents; DLMF 22.10.7 and 22.10.4."""
    u = np.array([0.4, 1.3])
    sine, tangent = (
        zyg.gradient(lambda m: np.sum(sp.ellipj(u, m)[0]), np.full(2, end))[0] for end in (0.0, 1.0)
    )
    np.testing.assert_allclose(sine, -0.25 * (u - np.sin(u) * np.cos(u)) * np.cos(u), rtol=1e-12)
    moved = -0.25 * (np.sinh(u) * np.cosh(u) - u) / np.cosh(u) ** 2
    np.testing.assert_allclose(tangent, moved, rtol=1e-12)


# Nodes and weights of Gauss

RULES = [
    (special.roots_jacobi, (0.3, -0.2)),
    (special.roots_jacobi, (0.0, 0.0)),  # SciPy takes those of Legendre
    (special.roots_jacobi, (0.7, 0.7)),  # of Gegenbauer
    (special.roots_jacobi, (0.5, -0.5)),
    (special.roots_gegenbauer, (0.0,)),  # of Chebyshev
    (special.roots_gegenbauer, (0.8,)),
    (special.roots_genlaguerre, (0.8,)),
    (special.roots_sh_jacobi, (1.8, 0.7)),
]


@pytest.mark.parametrize(("f", "parameters"), RULES)
@pytest.mark.parametrize("n", [1, 2])
def test_nodes_and_weights_move_with_the_parameters(f, parameters, n):
    def all_of(*parameters):
        return np.concatenate([*f(n, *parameters), [f(n, *parameters, mu=True)[2]]])

    zyg.check_gradient(all_of, *parameters)


@pytest.mark.parametrize(("f", "parameters"), RULES)
def test_nodes_and_weights_are_scipys_own(f, parameters):
    seen = []
    zyg.pullback(lambda *p: seen.extend(map(zyg.primal, f(4, *p))) or f(4, *p)[0], *parameters)
    for ours, theirs in zip(seen, getattr(sp, f.__name__)(4, *parameters), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_weights_that_are_small_have_slopes_as_exact_as_large_ones():
    n, alpha = 60, 0.5

    def log_weights(a):
        return np.log(special.roots_genlaguerre(n, a)[1])

    h = 1e-4
    differences = (log_weights(alpha + h) - log_weights(alpha - h)) / (2 * h)
    np.testing.assert_allclose(zyg.jacobian(log_weights, alpha)[0], differences, rtol=1e-6)


@pytest.mark.parametrize("f", [special.j_roots, special.la_roots, special.cg_roots])
def test_the_older_names_have_the_same_rules(f):
    parameters = (0.3, 0.4) if f is special.j_roots else (0.3,)
    zyg.check_gradient(lambda *p: f(2, *p)[1], *parameters)


def test_a_moment_moves_as_the_integral_does():
    def moment(alpha):
        x, w = special.roots_genlaguerre(5, alpha)
        return np.sum(w * x**3)

    expected = sp.gamma(4.7) * sp.psi(4.7)
    assert zyg.gradient(moment, 0.7)[0] == pytest.approx(expected, rel=1e-13)


def test_third_derivatives_of_a_sum_over_nodes():
    def derivative(f):
        return lambda a: zyg.gradient(f, a)[0]

    def whole(a):
        x, w = special.roots_jacobi(4, a, 0.2)
        return np.sum(np.sin(x) * w)

    second, h = derivative(derivative(whole)), 1e-3
    difference = (
        8 * (second(0.4 + h) - second(0.4 - h)) - second(0.4 + 2 * h) + second(0.4 - 2 * h)
    ) / (12 * h)
    assert derivative(second)(0.4) == pytest.approx(difference, rel=1e-9)


def test_the_number_of_nodes_does_not_move():
    with pytest.raises(MissingRuleError, match=r"roots_jacobi .*derivative by 'n'"):
        zyg.gradient(lambda n: np.sum(special.roots_jacobi(n, 0.3, 0.2)[0]), 3.0)


@pytest.mark.parametrize("f", [special.jacobi, special.sh_jacobi])
def test_polynomials_of_moving_parameters_are_refused(f):
    with pytest.raises(MissingRuleError, match=f"{f.__name__} cannot be differentiated"):
        zyg.gradient(lambda p: f(3, p, 0.3)(0.2), 1.4)


# All degrees and orders at once


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 4), st.integers(-3, 3), st.sampled_from([(), (3,), (2, 2)]))
def test_all_degrees_have_the_slopes_of_each(n, m, shape):
    rng = np.random.default_rng(n)
    angles, weights = rng.uniform(-4, 4, shape), rng.normal(size=(n + 1, 2 * abs(m) + 1, *shape))

    def each(theta):
        orders = [*range(abs(m) + 1), *range(-abs(m), 0)]
        rows = [[special.sph_legendre_p(k, o, theta)[0] for o in orders] for k in range(n + 1)]
        return sum(np.sum(v * c) for row, cs in zip(rows, weights, strict=True)
                   for v, c in zip(row, cs, strict=True))  # fmt: skip

    def at_once(theta):
        return np.sum(weights * special.sph_legendre_p_all(n, m, theta)[0])

    np.testing.assert_allclose(
        zyg.gradient(at_once, angles)[0], zyg.gradient(each, angles)[0], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("m", [0, 2, -1])
def test_all_spherical_harmonics(m):
    zyg.check_gradient(lambda t, p: special.sph_harm_y_all(1, m, t, p), np.array([-0.3, 3.5]), 0.3)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_all_functions_of_legendre(n):
    zyg.check_gradient(lambda z: special.legendre_p_all(n, z), POINTS)
    zyg.check_gradient(lambda z: special.assoc_legendre_p_all(n, 2, z, norm=True), POINTS)
    zyg.check_gradient(lambda z: np.stack(special.lqmn(2, n, z)), POINTS)


@pytest.mark.parametrize("m", [-2, 0, 1])
def test_associated_functions_of_legendre(m):
    zyg.check_gradient(lambda z: special.assoc_legendre_p(2, m, z), POINTS)
    zyg.check_gradient(lambda z: special.assoc_legendre_p(2, m, z, diff_n=1), POINTS, order=1)
    zyg.check_gradient(lambda z: special.assoc_legendre_p(2, m, z, branch_cut=3), 1.7)


@pytest.mark.parametrize("f", [special.assoc_legendre_p, special.lqmn])
def test_complex_points_pull_back_by_the_conjugate(f):
    z, h = 1.3 + 0.4j, 1e-6

    def one(z):
        return f(3, 1, z)[0] if f is special.assoc_legendre_p else f(1, 3, z)[0][1, 3]

    slope = np.ravel(one(z + h) - one(z - h))[0] / (2 * h)
    got = zyg.pullback(lambda z: np.sum(one(z)), z)[1](1.0)[0]
    assert got == pytest.approx(np.conj(slope), rel=1e-7)


def test_slopes_beyond_scipys_are_refused():
    def second(z):
        return special.assoc_legendre_p(3, 0, z, diff_n=1)[1]

    with pytest.raises(MissingRuleError, match="no third derivatives, and at -1 no second"):
        zyg.gradient(lambda z: np.sum(second(z)), np.array([0.3, -1.0]))
    with pytest.raises(MissingRuleError, match="real points and n >= 0"):
        zyg.gradient(lambda z: np.sum(special.legendre_p(-2, z)), 0.3)
    for f in (special.legendre_p_all, special.assoc_legendre_p):
        degrees = (3,) if f is special.legendre_p_all else (3, 1)
        with pytest.raises(MissingRuleError):
            zyg.gradient(lambda z, f=f, d=degrees: np.sum(f(*d, z, diff_n=2)), 0.3)


@pytest.mark.parametrize(
    ("f", "order", "x"),
    [
        (special.pbdn_seq, 2, 0.3 + 0.1j),
        (special.pbdn_seq, -2, 0.3),
        (special.pbdv_seq, -1.5, 0.3),
        (special.pbvv_seq, -2.5, 0.3),
        (special.lmbda, 2, 0.0),
        (special.lmbda, 1.5, -0.7),
        (special.lmbda, 1, -25.0),
        (special.riccati_yn, 1, -0.7),
        (special.lqn, 1, 1.7),
    ],
)
def test_where_scipys_values_are_of_another_function_there_is_no_slope(f, order, x):
    with pytest.raises(MissingRuleError, match=f"{f.__name__} .* another function"):
        zyg.pullback(lambda x: f(order, x)[0][-1], x)


@pytest.mark.parametrize("order", [0, 1, 3, 0.5, 2.5])
def test_sequences(order):
    zyg.check_gradient(lambda x: np.stack(special.lmbda(order, x)), 0.7)
    zyg.check_gradient(lambda x: np.real(np.stack(special.pbdn_seq(int(order), x))), -1.3)


# Elliptic integrals


@pytest.mark.parametrize(
    "args",
    [(0.3, 0.5, 0.7, 1.2), (0.7, 0.7, 0.7, 0.7), (1e3, 0.1, 0.01, 2.0), (0.2, 1.4, 0.5, 0.01)],
)
def test_the_integral_of_the_third_kind(args):
    for k, got in enumerate(zyg.gradient(sp.elliprj, *args)):
        exact = mpmath.diff(lambda v, k=k: mpmath.elliprj(*args[:k], v, *args[k + 1 :]), args[k])
        assert got == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.slow
def test_the_integral_of_the_third_kind_has_second_slopes():
    zyg.check_gradient(sp.elliprj, np.array([0.3, 2.0]), 0.5, np.array([0.7, 0.4]), 1.2)


@pytest.mark.parametrize("p", [-1.2, -0.4, -1e-3])
def test_its_principal_value(p):
    for args in ((0.3, 0.5, 0.7, p), (0.7, 0.3, 0.3, p)):
        h = 1e-6 * np.eye(4)
        differences = [(sp.elliprj(*(args + s)) - sp.elliprj(*(args - s))) / 2e-6 for s in h]
        np.testing.assert_allclose(zyg.gradient(sp.elliprj, *args), differences, rtol=1e-4)


@pytest.mark.slow
def test_its_principal_value_has_second_slopes():
    zyg.check_gradient(sp.elliprj, 0.7, 0.3, 0.5, np.array([-0.4, 0.8]))


def test_beside_a_principal_value_an_argument_may_be_0():
    x, p = np.array([0.0, 0.0]), np.array([-0.4, 0.8])
    slopes = zyg.gradient(lambda *a: np.sum(sp.elliprj(*a)), x, 0.5, 0.7, p)
    assert slopes[0][1] == -np.inf
    both = [zyg.gradient(sp.elliprj, 0.0, 0.5, 0.7, v) for v in p]
    np.testing.assert_allclose(slopes[3], [one[3] for one in both])
    np.testing.assert_allclose(slopes[1], sum(one[1] for one in both))


def test_where_it_is_no_number_it_has_no_slope():
    assert np.isnan(zyg.gradient(sp.elliprj, 1.0, 0.5, 0.7, 0.0)).all()


def test_complex_principal_values_are_refused():
    with pytest.raises(MissingRuleError, match="no complex principal values"):
        zyg.pullback(sp.elliprj, 0.3, 0.5, 0.7, -1.2 + 0.1j)


def test_it_is_steep_where_an_argument_is_0():
    slopes = zyg.gradient(sp.elliprj, 0.0, 0.5, 0.7, 0.8)
    assert slopes[0] == -np.inf
    assert np.isfinite(slopes[1:]).all()


# Distributions


def binomial(k, n, p):
    return float(mpmath.betainc(n - k, k + 1, 0, 1 - mpmath.mpf(p), regularized=True))


@pytest.mark.parametrize("f", [sp.bdtrik, sp.nbdtrik])
def test_a_count_that_is_searched(f):
    zyg.check_gradient(f, np.array([0.3, 0.5, 0.9]), 7.3, 0.4)
    assert zyg.gradient(f, 1e-4, 4.3, 0.4) == (0.0, 0.0, 0.0)  # its search ends at 0


def test_the_count_of_all_trials_is_an_end():
    h = 1e-7
    below = (7.0 - sp.bdtrik(1.0 - h, 7.0, 0.9)) / h
    assert zyg.gradient(sp.bdtrik, 1.0, 7.0, 0.9) == pytest.approx((below, 1.0, 0.0), rel=1e-6)
    assert zyg.gradient(sp.bdtrin, 16.0, 1.0, 0.4) == (0.0, 0.0, 0.0)  # below that all is found


def test_what_is_not_asked_for_may_be_steep():
    def regular(z):
        return special.assoc_legendre_p_all(2, 1, z)[0, :, 0]

    np.testing.assert_array_equal(zyg.jacobian(regular, 1.0)[0], [0.0, 1.0, 3.0])


def test_a_number_of_trials_that_is_searched():
    zyg.check_gradient(sp.bdtrin, 2.2, np.array([0.2, 0.5, 0.9]), 0.4)
    zyg.check_gradient(sp.nbdtrin, 2.2, np.array([0.2, 0.5, 0.9]), 0.4)
    assert binomial(2.2, sp.bdtrin(2.2, 0.3, 0.4), 0.4) == pytest.approx(0.3)


def smirnov(n, d):
    """The slope of the distribution, in many digits."""

    def term(j, x):
        u = mpmath.mpf(j) / n
        return mpmath.binomial(n, j) * (1 - x - u) ** (n - j) * (x + u) ** (j - 1)

    with mpmath.workdps(60):
        most = int(n * (1 - d))
        return float(
            mpmath.diff(lambda x: x * sum(term(j, x) for j in range(most + 1)), mpmath.mpf(d))
        )


@pytest.mark.parametrize("n", [1, 2, 5, 30, 200])
@pytest.mark.parametrize("d", [1e-6, 1e-3, 0.11, 0.41, 0.97])
def test_the_slope_of_smirnov(n, d):
    slope = zyg.gradient(lambda d: sp.smirnov(n, d), d)[0]

    assert slope == pytest.approx(smirnov(n, d), rel=1e-10)


def test_smirnov_at_its_ends():
    for n in (1, 2, 5):
        ends = (zyg.gradient(lambda d, n=n: sp.smirnov(n, d), end)[0] for end in (0.0, 1.0))
        assert tuple(ends) == pytest.approx((-1.0, -1.0 if n == 1 else 0.0))


def test_smirnov_of_several_sizes():
    sizes, d = np.array([[3], [4], [30]]), np.array([0.01, 0.3, 0.48, 0.7])
    zyg.check_gradient(lambda d: sp.smirnov(sizes, d), d)
    zyg.check_gradient(lambda p: sp.smirnovi(sizes, p), np.array([0.2, 0.5, 0.9]))
    with pytest.raises(MissingRuleError, match=r"smirnov .* respect to n"):
        zyg.gradient(sp.smirnov, 5.0, 0.3)


NONCENTRAL = [
    (3.0, 0.5, -0.7), (10.0, -2.0, 1.0), (0.5, 1.0, 2.0), (5.0, 0.0, 0.4), (5.0, 1.0, 0.0),
    (3.0, 8.0, 0.3), (2.0, 3.0, -9.0), (1.0, 2.0, 500.0), (0.5, 10.0, 300.0), (0.25, 0.25, 15.0),
]  # fmt: skip


def of_student(df, nc, t):
    """The distribution function, as a mean of normal ones."""
    most = max(4.0, 6 / np.sqrt(float(df)))
    ends = [-200 / df, -20 / df, -5 / df, -1 / df, -0.3, 0, 0.3, 1, most]
    height = 2 * (df / 2) ** (df / 2) / mpmath.gamma(df / 2)
    return height * mpmath.quad(
        lambda w: (
            mpmath.ncdf(t * mpmath.exp(w) - nc) * mpmath.exp(df * w - df * mpmath.exp(2 * w) / 2)
        ),
        ends,
    )


@pytest.mark.slow
@pytest.mark.parametrize("args", NONCENTRAL)
def test_slopes_of_the_noncentral_t_are_exact_in_tails_too(args):
    with mpmath.workdps(30):
        args, h = [*map(mpmath.mpf, args)], mpmath.mpf(10) ** -10
        for k, got in enumerate(zyg.gradient(sp.nctdtr, *map(float, args))):
            above, below = (of_student(*args[:k], args[k] + s, *args[k + 1 :]) for s in (h, -h))
            assert got == pytest.approx(float((above - below) / (2 * h)), rel=1e-11, abs=1e-18)


@pytest.mark.slow
@pytest.mark.parametrize("args", NONCENTRAL[:4])
def test_the_noncentral_t_is_smooth(args):
    zyg.check_gradient(sp.nctdtr, *args)
    zyg.check_gradient(sp.nctdtrit, *args[:2], sp.nctdtr(*args), rtol=1e-4)


@pytest.mark.parametrize(("f", "place"), [(sp.nctdtridf, 0), (sp.nctdtrinc, 1), (sp.nctdtrit, 2)])
def test_inverses_of_the_noncentral_t_undo_it(f, place):
    args = np.array([4.0, 0.6, 1.8])

    def there_and_back(args):
        given = [*args]
        given[place] = sp.nctdtr(*args)
        order = [place, *(k for k in range(3) if k != place)]
        return f(*(given[k] for k in (order if place == 0 else range(3))))

    np.testing.assert_allclose(zyg.gradient(there_and_back, args)[0], np.eye(3)[place], atol=1e-6)


def test_a_noncentrality_may_be_negative():
    args = 4.0, sp.nctdtr(4.0, -1.3, 0.4), 0.4
    assert zyg.gradient(sp.nctdtrinc, *args)[1] < 0
    assert zyg.gradient(sp.nctdtrit, 4.0, -1.3, 0.1)[2] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "args", [(2.0, 3.0, 1.5, 0.7), (5.0, 8.0, 20.0, 2.0), (3.5, 1.2, np.array([0.4, 2.0]), 3.0)]
)
def test_the_noncentral_f(args):
    zyg.check_gradient(sp.ncfdtr, *args)
    zyg.check_gradient(sp.ncfdtri, *args[:3], sp.ncfdtr(*args))


def test_the_noncentral_f_without_noncentrality_is_that_of_fisher():
    n, m, nc, f = zyg.gradient(sp.ncfdtr, 1.3, 3.0, 0.0, 0.7)
    assert (n, m, f) == pytest.approx(zyg.gradient(sp.fdtr, 1.3, 3.0, 0.7), rel=1e-12)
    beside = (sp.ncfdtr(1.3, 3.0, 1e-6, 0.7) - sp.fdtr(1.3, 3.0, 0.7)) / 1e-6
    assert nc == pytest.approx(beside, rel=1e-5)
    assert zyg.gradient(sp.ncfdtr, 1.3, 3.0, 1.0, 0.0) == (0.0, 0.0, 0.0, np.inf)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (sp.ncfdtr, (-2.0, 3.0, 1.0, 0.7)),
        (sp.ncfdtri, (2.0, 3.0, 1.0, 1.7)),
        (sp.nctdtr, (-2.0, 1.0, 0.7)),
        (sp.nctdtrit, (2.0, 1.0, 1.7)),
        (lambda d: sp.smirnov(4, d), (-0.3,)),
        (lambda p: sp.smirnovi(4, p), (1.3,)),
    ],
)
def test_what_is_no_number_has_no_slopes(f, args):
    assert np.isnan(f(*args))
    assert np.isnan(zyg.gradient(f, *args)).all()


@pytest.mark.parametrize("f", [sp.ncfdtridfd, sp.ncfdtridfn, sp.ncfdtrinc])
def test_searches_that_end_early_are_refused(f):
    with pytest.raises(MissingRuleError, match=f.__name__):
        zyg.gradient(f, 2.0, 0.3, 1.5, 0.7)


# Factorials


def test_multifactorials():
    for x in (2.5, np.array([2.5, -0.7, 0.3]), np.array(3.0), np.array([0.0, 1.0])):
        zyg.check_gradient(lambda x: special.factorial2(x, extend="complex"), x)
    zyg.check_gradient(lambda x, k: special.factorialk(x, k, extend="complex"), 2.7, 2.2)
    zyg.check_gradient(lambda k: np.abs(special.factorialk(2.7, k, extend="complex")), -2.3)


def test_multifactorials_of_whole_numbers_only_are_refused():
    with pytest.raises(MissingRuleError, match=r"factorial2 .* extend='zero'"):
        zyg.gradient(lambda n: special.factorial2(n), 3)
    with pytest.raises(MissingRuleError, match="does not give what SciPy does"):
        zyg.gradient(lambda n: special.factorial2(n, extend="complex"), 0.0)  # alone there it is 1


def test_polynomials_of_whole_degree_have_no_poles():
    zyg.check_gradient(lambda x: special.eval_sh_jacobi(1, 1.0, 4.0, x), 10.0)
    zyg.check_gradient(lambda x: special.eval_jacobi(1, -2.5, 4.0, x), np.array([0.3, 10.0]))
