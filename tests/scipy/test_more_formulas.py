"""Formulas of filters, matrices, polynomials and grids: SciPy's values, both modes, two orders."""

import numpy as np
import pytest
import scipy

import zyg
from zyg.errors import ZygError
from zyg.scipy import fft, interpolate, linalg, optimize, signal

B, A, X = np.array([0.3, 0.7, 0.2]), np.array([1.3, 0.4, -0.2]), np.array([0.3, 0.8, 1.7, 2.2])
PEAKS = np.array([0.1, 0.7, 0.3, 0.9, 0.2, 0.5, 0.8, 0.4])
PLACES = np.array([0.0, 0.7, 1.4, 2.5])
CASES = {
    "group_delay": (lambda s, b, a: s.group_delay((b, a), 5)[1], B, A),
    "group_delay at": (lambda s, b, w: s.group_delay((b, A), w)[1], B, X),
    "iirnotch": (lambda s, w, q: np.concatenate(s.iirnotch(w, q)), 0.3, 2.5),
    "iirpeak": (lambda s, w, q, fs: np.concatenate(s.iirpeak(w, q, fs)), 0.3, 2.5, 1.7),
    "kaiser_beta": (lambda s, a: s.kaiser_beta(a), 30.0),
    "kaiser_beta high": (lambda s, a: s.kaiser_beta(a), 60.0),
    "kaiser_beta low": (lambda s, a: s.kaiser_beta(a) * a, 10.0),
    "peak_prominences": (lambda s, x: s.peak_prominences(x, [1, 3, 6])[0], PEAKS),
    "peak_widths": (lambda s, x, h: np.stack(s.peak_widths(x, [1, 3, 6], h)), PEAKS, 0.5),
    "peak_widths low": (lambda s, x, h: np.stack(s.peak_widths(x, [1, 3, 6], h)), PEAKS, 0.9),
    "gauss_spline": (lambda s, x: s.gauss_spline(x, 3), X),
    "normalize": (lambda s, b, a: np.concatenate(s.normalize(b, a)), B, A),
    "lp2lp": (lambda s, b, a, w: np.concatenate(s.lp2lp(b, a, w)), B[:2], A, 1.7),
    "lp2lp of more": (lambda s, b, a, w: np.concatenate(s.lp2lp(b, a, w)), B, A[:2], 1.7),
}
OTHERS = {
    "wide": (linalg.diagsvd, lambda f, s: f(s, 3, 5), B),
    "high": (linalg.diagsvd, lambda f, s: f(s, 5, 3), B),
    **{
        f"fiedler_companion {n}": (linalg.fiedler_companion, lambda f, a: f(a), X[0] + PLACES[:n])
        for n in (2, 3, 4)
    },
    "rosen_hess_prod": (optimize.rosen_hess_prod, lambda f, x, p: f(x, p), B, A),
    "fftfreq": (fft.fftfreq, lambda f, d: f(5, d), 0.7),
    "rfftfreq": (fft.rfftfreq, lambda f, d: f(5, d), 0.7),
    **{
        f"{f.__name__} {title}": (f, *case)
        for f in (interpolate.barycentric_interpolate, interpolate.krogh_interpolate)
        for title, case in {
            "of all": (lambda f, xi, y, x: f(xi, y, x), PLACES, X, B),
            "at a number": (lambda f, y, x: f(PLACES, y, x), X, 0.3),
            "of columns": (lambda f, y, x: f(PLACES, y, x), np.outer(X, [1.0, 2.0]), B[None]),
            "of rows": (lambda f, y, x: f(PLACES, y, x, axis=1), np.outer([1.0, 2.0], X), B),
        }.items()
    },
}


@pytest.mark.parametrize("name", CASES)
def test_filters_of_numbers(name):
    f, *args = CASES[name]
    np.testing.assert_array_equal(f(signal, *args), f(scipy.signal, *args))
    zyg.check_gradient(lambda *given: f(signal, *given), *args)


@pytest.mark.parametrize("name", OTHERS)
def test_matrices_grids_and_polynomials(name):
    f, call, *args = OTHERS[name]
    # SciPy goes through the points of barycentric_interpolate in a random order.
    np.testing.assert_allclose(call(f, *args), call(f.original, *args), rtol=1e-14)
    zyg.check_gradient(lambda *given: call(f, *given), *args)


def test_what_a_formula_does_not_know_is_refused():
    with pytest.raises(ZygError, match="der=1"):
        zyg.gradient(lambda x: interpolate.krogh_interpolate(PLACES, X, x, der=1), 0.3)
