"""NumPy's functions in compiled functions at ties, zeros, kinks: slopes are the traced engine's."""

import warnings

import numpy as np
import pytest
from scipy import special

import zyg
from tests.compiling.numpys_functions import EXPRESSIONS, run

x = np.array([0.0, 1.0, -2.0, 3.0])
T = np.array([[1.0, 2.0, 2.0], [2.0, 1.0, 1.0]])
W = np.array([[1.0, 10, 100], [1000, 1e4, 1e5]])
CASES = {}


def case(name, f, *args):
    CASES[name] = f, args


# One to a line, as the source of a lambda is found by its place.
# fmt: off
# ruff: noqa: E501
case("where nan", lambda x: np.sum(np.where(x>0, np.log(np.where(x>0,x,1.0)), 0*x)), x)
case("where nan2", lambda x: np.sum(np.where(x>0, np.sqrt(x), 0.0)), np.array([0.0,4.0]))
case("abs0", lambda x: np.sum(np.abs(x)), x)
case("max tie", lambda x: np.max(x), np.array([1.0,2.0,2.0]))
case("min tie", lambda x: np.min(x), np.array([1.0,1.0,2.0]))
case("maximum tie", lambda x: np.sum(np.maximum(x,0.0)), x)
case("maximum self", lambda x: np.sum(np.maximum(x,x)), x)
case("pow0", lambda x: np.sum(x**0), x)
case("pow2", lambda x: np.sum(x**2.0), x)
case("0**p", lambda p: np.sum(0.0**p), np.array([1.0,2.0]))
case("prod0", lambda x: np.prod(x), x)
case("norm0", lambda x: np.linalg.norm(x), np.zeros(2))
case("sqrt x2", lambda x: np.sum(np.sqrt(x**2)), x)
case("hypot0", lambda a,b: np.hypot(a,b), 0.0,0.0)
case("clip", lambda x: np.sum(np.clip(x,0,1)), x)
case("std const", lambda x: np.std(x), np.ones(3))
case("sort ties", lambda x: np.sum(np.sort(x)*np.arange(3.)), np.array([2.0,1.0,1.0]))
case("mod", lambda a,b: np.sum(np.mod(a,b)), np.array([5.5,-3.2]), np.array([2.0,1.5]))
case("floordiv", lambda a,b: np.sum(a//b), np.array([5.5,-3.2]), np.array([2.0,1.5]))
case("cumprod0", lambda x: np.sum(np.cumprod(x)), x)
case("argsort", lambda x: np.sum(x[np.argsort(x)]*np.arange(4.)), x)
case("median", lambda x: np.median(x), x)
case("arctan2 00", lambda a,b: np.arctan2(a,b),0.0,0.0)
case("sinc", lambda x: np.sum(np.sinc(x)), x)
case("python max", lambda a,b: max(a,b), 1.0,1.0)
case("python min", lambda a,b: min(a,b), 1.0,1.0)
case("abs py", lambda a: abs(a), 0.0)
case("bool arg", lambda b,x: x*b, True, 2.0)
case("bool array", lambda b,x: np.sum(x[b]), np.array([True,False,True,True]), x)
case("int array", lambda a: np.sum(a*0.5*a), np.array([1,2,3]))
case("complex", lambda z: np.abs(z)**2, 1+2j)
case("Cabs", lambda z: np.sum(np.abs(z)), np.array([0j,3+4j]))
case("angle", lambda z: np.sum(np.angle(z)), np.array([1j,3+4j]))
case("np div0", lambda x: np.sum(1/x), np.array([0.0]))
case("log0", lambda x: np.sum(np.log(x)), np.array([0.0,1.0]))
case("two same array", lambda a,b: np.sum(a*b), x, x)
case("max axis0", lambda x: np.sum(np.max(x,axis=0)*np.array([1.,10,100])), T)
case("max axis1", lambda x: np.sum(np.max(x,axis=1)*np.array([1.,10])), T)
case("min axis1", lambda x: np.sum(np.min(x,axis=1)*np.array([1.,10])), T)
case("max all", lambda x: np.max(x), T)
case("min all", lambda x: np.min(x), T)
case("max both", lambda x: np.max(x,axis=(0,1)), T)
case("amax T", lambda x: np.max(x.T), T)
case("ptp", lambda x: np.ptp(x), T)
case("nanmax", lambda x: np.nanmax(x), np.array([1.0,2,2]))
case("maxacc", lambda x: np.sum(np.maximum.accumulate(x)*np.array([1,10,100.])), np.array([2.0,2,1]))
case("minacc", lambda x: np.sum(np.minimum.accumulate(x)*np.array([1,10,100.])), np.array([2.0,2,1]))
case("max.reduce", lambda x: np.maximum.reduce(x), np.array([2.0,2,1]))
case("fmax", lambda x: np.sum(np.fmax(x,1.0)), np.array([2.0,1,0.5]))
case("fmin", lambda x: np.sum(np.fmin(x,1.0)), np.array([2.0,1,0.5]))
case("clip2", lambda x,a,b: np.sum(np.clip(x,a,b)), np.array([0.0,1,0.5]), 0.0, 1.0)
case("clip arr", lambda x,a: np.sum(np.clip(x,a,None)), np.array([0.0,1,0.5]), np.array([0.0,2,0]))
case("clip m", lambda x: x.clip(0,1).sum(), np.array([0.0,1,0.5]))
case("interp", lambda x,y: np.sum(np.interp(np.array([0.0,0.5,1.0,2.0]),x,y)), np.array([0.0,1.0,2.0]), np.array([3.0,1.0,2.0]))
case("interp x", lambda t: np.sum(np.interp(t,np.array([0.0,1.0,2.0]),np.array([3.0,1.0,2.0]))), np.array([0.0,0.5,1.0,2.0,3.0]))
case("interp, equal knots at the end", lambda t,x,y: np.sum(np.interp(t,x,y)), np.array([2.0,1.5]), np.array([0.0,1.0,2.0,2.0]), np.array([3.0,1.0,2.0,5.0]))
case("interp, equal knots", lambda t,x,y: np.sum(np.interp(t,x,y)), np.array([1.0,0.5]), np.array([0.0,1.0,1.0,2.0]), np.array([3.0,1.0,2.0,5.0]))
case("sign", lambda x: np.sum(np.sign(x)*x), np.array([0.0,1,-1]))
case("heaviside", lambda x: np.sum(np.heaviside(x,0.5)*x), np.array([0.0,1,-1]))
case("copysign", lambda x: np.sum(np.copysign(x,-1.0)), np.array([0.0,1,-1]))
case("logaddexp", lambda x: np.sum(np.logaddexp(x,x)), np.array([0.0,1,-1]))
case("logaddexp inf", lambda x: np.sum(np.logaddexp(x,1.0)), np.array([-np.inf,1]))
case("norm axis", lambda x: np.sum(np.linalg.norm(x,axis=1)), np.array([[0.0,0],[3,4]]))
case("norm1", lambda x: np.linalg.norm(x,1), np.array([0.0,-2,3]))
case("norminf", lambda x: np.linalg.norm(x,np.inf), np.array([3.0,-3,1]))
case("cbrt0", lambda x: np.sum(np.cbrt(x)), np.array([1.0,8]))
case("power neg", lambda x,p: np.sum(x**p), np.array([-2.0,3]), np.array([2.0,2]))
case("power ints", lambda x: np.sum(x**np.array([2,3])), np.array([-2.0,0.0]))
case("power neg int", lambda x: np.sum(x**-2), np.array([-2.0,3.0]))
case("py pow", lambda x,p: x**p, 2.0, 3.0)
case("py pow0", lambda x,p: x**p, 0.0, 2.0)
case("sort desc", lambda x: np.sum(np.sort(x)[::-1]*np.array([1,10,100.])), np.array([2.0,2,1]))
case("matmul vec", lambda a,b: np.sum((a@b)**2), T, np.array([1.0,2,3]))
case("tril", lambda x: np.sum(np.tril(x)*W), T)
case("roll", lambda x: np.sum(np.roll(x,1,axis=1)*W), T)
case("diff", lambda x: np.sum(np.diff(x,axis=1)**2), T)
case("cov-like", lambda x: np.sum((x-x.mean(0)).T@(x-x.mean(0))), T)
case("var ddof", lambda x: np.var(x,ddof=1), T)
case("einsum", lambda x: np.einsum("ij,ij->",x,x*W), T)
case("round", lambda x: np.sum(np.round(x)*x), T*1.3)
case("abs cplx sum", lambda z: np.sum((z*z).real), np.array([1+2j,0.5j]))
case("vdot", lambda z: np.vdot(z,z).real, np.array([1+2j,0.5j]))
case("det of rank 2", lambda a: np.linalg.det(a), np.array([[1.0, 2, 3], [2, 4, 7], [3, 6, 1]]))
case("det of rank 1 of 2", lambda a: np.linalg.det(a), np.array([[0.0, 1], [0, 0]]))
case("sinc near 0", lambda x: np.sum(np.sinc(x)), np.array([1e-9, 1e-6, 0.0]))
case("take", lambda a: np.sum(np.take(a, np.array([[1, 0], [0, 0]]), axis=1) ** 3 * np.arange(4.0).reshape(2, 2)), T)
case("kron", lambda a: np.sum(np.kron(a[0], a) * np.arange(18.0).reshape(2, 9)), T)
case("rot90", lambda a: np.sum(np.rot90(a.reshape(1, 2, 3)) * np.arange(6.0).reshape(2, 1, 3)), T)
case("median, kept", lambda a: np.sum(np.median(a, keepdims=True) * a), T)
case("searchsorted", lambda x: x[0] * np.searchsorted(x, np.nan), np.array([1.0, 2.0]))
# fmt: on


@pytest.mark.parametrize("name", CASES)
def test_slopes_are_the_traced_engines(name):
    f, args = CASES[name]
    with warnings.catch_warnings():  # of infinite values
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = zyg.gradient(f, *args, zeros=True)
        with zyg.config(fallback="silent"):
            found = zyg.gradient(zyg.compile(f), *args, zeros=True)
    for a, b in zip(found, expected, strict=True):
        if b is None:
            assert a is None
        else:
            np.testing.assert_allclose(a, b, rtol=1e-12)


z = np.array([1 + 2j, 0.5j, -1.0])
OF_COMPLEX = {
    "var": lambda z: np.var(z), "std": lambda z: z.std(), "norm": lambda z: np.linalg.norm(z),
    "vdot": lambda z: np.vdot(z, 2j * z), "correlate": lambda z: np.correlate(z, z),
    "clip of a list": lambda z: np.shape([z, z]), "reciprocal": lambda z: np.reciprocal(z),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_complex_numbers_and_lists_give_what_numpy_gives(name):
    f = OF_COMPLEX[name]
    with zyg.config(fallback="silent"):
        found = zyg.compile(f)(z)
    assert type(found) is type(f(z))
    np.testing.assert_allclose(found, f(z), rtol=1e-14)


OF_NUMBERS = {
    "fix": np.fix, "sinc": np.sinc, "expm1": special.expm1, "exp2": special.exp2,
    "log1p": special.log1p, "exp10": special.exp10, "logit": special.logit, "erf": special.erf,
    "entr": special.entr, "xlogy": lambda x: special.xlogy(x, 0.5),
    "bincount": lambda x: np.bincount(np.array([0, 2]), np.array([1, 2])) * x,
    "meshgrid": lambda x: len(np.meshgrid(*3 * [np.ones(2)])) * x,
    "is": lambda x: np.isnan(x) is np.False_,
    "kept": lambda x: (special.expm1(x) if x > 0 else 1.0) * 2,
}  # fmt: skip


@pytest.mark.parametrize("x", [0.25, np.float64(0.25), np.float32(0.25)], ids=repr)
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_functions_of_numbers_give_numpys(name, x):
    def f(x):
        return of(x)

    of = OF_NUMBERS[name]
    with zyg.config(fallback="silent"):
        found = zyg.compile(f)(x)
    assert type(found) is type(f(x))
    np.testing.assert_allclose(found, f(x), rtol=1e-6 if x.__class__ is np.float32 else 1e-14)


@pytest.mark.parametrize("x", [-1.0, 1.0, 3.0])
def test_a_bool_of_numpys_or_pythons_is_neither_of_the_others(x):
    def f(a):
        b = a[0] > 0
        if a[0] > 2:
            b = True
        return b is True, b is np.True_, b is not True, b is None, b is False

    with zyg.config(fallback="silent"):
        assert zyg.compile(f)(np.array([x])) == f(np.array([x]))


@pytest.mark.parametrize("a", [[1, -2, 3], [1.5, -2.5, np.nan]])
def test_fix_has_the_dtype_of_its_argument(a):
    for x in (np.array(a), np.array(a, "f4")):
        found = zyg.compile(lambda x: np.fix(x))(x)
        assert found.dtype == np.fix(x).dtype
        np.testing.assert_array_equal(found, np.fix(x))


def test_what_differs_from_numpys_is_refused_by_name():
    with zyg.config(fallback="error"):
        with pytest.raises(zyg.errors.CompileError, match="std of complex numbers is not compiled"):
            zyg.compile(OF_COMPLEX["std"])(z)
        with pytest.raises(zyg.errors.CompileError, match="the attribute nbytes of an array"):
            zyg.compile(lambda x: x.nbytes)(x)
        ints = np.array([1, 2])  # NumPy itself is asked
        assert (zyg.compile(lambda n: np.reciprocal(n))(ints) == np.reciprocal(ints)).all()


def test_some_of_all_functions_over_dtypes_and_shapes():
    said = []
    counts = run(EXPRESSIONS, (5, 700), said.append)
    assert not counts["differs"], said
    assert counts["the same"] > 10


@zyg.adjoint
def length(a):
    y = np.sqrt(np.sum(a * a))
    return y, lambda bar: (bar * a / y,)


def test_a_rule_of_a_matrix_that_gives_a_number_is_pushed_forward():
    f = zyg.compile(lambda a: length(a) * 2)
    with zyg.config(fallback="error"):
        y, y_dot = zyg.pushforward(f, (T,), (W,))

    assert y == pytest.approx(2 * np.sqrt(15))
    assert y_dot == pytest.approx(2 * np.sum(T * W) / np.sqrt(15))


def test_a_second_derivative_is_kept_beside_numbers_that_are_not_finite():
    x, p, one = np.array([2.0, np.inf]), np.zeros(2), np.ones(2)
    f = zyg.compile(lambda x, p: np.power(x, p).sum())

    curved = zyg.pushforward(lambda x, p: zyg.gradient(f, x, p)[0], (x, p), (0 * one, one))[1]

    assert curved[0] == pytest.approx(0.5)


# At extents that NumPy treats apart; one to a line.
# fmt: off
APART = [
    (lambda p: np.polyval(p, 0.5), np.zeros(0)),
    (lambda x, w: np.average(x, weights=w), np.ones(2), np.array([1.0, -1.0])),
    (lambda x, w: np.average(x, 0, weights=w), np.ones((2, 2)), np.array([[1.0, 2.0], [-1.0, 3.0]])),
    (lambda x, w: np.average(x, 0, weights=w), np.ones((2, 2)), np.array([1.0, -1.0])),
    (lambda x: np.cov(x), np.array([[1.0, 2.0, 4.0]])),
    (lambda x: np.einsum("ii", x), np.ones((1, 3))),
    (lambda x: np.einsum("ii", x), np.ones((0, 1))),
    (lambda x, y: np.einsum("ii,i->i", x, y), np.ones((1, 3)), np.ones(3)),
    (lambda x, j: x[j], np.ones((3, 0)), np.array([5])),
    (lambda x, j: x[:, j], np.ones((0, 3)), np.array([5])),
    (lambda x, j: np.bincount(j, x, 6), np.zeros(0), np.zeros(0, int)),
    (lambda x, j: np.bincount(j, x), np.ones(3), np.array([0, 1])),
]
# fmt: on


@pytest.mark.parametrize("n", range(len(APART)))
def test_extents_that_numpy_treats_apart(n):
    f, *args = APART[n]

    def outcome(g):
        try:
            y = g(*args)
        except (IndexError, ValueError, ZeroDivisionError) as error:
            return type(error)
        return type(y), y.dtype, y.shape, np.round(y, 12).tolist()

    with warnings.catch_warnings(), zyg.config(fallback="silent"):
        warnings.simplefilter("ignore", RuntimeWarning)
        assert outcome(zyg.compile(f)) == outcome(f)
