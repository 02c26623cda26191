"""Functions of numbers: extreme arguments, NumPy's other names, what an array answers by itself."""

import numpy as np
import pytest
from scipy import special

import zyg
import zyg.scipy.special
from zyg.errors import ConversionError

from ..calls.calls import CUBE, A, V


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (np.acos, np.arccos), (np.acosh, np.arccosh), (np.asin, np.arcsin), (np.abs, np.absolute),
        (np.asinh, np.arcsinh), (np.atan, np.arctan), (np.atan2, np.arctan2), (np.pow, np.power),
        (np.atanh, np.arctanh), (np.concat, np.concatenate), (np.permute_dims, np.transpose),
        (np.bitwise_invert, np.invert), (np.conj, np.conjugate),
    ],
)  # fmt: skip
def test_names_of_the_array_api_are_the_same_functions(new, old):
    assert new is old


@pytest.mark.parametrize("x", [0.0, 1e-8, 0.3, -2.0, 7.9, 8.1, 50.0, -300.0, 700.0])
def test_the_slope_of_i0_is_i1(x):
    """I1(x) = (x / pi) * integral of exp(x cos t) sin(t)^2, another formula than the rule's."""
    t = np.linspace(0, np.pi, 4001)
    i1 = x * np.mean((np.exp(x * np.cos(t)) * np.sin(t) ** 2)[1:])

    assert zyg.gradient(np.i0, x)[0] == pytest.approx(i1, rel=1e-12)


def test_i0_to_third_order():
    zyg.check_gradient(np.i0, A, order=3)


def test_frexp_takes_the_power_of_two_apart():
    zyg.check_gradient(lambda x: np.ldexp(*np.frexp(x)), A)
    for x in (0.0, 8.0, -1e300, 1e-300):
        mantissa, exponent = np.frexp(x)
        assert zyg.gradient(lambda x: np.frexp(x)[0], x)[0] == pytest.approx(0.5**exponent)
    assert mantissa


def test_the_imaginary_part_is_dropped_only_where_it_is_rounding():
    z = np.array([1.0 + 1e-16j, 2.0])
    y, back = zyg.pullback(np.real_if_close, z)

    assert y.dtype == float
    np.testing.assert_array_equal(back(np.ones(2))[0], [1.0, 1.0])
    zyg.check_gradient(np.real_if_close, z + 0.1j)


def test_the_flat_iterator_of_an_array_reads_and_writes_its_elements():
    def through_flat(x):
        y = x * 1.0
        y.flat[1] = x[0, 0] ** 2
        y.flat[4:6] = 0.0
        return np.sum(np.stack([v * v for v in y.flat])) + x.flat[3] * x.flat[-1]

    def filled(x):
        y = np.zeros_like(x)
        y.flat = x.flat
        return y * x

    zyg.check_gradient(through_flat, A)
    zyg.check_gradient(filled, A)
    with pytest.raises(ConversionError, match="contiguous"):
        zyg.pullback(lambda x: x.T.flat[0], A)


def test_a_view_of_the_same_type_is_the_array_itself():
    def written(x):
        y = x * 1.0
        y.view()[0] = 0.0
        return y.view(y.dtype) * y.view(np.ndarray)

    zyg.check_gradient(written, A)
    with pytest.raises(ConversionError, match="view"):
        zyg.pullback(lambda x: x.view(np.int64), A)


def test_code_for_any_array_library_finds_numpy():
    def loss(x):
        xp = x.__array_namespace__(api_version="2022.12")
        y = xp.concat([x, xp.permute_dims(x, (1, 0)).mT], axis=0)
        y = xp.asin(xp.clip(xp.matrix_transpose(y) / 9, -1, 1)).to_device(x.device)
        return xp.sum(xp.pow(xp.abs(y), 2.5)) + xp.mean(xp.astype(y, xp.float64), axis=-1)[0]

    zyg.check_gradient(loss, A)
    assert not hasattr(zyg.pullback(lambda x: [x], 1.0)[0][0], "__array_namespace__")
    with pytest.raises(ValueError, match="device"):
        zyg.pullback(lambda x: x.to_device("gpu"), A)


def test_attributes_without_rule_are_refused_by_name():
    for name in ("ctypes", "data", "tobytes", "dump", "getfield"):
        with pytest.raises(ConversionError, match=name):
            zyg.pullback(lambda x: getattr(x, name), CUBE)  # noqa: B023
    assert zyg.gradient(lambda x: np.sum(x) * x.nbytes, V)[0][0] == V.nbytes


@pytest.mark.parametrize("order", [zyg.gradient, zyg.hessian])
@pytest.mark.parametrize("x", [0.7, np.array(0.7), np.array([0.7, 1.3])])
@pytest.mark.parametrize("code", "?bBhHILQef")
@pytest.mark.parametrize(
    "f",
    [
        lambda b, x: np.power(b, x), lambda b, x: special.boxcox1p(b, x),
        lambda b, x: special.rel_entr(b, x), lambda b, x: special.stdtr(x, b),
        lambda b, x: x / b,
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_a_constant_of_few_bits_counts_as_a_float(f, code, x, order):
    """NumPy has log(True) in 16 bits, and -np.uint8(1) is 255."""
    for b in (np.dtype(code).type(1), np.ones(2, code), np.full((2, 1), 3).astype(code)):
        found = order(lambda x, b=b: np.sum(f(b, x)), x)
        right = order(lambda x, b=b: np.sum(f(np.float64(b), x)), x)
        near = {2: 1e-2, 4: 1e-5, 8: 1e-12}[f(b, x).dtype.itemsize]

        assert np.allclose(found, right, rtol=near, atol=0)


def test_the_power_of_two_of_ldexp_is_not_rounded_to_16_bits():
    (found,) = zyg.gradient(lambda x: np.sum(np.ldexp(x, np.array([20, 1], np.int8))), np.ones(2))

    assert list(found) == [2.0**20, 2.0]
