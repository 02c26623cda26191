"""Distributions of several variables, as formulas in functions that have rules."""

from typing import ClassVar

import numpy as np

from zyg.adoption.copies import copied
from zyg.functions.kit import as_array, dropins, is_watched, strip
from zyg.numpy.draws import drawn
from zyg.scipy._distributions import LOG_2PI, Frozen, OfSciPy, generator_of, number, wide
from zyg.scipy._linalg_factors import cholesky
from zyg.scipy._linalg_systems import solve_triangular
from zyg.scipy._special_functions import multigammaln
from zyg.scipy._theirs import special as sp
from zyg.scipy._theirs import stats


class _OfSeveral(OfSciPy):
    """A distribution of several variables; frozen it is SciPy's, where nothing is watched."""

    points: ClassVar[tuple[str, ...]] = ("pdf", "logpdf")

    def __call__(self, *args, **kwargs):
        frozen = dropins.if_watched(self.scipys, lambda *a, **k: Frozen(self, a, k))
        return frozen(*args, **kwargs)

    def point_first(self, name, args, kwargs):
        return (kwargs.pop("x"), *args) if "x" in kwargs else args

    def written_pdf(self, *args, **kwargs):
        return np.exp(self.written_logpdf(*args, **kwargs))

    def _draw(self, seed, name, *args):
        """A draw of a generator's, by the name of its method."""
        return drawn(getattr(generator_of(self.scipys, seed), name), args, {})


class ByOwnCode(_OfSeveral):
    """A distribution whose `methods` are differentiated along SciPy's own code."""

    points = ("pdf", "logpdf", "pmf", "logpmf")

    def __init__(self, name, *methods):
        super().__init__(name)
        self.methods = methods

    def _formula_of(self, name):
        return lambda *args, **kwargs: getattr(copied(self.scipys), name)(*args, **kwargs)


class Dirichlet(_OfSeveral):
    """scipy.stats.dirichlet, its density and samples."""

    methods = ("pdf", "logpdf", "rvs")

    def written_rvs(self, alpha, size=1, random_state=None):
        return self._draw(random_state, "dirichlet", alpha, size)

    def written_logpdf(self, x, alpha):
        x, alpha = wide(x), wide(alpha)
        stats.dirichlet.logpdf(strip(x), strip(alpha))  # raises where they define none
        if len(x) == len(alpha) - 1:
            x = np.concatenate([x, np.expand_dims(1 - np.sum(x, axis=0), 0)])
        scale = np.sum(sp.gammaln(alpha)) - sp.gammaln(np.sum(alpha))
        return number(np.sum(np.transpose(sp.xlogy(alpha - 1, np.transpose(x))), axis=0) - scale)


class MultivariateNormal(_OfSeveral):
    """scipy.stats.multivariate_normal; a watched covariance is regular."""

    methods = ("pdf", "logpdf", "entropy", "rvs")

    def written_rvs(self, mean=None, cov=1, size=1, random_state=None):
        if isinstance(cov, stats.Covariance):
            e = self.scipys.rvs(None, cov, size, random_state)
            return as_array(mean) + e
        given = _mean_and_covariance(mean, cov)
        return _squeezed(self._draw(random_state, "multivariate_normal", *given, size))

    def written_logpdf(self, x, mean=None, cov=1.0, allow_singular=False):
        x = wide(x)
        mean, cov = _mean_and_covariance(mean, cov)
        n = len(cov)
        rows = np.reshape(x, (-1, n)) - mean
        flat = _flat_axes(cov) if allow_singular else None
        if flat is None:
            factor = cholesky(cov, True)
            unit = solve_triangular(factor, np.transpose(rows), 0, True)
            log_scale = _log_size(factor)
        else:
            axes, spread, outside = flat
            unit = np.transpose(rows @ (axes / spread))
            log_scale = np.sum(np.log(spread))
        y = -0.5 * (len(unit) * LOG_2PI + np.sum(unit * unit, axis=0)) - log_scale
        if flat is not None:
            y = np.where(outside(strip(rows)), -np.inf, y)
        shape = np.shape(x) if n == 1 and np.ndim(x) < 2 else np.shape(x)[:-1]
        return number(np.reshape(y, shape))

    def written_entropy(self, mean=None, cov=1.0, allow_singular=False):
        _, cov = _mean_and_covariance(mean, cov)
        factor = cholesky(cov, True)
        return 0.5 * len(factor) * (LOG_2PI + 1) + _log_size(factor)


def _log_size(factor):
    return np.sum(np.log(np.diagonal(factor)))


def _mean_and_covariance(mean, cov):
    cov = wide(cov.covariance if isinstance(cov, stats.Covariance) else cov)
    n = np.size(mean) if mean is not None else len(cov) if np.ndim(cov) else 1
    mean = np.zeros(n) if mean is None else np.reshape(wide(mean), (n,))
    return mean, cov if np.ndim(cov) == 2 else np.eye(n) * cov


def _flat_axes(cov):
    """Of a plain singular covariance its axes, their lengths, and which rows are off them."""
    if is_watched(cov):
        return None
    squares, axes = np.linalg.eigh(cov)
    least = 1e6 * np.finfo(float).eps * np.max(np.abs(squares))  # as SciPy has it
    flat = squares <= least
    if not flat.any():
        return None

    def outside(rows):
        return np.linalg.norm(rows @ axes[:, flat], axis=-1) >= 1e3 * least

    return axes[:, ~flat], np.sqrt(squares[~flat]), outside


def _squeezed(y):
    return number(np.squeeze(y))


def _as_matrix(scale):
    n = len(scale) if np.ndim(scale) else 1
    return scale if np.ndim(scale) == 2 else np.eye(n) * scale


def _log_dets(x):
    return np.linalg.slogdet(x)[1]


def _log_det(factor):
    return 2 * np.sum(np.log(np.diagonal(factor)))


class MultivariateT(_OfSeveral):
    """scipy.stats.multivariate_t; a watched shape is regular."""

    methods = ("pdf", "logpdf", "rvs")

    def written_logpdf(self, x, loc=None, shape=1, df=1):
        if np.isinf(strip(df)):
            return np.atleast_1d(
                MultivariateNormal("multivariate_normal").written_logpdf(x, loc, shape)
            )
        plain = None if loc is None else strip(loc)
        stats.multivariate_t.logpdf(strip(x), plain, strip(shape), strip(df))  # raises
        loc, shape = _mean_and_covariance(loc, shape)
        n, x = len(shape), wide(x)
        factor = cholesky(shape, True)
        unit = solve_triangular(factor, np.transpose(np.reshape(x, (-1, n)) - loc), 0, True)
        half = 0.5 * (df + n)
        y = sp.gammaln(half) - sp.gammaln(0.5 * df) - 0.5 * n * np.log(df * np.pi)
        y = y - 0.5 * _log_det(factor) - half * np.log1p(np.sum(unit * unit, axis=0) / df)
        return _squeezed(np.reshape(y, np.shape(x) if n == 1 else np.shape(x)[:-1]))

    def written_rvs(self, loc=None, shape=1, df=1, size=1, random_state=None):
        generator = generator_of(self.scipys, random_state)
        loc, shape = _mean_and_covariance(loc, shape)
        flat = np.ones(size)
        if not np.isinf(strip(df)):
            flat = self._draw(generator, "chisquare", df, size) / df
        z = self._draw(generator, "multivariate_normal", np.zeros(len(shape)), shape, size)
        return _squeezed(loc + z / np.expand_dims(np.sqrt(flat), -1))


class _OfMatrices(_OfSeveral):
    methods = ("pdf", "logpdf", "rvs")

    def _rows(self, x, df, scale):
        """The matrices as a stack, the Cholesky factor of the scale."""
        self.scipys.logpdf(strip(x), strip(df), strip(scale))  # raises where they define none
        scale = _as_matrix(wide(scale))
        x, n = wide(x), len(scale)
        if np.ndim(x) == 1 and n > 1:
            x = np.diag(x)
        x = np.reshape(x * np.eye(n) if np.ndim(x) == 0 else x, (n, n, -1))
        return np.transpose(x, (2, 0, 1)), cholesky(scale, True)

    def _factors(self, df, scale, size, seed):
        """Cholesky factors of samples of the unit scale (M. S. Bartlett, 1933), and the scale's."""
        generator = generator_of(self.scipys, seed)
        factor = cholesky(_as_matrix(wide(scale)), True)
        n, shape = len(factor), (size,) if np.ndim(size) == 0 else tuple(size)
        at, places = np.zeros((*shape, n, n)), np.tril_indices(n, k=-1)
        at[(..., *places)] = generator.normal(size=(*shape, len(places[0])))
        return at + np.expand_dims(self._lengths(generator, df, n, shape), -1) * np.eye(n), factor


class Wishart(_OfMatrices):
    """scipy.stats.wishart, its density and samples."""

    def written_logpdf(self, x, df, scale):
        x, factor = self._rows(x, df, scale)
        n = len(factor)
        inner = np.linalg.solve(factor, np.swapaxes(np.linalg.solve(factor, x), -1, -2))
        y = 0.5 * (df - n - 1) * _log_dets(x) - 0.5 * np.trace(inner, axis1=-2, axis2=-1)
        y = y - 0.5 * df * (n * np.log(2.0) + _log_det(factor)) - multigammaln(0.5 * df, n)
        return _squeezed(y)

    def _lengths(self, generator, df, n, shape):
        count = int(np.prod(shape))
        rows = [self._draw(generator, "chisquare", df - k, count) for k in range(n)]
        return np.transpose(np.reshape(np.sqrt(np.stack(rows)), (n, *shape[::-1])))

    def written_rvs(self, df, scale, size=1, random_state=None):
        at, factor = self._factors(df, scale, size, random_state)
        at = factor @ at
        return _squeezed(at @ np.swapaxes(at, -1, -2))


class InverseWishart(_OfMatrices):
    """scipy.stats.invwishart, its density and samples."""

    def written_logpdf(self, x, df, scale):
        x, factor = self._rows(x, df, scale)
        n = len(factor)
        inner = np.linalg.solve(x, factor @ np.transpose(factor))
        y = 0.5 * df * _log_det(factor) - 0.5 * np.trace(inner, axis1=-2, axis2=-1)
        y = y - 0.5 * df * n * np.log(2.0) - 0.5 * (df + n + 1) * _log_dets(x)
        return _squeezed(y - multigammaln(0.5 * df, n))

    def _lengths(self, generator, df, n, shape):
        df = df - n + 1 + np.arange(n)
        return np.sqrt(self._draw(generator, "chisquare", df, (*shape, n)))

    def written_rvs(self, df, scale, size=1, random_state=None):
        at, factor = self._factors(df, scale, size, random_state)
        at = np.linalg.solve(np.swapaxes(at, -1, -2), np.transpose(factor))
        return _squeezed(np.swapaxes(at, -1, -2) @ at)


# Matrices whose rows and columns are correlated


def _factor(spread, size):
    """The factor of Cholesky of a spread: a matrix, the elements of a diagonal, or one for all."""
    spread = wide(spread)
    return cholesky(spread if np.ndim(spread) == 2 else spread * np.eye(size), True)


class _OfTwoSpreads(_OfSeveral):
    methods: tuple[str, ...] = ("pdf", "logpdf")

    def _scaled(self, x, mean, row_spread, col_spread):
        """The matrix x without its correlations, and the logarithm of their size."""
        plain = [*map(strip, (x, mean, row_spread, col_spread))]
        self.scipys.logpdf(*plain)  # raises where they define none
        x = wide(x) - (0.0 if mean is None else mean)
        n, m = np.shape(x)[-2:]
        rows, columns = _factor(row_spread, n), _factor(col_spread, m)
        half = np.swapaxes(np.linalg.solve(rows, x), -1, -2)
        z = np.swapaxes(np.linalg.solve(columns, half), -1, -2)
        return z, m * _log_size(rows) + n * _log_size(columns)


class MatrixNormal(_OfTwoSpreads):
    methods = ("pdf", "logpdf", "entropy")

    def written_logpdf(self, X, mean=None, rowcov=1, colcov=1):
        z, size = self._scaled(X, mean, rowcov, colcov)
        n, m = np.shape(z)[-2:]
        return number(-0.5 * (n * m * LOG_2PI + np.sum(z * z, axis=(-2, -1))) - size)

    def written_entropy(self, rowcov=1, colcov=1):
        n, m = (np.shape(np.atleast_1d(c))[0] for c in (rowcov, colcov))
        size = m * _log_size(_factor(rowcov, n)) + n * _log_size(_factor(colcov, m))
        return number(0.5 * n * m * (LOG_2PI + 1) + size)


class MatrixT(_OfTwoSpreads):
    def written_logpdf(self, X, mean=None, row_spread=1, col_spread=1, df=1):
        z, size = self._scaled(X, mean, row_spread, col_spread)
        n, m = np.shape(z)[-2:]
        half = 0.5 * (df + n + m - 1)
        spread = np.linalg.slogdet(np.eye(n) + z @ np.swapaxes(z, -1, -2))[1]
        scale = multigammaln(half, n) - multigammaln(half - 0.5 * m, n)
        return number(scale - 0.5 * n * m * np.log(np.pi) - size - half * spread)
