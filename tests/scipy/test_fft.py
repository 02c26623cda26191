"""Transforms of scipy.fft: Hermitian ones of several axes, and Hankel's."""

import numpy as np
import pytest
import scipy.fft

import zyg
from zyg.errors import MissingRuleError
from zyg.scipy import fft

X = np.random.default_rng(2).normal(size=(3, 4, 5))
Z = X + 1j * np.random.default_rng(3).normal(size=X.shape)
V = X[0, 0]
PARAMETERS = 0.3, 1.2, 0.1, 0.2  # dln, mu, offset, bias


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["hfft2", "hfftn", "ihfft2", "ihfftn"])
def test_hermitian_transforms(name, norm):
    f, theirs, x = getattr(fft, name), getattr(scipy.fft, name), X if name[0] == "i" else Z
    for s, axes in ((None, (0, 1)), ((4, 3), (1, 2)), ((2, 9), (-1, 0))):
        zyg.check_gradient(lambda x, s=s, axes=axes: f(x, s, axes, norm), x)
        y, _ = zyg.pullback(lambda x, s=s, axes=axes: f(x, s, axes, norm), x)
        np.testing.assert_array_equal(y, theirs(x, s, axes, norm))
    zyg.check_gradient(lambda x: f(x, norm=norm, workers=1), x)
    if name.endswith("n"):
        zyg.check_gradient(lambda x: f(x, (3, 3), norm=norm), x)
    narrow = x.astype(np.complex64 if name[0] == "h" else np.float32)
    y, _ = zyg.pullback(lambda x: f(x, norm=norm), narrow)
    assert y.dtype == theirs(narrow).dtype


@pytest.mark.parametrize("name", ["fht", "ifht"])
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_hankel_transforms(name, n):
    f, x = getattr(fft, name), np.random.default_rng(n).normal(size=(2, n))
    zyg.check_gradient(lambda x: f(x, *PARAMETERS), x)
    zyg.check_gradient(lambda *p: f(x, *p), *PARAMETERS, order=2)
    zyg.check_gradient(f, x, *PARAMETERS)
    y, _ = zyg.pullback(lambda x: f(x, *PARAMETERS), x)
    np.testing.assert_array_equal(y, getattr(scipy.fft, name)(x, *PARAMETERS))


@pytest.mark.parametrize(("name", "bias"), [("fht", 2.0), ("fht", -2.0), ("ifht", -2.0)])
@pytest.mark.filterwarnings("ignore:singular")
def test_hankel_transforms_at_a_pole(name, bias):
    f = getattr(fft, name)
    zyg.check_gradient(lambda x: f(x, 0.3, 1.0, 0.1, bias), V)
    with pytest.raises(MissingRuleError, match=rf"fft\.{name} .*at a pole .*watched parameters"):
        zyg.gradient(lambda mu: np.sum(f(V, 0.3, mu, 0.1, bias)), 1.0)


def test_the_offset_of_a_hankel_transform():
    zyg.check_gradient(fft.fhtoffset, *PARAMETERS, order=2)
    y, _ = zyg.pullback(fft.fhtoffset, *PARAMETERS)
    assert y == scipy.fft.fhtoffset(*PARAMETERS)


def test_a_transform_and_back():
    def around(x, dln, mu):
        offset = fft.fhtoffset(dln, mu)
        return fft.ifht(fft.fht(x, dln, mu, offset), dln, mu, offset)

    zyg.check_gradient(around, V, 0.3, 1.2)
    np.testing.assert_allclose(
        zyg.jacobian(lambda x: around(x, 0.3, 1.2), V)[0], np.eye(5), atol=1e-9
    )


@pytest.mark.parametrize("name", ["fft2", "rfftn", "hfft2", "ihfftn", "dctn", "idstn"])
def test_one_axis_may_come_alone(name):
    f, theirs = getattr(fft, name), getattr(scipy.fft, name)
    for options in ({"s": 3, "axes": 1}, {"axes": 0}, {"s": (-1, 2), "axes": (0, 1)}):
        zyg.check_gradient(lambda x, options=options: f(x, **options), X, order=1)
        y, _ = zyg.pullback(lambda x, options=options: f(x, **options), X)
        np.testing.assert_array_equal(y, theirs(X, **options))
