"""What the table of calls cannot say about Fourier transforms."""

import numpy as np
import pytest

import zyg

from ..calls.calls import CUBE, A, V, array

N_DIMENSIONAL = [np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn]


@pytest.mark.parametrize("f", N_DIMENSIONAL)
def test_lengths_without_axes_are_those_of_the_last_axes(f):
    with pytest.warns(DeprecationWarning, match="axes"):
        zyg.check_gradient(lambda x: f(x, (5, 3)), CUBE)


@pytest.mark.parametrize("f", [np.fft.irfft, np.fft.hfft])
@pytest.mark.parametrize("n", [4, 5])
def test_the_parts_that_are_ignored_have_slope_zero(f, n):
    z = array(3) + 1j * array(3, seed=1)
    (z_bar,) = zyg.gradient(lambda z: np.sum(f(z, n) * np.arange(n)), z)

    assert z_bar[0].imag == 0
    assert (z_bar[2].imag == 0) == (n == 4)


@pytest.mark.parametrize("f", N_DIMENSIONAL)
def test_an_axis_that_is_named_twice_with_lengths_is_refused(f):
    with pytest.raises(zyg.errors.MissingRuleError, match=f.__name__):
        zyg.pullback(lambda x: f(x, (5, 3), (1, 1)), A)


@pytest.mark.parametrize("f", [np.fft.fftfreq, np.fft.rfftfreq])
def test_frequencies_scale_with_the_spacing(f):
    zyg.check_gradient(lambda d: f(5, d), 0.3)


def test_the_energy_of_a_spectrum_is_that_of_the_signal():
    (x_bar,) = zyg.gradient(lambda x: np.sum(np.abs(np.fft.fft(x, norm="ortho")) ** 2), V)

    np.testing.assert_allclose(x_bar, 2 * V, rtol=1e-13)
