"""Estimated densities: scipy.stats.gaussian_kde of watched data, bandwidths, weights and points."""

from typing import Any

import numpy as np

from zyg.functions.kit import as_array, is_watched, stands_for, strip, watched_leaves
from zyg.scipy._linalg_systems import solve_triangular
from zyg.scipy._namespace import InPlaceOfSciPys
from zyg.scipy._special_functions import logsumexp
from zyg.scipy._theirs import stats

_ATTRIBUTES = ("dataset", "_weights", "covariance", "cho_cov", "factor")


@stands_for(stats.gaussian_kde)
class gaussian_kde(  # noqa: N801 - SciPy's name
    stats.gaussian_kde,  # type: ignore[misc]
    metaclass=InPlaceOfSciPys,
):
    """scipy.stats.gaussian_kde, of data and at points that may be watched."""

    scipys = stats.gaussian_kde

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        dataset = as_array(dataset)
        weights = None if weights is None else as_array(weights)
        super().__init__(strip(dataset), strip(bw_method), strip(weights))
        if watched_leaves((dataset, bw_method, weights)):
            self.dataset = np.atleast_2d(dataset)
            if weights is not None:
                self._weights = np.atleast_1d(weights) / np.sum(weights)
                self._neff = 1 / np.sum(self._weights * self._weights)
            self.set_bandwidth("scott" if bw_method is None else bw_method)

    def set_bandwidth(self, bw_method: Any = None) -> None:
        if is_watched(bw_method):
            self._bw_method = "use constant"
            self.covariance_factor = lambda: bw_method
            self._compute_covariance()
        else:
            super().set_bandwidth(bw_method)

    def _compute_covariance(self) -> None:
        factor = self.covariance_factor()
        if not watched_leaves((self.dataset, getattr(self, "_weights", None), factor)):
            super()._compute_covariance()
            return
        spread = np.atleast_2d(np.cov(self.dataset, aweights=self.weights))
        self.factor, self.covariance = factor, spread * factor**2
        self.cho_cov = np.linalg.cholesky(spread) * factor
        self.log_det = 2 * np.sum(np.log(np.diagonal(self.cho_cov) * np.sqrt(2 * np.pi)))

    def evaluate(self, points: Any) -> Any:
        found = self._log(points)
        return super().evaluate(points) if found is None else np.exp(found)

    __call__ = evaluate

    def logpdf(self, x: Any) -> Any:
        found = self._log(x)
        return super().logpdf(x) if found is None else found

    def _log(self, points: Any) -> Any:
        """The logarithm of the density, where anything is watched."""
        points = as_array(points)
        if not watched_leaves([points, *(getattr(self, name, None) for name in _ATTRIBUTES)]):
            return None
        points = np.atleast_2d(points)
        if np.shape(points) == (1, self.d):
            points = np.reshape(points, (self.d, 1))
        if np.shape(points)[0] != self.d:
            super().evaluate(strip(points))  # raises
        whole = np.concatenate([self.dataset, points], axis=1)
        unit = solve_triangular(self.cho_cov, whole, 0, True)
        away = np.expand_dims(unit[:, : self.n], 2) - np.expand_dims(unit[:, self.n :], 1)
        near = -0.5 * np.sum(away * away, axis=0)
        return logsumexp(near, 0, np.expand_dims(self.weights, 1)) - 0.5 * self.log_det
