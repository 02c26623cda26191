"""What NumPy refuses is refused in its words: the same exception, with the same text."""

import numpy as np
import pytest

import zyg

from ..calls.calls import CUBE, A, V, W, matrix
from ..calls.numpy_reductions import ROW
from ..calls.numpy_statistics import WEIGHTS

SQUARE, KNOTS, HEIGHTS = matrix(3, 3), np.array([0.0, 1.0, 3.0]), np.array([2.0, 5.0, 1.0])
windows = np.lib.stride_tricks.sliding_window_view

REFUSED = [
    # Reductions, and methods of ufuncs
    *((f, A) for f in (
        lambda x: np.cumulative_sum(x), lambda x: np.sum(x, axis=5),
        lambda x: np.max(x, where=ROW), lambda x: np.max(x[:, :0], axis=1),
        lambda x: np.var(x, where=np.ones((2, 3, 4), bool)),
        lambda x: np.subtract.reduce(x, axis=None), lambda x: np.hypot.reduce(x, axis=2),
        lambda x: np.hypot.accumulate(x, axis=5), lambda x: np.add.reduceat(x, [9]),
        lambda x: np.fmax.reduce(x, where=x > 0),
    )),
    # Sorting
    *((f, A) for f in (
        lambda x: np.quantile(x, 1.5), lambda x: np.quantile(x, 0.5, method="none"),
        lambda x: np.percentile(x, 101), lambda x: np.sort(x, axis=3),
        lambda x: np.sort(x, order="a"), lambda x: np.sort(x, kind="a"),
        lambda x: np.sort(x, kind="heapsort", stable=True), lambda x: np.partition(x, 9),
        lambda x: np.median(x, axis=3), lambda x: np.compress([[True]], x),
        lambda x: np.take_along_axis(x, np.array([0]), 0), lambda x: np.sort(x[0, 0]),
        lambda x: np.choose(np.array([5]), [x, x]), lambda x: np.select([x], [x]),
        lambda x: np.quantile(x, 0.5, weights=np.ones(2)), lambda x: np.quantile(x + 1j, 0.5),
    )),
    # Statistics
    *((f, A) for f in (
        lambda x: np.average(x, weights=V), lambda x: np.average(x, 0, V),
        lambda x: np.average(x, 1, np.zeros(4)), lambda x: np.cov(x[None]),
        lambda x: np.cov(x, ddof=1.5), lambda x: np.cov(x, aweights=V),
        lambda x: np.histogram(x, -1), lambda x: np.histogram(x, [2, 1]),
        lambda x: np.histogram(x, weights=WEIGHTS[0]), lambda x: np.histogram2d(x[0], x[0, :2]),
        lambda x: np.histogramdd(x, [2, 2]), lambda x: np.bincount([-1], x[0, :1]),
        lambda x: np.bincount([0, 1], x[0]), lambda x: np.corrcoef(x[None]),
    )),
    # Functions of functions
    *((f, A) for f in (
        lambda x: np.apply_along_axis(np.sum, 0, x[:, :0]),
        lambda x: np.apply_along_axis(np.sum, 2, x),
        lambda x: np.apply_over_axes(lambda v, axis: v[0, 0], x, 0),
        lambda x: np.piecewise(x, [x > 0], [1, 2, 3]),
    )),
    # Fourier transforms
    *((f, V) for f in (
        lambda x: np.fft.fft(x, norm="none"), lambda x: np.fft.hfft(x, norm="none"),
        lambda x: np.fft.ihfft(x, norm="none"), lambda x: np.fft.fft(x, 0),
        lambda x: np.fft.fftn(x, (2, 2), (0,)), lambda x: np.fft.irfft(x, axis=1),
    )),
    # Differences, interpolation and sequences
    *((f, V) for f in (
        lambda x: np.diff(x, -1), lambda x: np.diff(x[0]), lambda x: np.diff(x, axis=1),
        lambda x: np.gradient(x[:1]), lambda x: np.gradient(x, 1.0, 2.0),
        lambda x: np.gradient(x, x[:2]), lambda x: np.interp(x, KNOTS, HEIGHTS[:2]),
        lambda x: np.interp(x, KNOTS, HEIGHTS, period=0), lambda x: np.geomspace(x[0], 0.0),
        lambda x: np.linspace(x[0], 1, -1), lambda x: np.ediff1d(x, 1j),
        lambda x: np.vander(x.reshape(2, 2)),
    )),
    # Choosing, inserting, joining and padding
    *((f, V) for f in (
        lambda x: np.delete(x, 9), lambda x: np.insert(x, 9, 1.0), lambda x: np.block([[x], x]),
        lambda x: np.pad(x, 1, "nonsense"), lambda x: np.pad(x, 1.5),
        lambda x: np.pad(x, 1, constant_value=2), lambda x: np.rot90(x),
        lambda x: np.broadcast_arrays(x, np.ones(3)), lambda x: np.ix_(x[None]),
        lambda x: np.meshgrid(x, x, indexing="yx"), lambda x: np.trim_zeros(x, "z"),
        lambda x: windows(x, 5), lambda x: np.unstack(x[0].reshape(())),
    )),
    # Polynomials
    *((f, np.array([1.5, -0.7, 2.2])) for f in (
        lambda p: np.polyder(p, -1), lambda p: np.polyint(p, -1),
        lambda p: np.polyint(p, 3, k=[1, 2]), lambda p: np.polyfit(p, p, -1),
        lambda p: np.polyfit(p, p[:2], 1), lambda p: np.polyfit(p[:2], p[:2], 1, cov=True),
        lambda p: np.roots(p[None]), lambda p: np.poly(p[None]),
    )),
    # Linear algebra
    (np.linalg.inv, A), (np.linalg.det, A), (np.linalg.eigh, V), (np.linalg.cholesky, A),
    (np.linalg.svd, V), (lambda a: np.linalg.eigh(a, "X"), SQUARE),
    (lambda a: np.linalg.solve(a, V), SQUARE), (lambda a: np.linalg.qr(a, mode="nonsense"), A),
    (lambda a: np.linalg.lstsq(a, W[:2]), A), (lambda a: np.linalg.matrix_power(a, 2), A),
    (lambda a: np.linalg.matrix_power(a, 2.5), SQUARE), (lambda a: np.linalg.tensorinv(a, 0), CUBE),
    (lambda a: np.linalg.tensorsolve(a, V), CUBE), (lambda a: np.linalg.norm(a, "nuc"), V),
    (lambda a: np.linalg.norm(a, 5), A), (lambda a: np.linalg.norm(a, 2, (0, 0)), A),
    (lambda a: np.linalg.norm(a, "nuc", (0, 7)), A), (lambda a: np.linalg.cond(a, 1), A),
    (lambda a: np.linalg.pinv(a, 0.1, rtol=0.1), A), (lambda a: np.linalg.multi_dot([a]), A),
    (lambda a: np.linalg.multi_dot([a, a, a]), A), (lambda a: np.linalg.multi_dot([a, CUBE, a]), A),
    (lambda a: np.linalg.multi_dot([a, a, a[0]]), CUBE), (lambda a: np.linalg.outer(a, a), A),
    (lambda a: np.linalg.cross(a, a), A), (lambda a: np.cross(a, V), A),
    (lambda a: np.convolve(a, V), A), (lambda a: np.convolve(a, []), V),
    (lambda a: np.correlate(a, V, "nonsense"), V), (lambda a: np.vecdot(a, W), A),
    (lambda a: np.matvec(a, W), A), (lambda a: np.vecmat(a, W), A),
    (lambda a: np.einsum("ij,jk", a, W), A), (lambda a: np.einsum(a, [0, 99]), A),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x"), REFUSED)
def test_what_numpy_refuses_is_refused_in_its_words(f, x):
    with pytest.raises(Exception) as plain:  # noqa: PT011
        f(x)
    with pytest.raises(type(plain.value)) as caught:
        zyg.pullback(f, x)
    assert str(caught.value) == str(plain.value)
    assert not isinstance(caught.value, zyg.errors.ZygError)
