"""What the calls of scipy.special cannot see: kinks, limits, accuracy, refusals, imports."""

import subprocess
import sys

import mpmath
import numpy as np
import pytest
import scipy.special as sp

import zyg
from zyg.errors import ConversionError, MissingRuleError
from zyg.scipy import special


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )


def test_rules_of_ufuncs_are_found_at_the_first_call():
    done = run(
        "import sys, zyg; assert 'scipy' not in sys.modules\n"
        "import scipy.special as sp; assert 'zyg.scipy' not in sys.modules\n"
        "assert zyg.gradient(sp.erf, 0.0)[0] > 1.12"
    )
    assert not done.stderr


def test_a_rule_of_ones_own_stays_where_those_of_scipy_come_later():
    done = run(
        "import zyg, scipy.special as sp\n"
        "zyg.adjoint(sp.erf)(lambda x: (sp.erf(x), lambda y_bar: (7.0 * y_bar,)))\n"
        "zyg.gradient(sp.gammaln, 1.0)\n"
        "assert zyg.gradient(sp.erf, 1.0) == (7.0,)"
    )
    assert not done.stderr


def test_without_scipy_the_import_says_what_to_install():
    done = run("import sys; sys.modules['scipy'] = None\nimport zyg, zyg.scipy")

    assert "pip install 'zyg[scipy]'" in done.stderr.splitlines()[-1]


def test_plain_values_give_scipys_own_result():
    assert special.polygamma(1, 2.0) == sp.polygamma(1, 2.0)
    assert special.erf is sp.erf
    assert special.logsumexp([1.0, 2.0]) == sp.logsumexp([1.0, 2.0])


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_a_function_without_rule_is_refused_by_its_name():
    with pytest.raises(MissingRuleError, match=r"scipy\.special\.zetac has no rule"):
        zyg.gradient(sp.zetac, 2.0)
    with pytest.raises(MissingRuleError, match="its coefficients solve an eigenvalue problem"):
        zyg.gradient(lambda x: special.ellip_normal(x, 8.0, 2, 1), 2.0)
    with pytest.raises(ConversionError):
        zyg.gradient(lambda x: sp.diric(x, 3), 2.0)


def test_a_mean_of_both_kinds():
    x, y = np.array([0.3, 0.8, 1.7]), np.array([0.2, 0.8, 0.9])
    zyg.check_gradient(sp.agm, x, y)
    zyg.check_gradient(sp.agm, -x, -y)
    assert zyg.gradient(sp.agm, 0.0, 2.0) == (np.inf, 0.0)


@pytest.mark.parametrize(
    ("f", "args"),
    [(sp.pdtrik, (0.001, 1.0)), (sp.stdtridf, (0.99, 0.8)), (sp.fdtridfd, (2.3, 0.99999, 0.1))],
)
def test_a_search_that_ends_at_its_end_has_slope_0(f, args):
    assert zyg.gradient(f, *args) == (0.0,) * len(args)


def test_a_principal_value_of_an_elliptic_integral():
    zyg.check_gradient(sp.elliprc, np.array([0.3, 1.7]), np.array([-0.8, -1.3]))
    zyg.check_gradient(sp.elliprc, np.array([0.3, 1.7]), np.array([-0.8, 1.3]))


def test_spherical_harmonics_beyond_the_poles():
    angles = np.array([-0.3, 0.4, 3.5])
    for order in (-2, -1, 0, 1, 2):
        zyg.check_gradient(lambda t, m=order: np.abs(special.sph_harm_y(2, m, t, 0.3)), angles)
        zyg.check_gradient(lambda t, m=order: special.sph_legendre_p(2, m, t), angles)
    y = special.sph_legendre_p(2, 1, angles)
    np.testing.assert_array_equal(y, sp.sph_legendre_p(2, 1, angles))


@pytest.mark.parametrize("f", [sp.pbdv, sp.pbvv, sp.mathieu_cem, sp.pro_ang1, sp.obl_rad1])
def test_the_parameters_of_an_equation_are_refused_by_name(f):
    parameters = [1.0, 2.0, 0.7][: f.nin - 1]
    with pytest.raises(MissingRuleError, match=f"{f.__name__} .* respect to"):
        zyg.gradient(lambda p: f(p, *parameters[1:], 0.4)[0], parameters[0])


@pytest.mark.parametrize("x", [0.3, 0.9999, 1.0, 1.7])
def test_the_slope_of_kolmogorov_is_that_of_a_theta_function(x):
    exact = mpmath.diff(
        lambda v: 2 * sum((-1) ** (k - 1) * mpmath.exp(-2 * k * k * v * v) for k in range(1, 60)), x
    )
    assert zyg.gradient(sp.kolmogorov, x)[0] == pytest.approx(float(exact), rel=1e-11)


@pytest.mark.parametrize(
    ("f", "args", "parameter"),
    [
        (sp.jv, (1.5, 2.0), "the order v"),
        (sp.kn, (1, 2.0), "the order v"),
        (sp.hyp2f1, (1.0, 2.0, 3.0, 0.5), "a"),
        (sp.expn, (2, 1.5), "n"),
        (special.zeta, (2.5, 1.5), "x"),
        (special.polygamma, (1, 1.5), "n"),
        (sp.pdtr, (2.0, 1.5), "k"),
        (sp.eval_jacobi, (2.0, 0.5, 0.5, 0.3), "the degree n"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_a_parameter_without_formula_is_refused_by_its_name(f, args, parameter):
    with pytest.raises(MissingRuleError, match=f"{f.__name__} .* respect to {parameter}"):
        zyg.gradient(lambda p: f(p, *args[1:]), args[0])


def test_what_contains_a_modulus_is_refused_for_complex_numbers():
    with pytest.raises(MissingRuleError, match="ive of complex numbers"):
        zyg.pullback(lambda z: sp.ive(1, z), 0.5 + 1j)[1](1.0)


@pytest.mark.parametrize("f", [sp.jv, sp.yv, sp.iv, sp.kv, sp.jve, sp.ive, sp.kve, sp.struve])
def test_bessel_functions_of_broken_order(f):
    zyg.check_gradient(lambda x: f(0.5, x), np.array([0.3, 1.7, 5.0]))
    zyg.check_gradient(lambda x: f(-1.3, x), np.array([0.3, 1.7, 5.0]))


@pytest.mark.parametrize("f", [sp.eval_legendre, sp.eval_chebyt, sp.eval_laguerre])
def test_polynomials_of_broken_degree(f):
    zyg.check_gradient(lambda x: f(2.5, x), np.array([0.1, 0.7]))


# Accuracy: against mpmath, to 40 digits


def slope(f, a):
    with mpmath.workdps(60):
        a, h = mpmath.mpf(a), mpmath.mpf(a) * mpmath.mpf(10) ** -18
        return float((f(a + h) - f(a - h)) / (2 * h))


@pytest.mark.parametrize("a", [1e-3, 0.3, 1.0, 7.5, 120.0, 4000.0])
@pytest.mark.parametrize("ratio", [1e-3, 0.5, 0.98, 1.03, 3.0])
def test_gammainc_in_its_shape(a, ratio):
    x = a * ratio
    expected = slope(lambda a: mpmath.gammainc(a, x, mpmath.inf, regularized=True), a)

    got = zyg.gradient(sp.gammaincc, a, x)[0]

    assert got == pytest.approx(expected, rel=1e-9, abs=1e-200)


@pytest.mark.parametrize("a", [0.01, 0.7, 4.0, 300.0])
@pytest.mark.parametrize("b", [0.05, 1.0, 60.0])
@pytest.mark.parametrize("x", [1e-3, 0.3, 0.8, 0.999])
def test_betainc_in_its_shapes(a, b, x):
    rest = 1 - mpmath.mpf(x)
    if x < a / (a + b):
        da = slope(lambda a: mpmath.betainc(a, b, 0, x, regularized=True), a)
        db = slope(lambda b: mpmath.betainc(a, b, 0, x, regularized=True), b)
    else:  # the other tail, which is small
        da = -slope(lambda a: mpmath.betainc(b, a, 0, rest, regularized=True), a)
        db = -slope(lambda b: mpmath.betainc(b, a, 0, rest, regularized=True), b)

    got = zyg.gradient(sp.betainc, a, b, x)

    assert got[:2] == pytest.approx((da, db), rel=1e-9, abs=1e-250)


def test_the_ends_of_the_incomplete_functions_have_slope_zero_in_their_shapes():
    assert zyg.gradient(sp.gammainc, 2.0, 0.0)[0] == 0
    assert zyg.gradient(sp.gammainc, 2.0, np.inf)[0] == 0
    assert zyg.gradient(sp.betainc, 2.0, 3.0, 0.0) == (0.0, 0.0, 0.0)
    assert zyg.gradient(sp.betainc, 2.0, 3.0, 1.0) == (0.0, 0.0, 0.0)
    assert zyg.gradient(sp.gammainc, 1.0, 0.0)[1] == 1


@pytest.mark.parametrize("x", [-3.0, -1e3, -1e8, 4.0, 40.0])
def test_log_ndtr_far_from_0(x):
    with mpmath.workdps(40):
        ratio = mpmath.npdf(x) / mpmath.ncdf(x) if x > -100 else -x * (1 + mpmath.mpf(x) ** -2)
        expected = float(ratio)

    assert zyg.gradient(sp.log_ndtr, x)[0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("f", [sp.boxcox, sp.boxcox1p, sp.inv_boxcox, sp.inv_boxcox1p])
@pytest.mark.parametrize("power", [0.0, 1e-12, 1e-3, -0.3])
def test_box_and_cox_are_smooth_where_the_power_is_0(f, power):
    zyg.check_gradient(f, np.array([0.4, 1.5]), np.array([power, power]), rtol=1e-6)


@pytest.mark.parametrize("f", [sp.ellipk, sp.ellipe])
@pytest.mark.parametrize("m", [0.0, 1e-9, 0.499, 0.501, -0.7, 0.97])
def test_elliptic_integrals(f, m):
    exact = mpmath.ellipk if f is sp.ellipk else mpmath.ellipe

    got = zyg.gradient(f, m)[0]
    second = zyg.gradient(lambda m: zyg.gradient(f, m)[0], m)[0]

    assert got == pytest.approx(float(mpmath.diff(exact, m)), rel=1e-12)
    assert second == pytest.approx(float(mpmath.diff(exact, m, 2)), rel=1e-9)


def test_rgamma_is_smooth_at_the_poles_of_gamma():
    assert zyg.gradient(sp.rgamma, -2.0)[0] == pytest.approx(2.0)
    assert zyg.gradient(sp.rgamma, 0.0)[0] == 1


@pytest.mark.parametrize("z", [-7.3 + 0.1j, 0.2 + 3j, 25.0 - 2j])
def test_psi_of_complex_numbers(z):
    got = zyg.pullback(sp.psi, z)[1](1.0)[0]

    assert got == pytest.approx(np.conj(complex(mpmath.psi(1, z))), rel=1e-13)


# Kinks and limits


def test_xlogy_at_0():
    assert zyg.gradient(sp.xlogy, 0.0, 2.0) == (np.log(2.0), 0.0)
    assert zyg.gradient(sp.xlogy, 0.0, 0.0) == (-np.inf, 0.0)
    assert zyg.gradient(sp.xlog1py, 0.0, -1.0) == (-np.inf, 0.0)
    assert zyg.gradient(lambda p: sp.xlogy(p, p), 0.0) == (-np.inf,)
    assert zyg.gradient(lambda p: np.sum(sp.entr(p)), np.array([0.0, 1.0]))[0].tolist() == [
        np.inf,
        -1.0,
    ]


def test_huber_at_its_edge():
    assert zyg.gradient(sp.huber, 1.0, 1.0) == (0.0, 1.0)
    assert zyg.gradient(sp.huber, 1.0, -3.0) == (2.0, -1.0)
    assert zyg.gradient(sp.pseudo_huber, 1.0, 0.0) == (0.0, 0.0)


def test_scaled_bessel_functions_at_0():
    assert zyg.gradient(sp.i0e, 0.0) == (0.0,)
    assert zyg.gradient(sp.i1e, 0.0) == (0.5,)


def test_logsumexp_of_infinities():
    def f(a):
        return special.logsumexp(a)

    assert zyg.gradient(f, np.array([-np.inf, 0.0]))[0].tolist() == [0.0, 1.0]
    assert zyg.gradient(f, np.array([np.inf, 0.0]))[0].tolist() == [1.0, 0.0]
    assert zyg.gradient(f, np.array([-np.inf, -np.inf]))[0].tolist() == [0.0, 0.0]


def test_the_sign_of_a_complex_logsumexp_is_refused():
    z = np.array([1 + 1j, 2.0])
    with pytest.raises(MissingRuleError, match="return_sign"):
        zyg.pullback(lambda z: special.logsumexp(z, return_sign=True), z)


def test_integers_are_taken_as_real_numbers():
    assert zyg.gradient(sp.gammaln, 3)[0] == pytest.approx(sp.psi(3))
    got = zyg.gradient(lambda k: np.sum(sp.erf(k)), np.array([0, 1]))[0]
    assert got.dtype == np.float64


def derivative(f):
    return lambda x: zyg.gradient(f, x)[0]


@pytest.mark.parametrize(("f", "slope"), [(sp.xlogy, 0.5), (sp.xlog1py, 1 / 3)])
def test_the_slopes_of_x_log_y_move_with_x_where_it_is_zero(f, slope):
    expected, v = [[0.0, slope], [slope, 0.0]], np.array([0.0, 2.0])

    def of_vector(v):
        return f(v[0], v[1])

    np.testing.assert_allclose(zyg.hessian(of_vector, v), expected)
    np.testing.assert_allclose(
        zyg.jacobian(lambda v: zyg.gradient(of_vector, v)[0], v)[0], expected
    )
    singular = np.array([0.0, 0.0 if f is sp.xlogy else -1.0])
    assert zyg.gradient(of_vector, singular)[0].tolist() == [-np.inf, 0.0]
    assert zyg.hessian(of_vector, singular).tolist() == [[0.0, np.inf], [np.inf, 0.0]]


@pytest.mark.parametrize(("f", "slope"), [(sp.rel_entr, 0.0), (sp.kl_div, 1.0)])
def test_relative_entropies_where_a_probability_is_zero(f, slope):
    for mode in ("forward", "reverse"):
        assert zyg.jacobian(f, 0.0, 0.0, mode=mode) == (np.inf, slope)
        assert zyg.jacobian(f, 0.0, 2.0, mode=mode) == (-np.inf, slope)
    by_second = zyg.hessian(lambda v: f(v[0], v[1]), np.zeros(2))
    assert by_second[0, 1] == by_second[1, 0] == -np.inf
    by_second = zyg.hessian(lambda v: f(v[0], v[1]), np.array([0.0, 2.0]))
    assert by_second[0, 1] == by_second[1, 0] == -0.5


@pytest.mark.slow
@pytest.mark.parametrize(("f", "slope"), [(sp.xlogy, 0.5), (sp.xlog1py, 1 / 3)])
def test_they_do_in_kernels(f, slope):
    kernel = zyg.elementwise(lambda x, y: f(x, y))
    hessian = zyg.hessian(lambda v: kernel(v[:1], v[1:])[0], np.array([0.0, 2.0]))

    np.testing.assert_allclose(hessian, [[0.0, slope], [slope, 0.0]])


@pytest.mark.parametrize(
    "f",
    [
        lambda a: sp.gammaincinv(a, 0.3),
        lambda a: sp.gammainccinv(a, 0.3),
        lambda a: sp.betaincinv(a, 2.0, 0.3),
        lambda a: sp.betainccinv(2.0, a, 0.3),
    ],
)
def test_third_derivatives_of_quantiles_at_the_exponential_shape(f):
    second, h = derivative(derivative(f)), 1e-3
    difference = (8 * (second(1 + h) - second(1 - h)) - second(1 + 2 * h) + second(1 - 2 * h)) / (
        12 * h
    )

    assert derivative(second)(1.0) == pytest.approx(difference, rel=1e-7)


def test_powm1_is_the_power_less_one():
    for x, p in ((2.0, 0.0), (0.0, 0.0), (-2.0, 2.0), (0.0, 2.0)):
        got = zyg.gradient(lambda v: sp.powm1(v[0], v[1]), np.array([x, p]))[0]
        np.testing.assert_allclose(
            got, zyg.gradient(lambda v: v[0] ** v[1], np.array([x, p]))[0], rtol=1e-14
        )


@pytest.mark.parametrize("f", [sp.kn, sp.yn, sp.expn])
@pytest.mark.filterwarnings("ignore:floating point number truncated")
def test_the_order_is_cut_to_an_integer_in_slopes_as_in_values(f):
    for n in (0.5, 1.7, 2.3):
        zyg.check_gradient(lambda x, n=n: f(n, x), 1.3)
        assert zyg.gradient(lambda x, n=n: f(n, x), 1.3) == zyg.gradient(
            lambda x, n=n: f(int(n), x), 1.3
        )


def test_the_voigt_profile_becomes_that_of_cauchy():
    x, gamma = 0.3, 0.7

    def cauchy(v):
        return v[1] / (np.pi * (v[0] ** 2 + v[1] ** 2))

    v = np.array([x, gamma])
    flat = zyg.hessian(lambda v: sp.voigt_profile(v[0], 0.0, v[1]), v)
    np.testing.assert_allclose(flat, zyg.hessian(cauchy, v), rtol=1e-14)
    # a normal distribution of variance s^2 added: half the second slope, times s^2
    assert zyg.gradient(lambda s: sp.voigt_profile(x, s, gamma), 0.0) == (0.0,)
    second = derivative(derivative(lambda s: sp.voigt_profile(x, s, gamma)))
    assert second(0.0) == pytest.approx(zyg.hessian(cauchy, v)[0, 0], rel=1e-14)


def test_slopes_of_the_voigt_profile_are_continuous_in_sigma():
    u = abs(0.3 + 0.7j)
    below, above = (
        zyg.hessian(lambda v: sp.voigt_profile(v[0], v[1], v[2]), np.array([0.3, s * u, 0.7]))
        for s in (0.04 - 1e-12, 0.04 + 1e-12)
    )
    np.testing.assert_allclose(below, above, rtol=1e-6)


def test_slopes_at_the_ends_of_a_domain():
    power = 1.3  # boxcox(0, p) = -1/p
    for f, x in ((sp.boxcox, 0.0), (sp.boxcox1p, -1.0)):
        first = derivative(lambda p, f=f, x=x: f(x, p))
        assert first(power) == pytest.approx(power**-2)
        assert derivative(first)(power) == pytest.approx(-2 * power**-3)
    for p in (0.0, 1.0):  # a quantile that does not move with the shape
        assert derivative(lambda a, p=p: sp.betaincinv(a, 2.0, p))(2.0) == 0
        assert derivative(lambda a, p=p: sp.betainccinv(2.0, a, p))(2.0) == 0
    assert derivative(lambda a: sp.gammaincinv(a, 0.0))(2.0) == 0
    with np.errstate(all="ignore"):
        assert derivative(lambda z: sp.hyp2f1(0, 0.7, 3.0, z))(3.0) == 0
        assert derivative(lambda z: sp.hyp2f1(2.0, 0.0, 0.0, z))(0.5) == 0
    assert derivative(lambda z: sp.hyp2f1(0.0, 2.0, 0.0, z))(0.5) == 16  # SciPy's is (1 - z)^-2


@pytest.mark.parametrize("f", [sp.struve, sp.modstruve])
@pytest.mark.parametrize("v", [-1, 0, 1, 3, -1.5, 0.7])
def test_struve_functions_near_0(f, v):
    of_mpmath = mpmath.struveh if f is sp.struve else mpmath.struvel

    def derivative(n, x):
        g = lambda x: f(v, x)  # noqa: E731
        for _ in range(n):
            g = lambda x, g=g: zyg.gradient(g, x)[0]  # noqa: E731
        return g(x)

    for x in (1e-3, 0.4, 0.999, 1.001):  # the series ends at 1
        for n in (1, 2, 3):
            with mpmath.workdps(40):
                expected = float(mpmath.diff(lambda x: of_mpmath(v, x), x, n))
            assert derivative(n, x) == pytest.approx(expected, rel=1e-11)
    if v in (-1, 0, 1, 3):
        for n in (1, 2, 3):  # at 0, whose neighbours tell it
            ends = [derivative(n, x) for x in (-1e-4, 1e-4)]
            assert derivative(n, 0.0) == pytest.approx(np.mean(ends), abs=1e-6)


@pytest.mark.parametrize("loss", [sp.huber, sp.pseudo_huber])
@pytest.mark.parametrize("r", [0.0, 1.5])
def test_losses_of_width_0(loss, r):
    def f(v):
        return loss(v[0], v[1])

    v = np.array([0.0, r])  # there it is 0 for every r, and abs(r) times a width beside 0
    np.testing.assert_array_equal(zyg.gradient(f, v)[0], [r, 0.0])
    assert zyg.hessian(f, v)[1, 1] == 0.0


def test_pseudo_huber_of_large_and_small_numbers():
    for delta, r in ((2.0, 1e200), (1.3, -0.4), (1e-200, 3.0), (1e150, 1e-10)):
        with mpmath.workdps(700):
            u = mpmath.mpf(r) / delta
            root = mpmath.sqrt(1 + u * u)
            expected = delta * (root - 1) ** 2 / root, r / root
        found = zyg.gradient(sp.pseudo_huber, delta, r)
        np.testing.assert_allclose(found, [*map(float, expected)], rtol=1e-14)


@pytest.mark.parametrize("f", [special.sici, special.shichi])
def test_the_integral_that_is_finite_at_0_has_its_slope_there(f):
    assert zyg.gradient(lambda x: f(x)[0], 0.0) == (1.0,)
    assert list(zyg.gradient(lambda x: np.sum(f(x)[0]), np.zeros(2))[0]) == [1.0, 1.0]


@pytest.mark.parametrize("name", ["pro_ang1_cv", "pro_rad1_cv", "obl_ang1_cv", "obl_rad1_cv"])
@pytest.mark.parametrize(("m", "n", "c", "x"), [(0, 1, 0.7, 0.4), (1, 2, 1.3, 0.6)])
def test_spheroidal_functions(name, m, n, c, x):
    cv = (sp.pro_cv if name.startswith("pro") else sp.obl_cv)(m, n, c)
    x = x + 1.2 if name == "pro_rad1_cv" else x
    zyg.check_gradient(lambda x: getattr(sp, name)(m, n, c, cv, x)[0], x, rtol=1e-4)
    plain = getattr(sp, name.removesuffix("_cv"))
    zyg.check_gradient(lambda x: plain(m, n, c, x)[0], x, rtol=1e-4)


@pytest.mark.parametrize("a", [0.3, 1.7, -0.8])
@pytest.mark.parametrize("x", [0.4, -1.2, 2.7])
def test_parabolic_cylinder_functions_of_imaginary_arguments(a, x):
    zyg.check_gradient(lambda x: sp.pbwa(a, x)[0], x, rtol=1e-4)


@pytest.mark.parametrize("f", [
    sp.pbvv, sp.mathieu_cem, sp.mathieu_sem, sp.mathieu_modcem1, sp.mathieu_modcem2,
    sp.mathieu_modsem1, sp.mathieu_modsem2,
])  # fmt: skip
def test_pairs_that_are_no_numbers_in_single_precision(f):
    parameters = (2, 1.3)[: f.nin - 1]
    assert np.isnan(f(*parameters, np.float32(0.7))).all()
    x = np.array([0.3, 0.7, 1.2])
    zyg.check_gradient(lambda x: np.stack(f(*parameters, x)), x, rtol=1e-4)
