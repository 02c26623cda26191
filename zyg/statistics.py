"""The statistics module for watched numbers: ``import zyg.statistics as statistics``.

Where no gradient runs around a line, in its task, each function is that of statistics. In a
gradient the averages, the measures of spread and of relation take watched numbers, too.

>>> import zyg, zyg.statistics as statistics
>>> zyg.gradient(lambda x, y: statistics.variance([x, y]), 1.0, 3.0)
(-2.0, 2.0)

"""

from __future__ import annotations

import statistics as _statistics
import typing as _typing

import numpy as _np

from zyg.base.structure import Structure as _Structure
from zyg.core.strand import is_watched as _is_watched
from zyg.core.strand import strip as _strip
from zyg.watched import dropins as _dropins

if _typing.TYPE_CHECKING:
    from statistics import *  # noqa: F403

__all__ = _statistics.__all__


def _mean(data: _typing.Any) -> _typing.Any:
    return sum(data) / len(data)


def _fmean(data: _typing.Any, weights: _typing.Any = None) -> _typing.Any:
    if weights is None:
        return _mean(data)
    return sum(w * x for w, x in zip(weights, data, strict=True)) / sum(weights)


def _geometric_mean(data: _typing.Any) -> _typing.Any:
    return _np.exp(_mean([*map(_np.log, data)]))


def _harmonic_mean(data: _typing.Any, weights: _typing.Any = None) -> _typing.Any:
    return 1 / _fmean([1 / x for x in data], weights)


def _squares(data: _typing.Any, mean: _typing.Any) -> _typing.Any:
    mean = _mean(data) if mean is None else mean
    return sum((x - mean) ** 2 for x in data)


def _pvariance(data: _typing.Any, mu: _typing.Any = None) -> _typing.Any:
    return _squares(data, mu) / len(data)


def _variance(data: _typing.Any, xbar: _typing.Any = None) -> _typing.Any:
    return _squares(data, xbar) / (len(data) - 1)


def _pstdev(data: _typing.Any, mu: _typing.Any = None) -> _typing.Any:
    return _np.sqrt(_pvariance(data, mu))


def _stdev(data: _typing.Any, xbar: _typing.Any = None) -> _typing.Any:
    return _np.sqrt(_variance(data, xbar))


def _products(x: _typing.Any, y: _typing.Any) -> _typing.Any:
    x_mean, y_mean = _mean(x), _mean(y)
    return sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True))


def _covariance(x: _typing.Any, y: _typing.Any) -> _typing.Any:
    return _products(x, y) / (len(x) - 1)


def _correlation(x: _typing.Any, y: _typing.Any, *, method: str = "linear") -> _typing.Any:
    if method != "linear":  # of ranks, which are constant
        ranked: _typing.Any = _statistics.correlation
        return ranked([*map(_strip, x)], [*map(_strip, y)], method=method)
    return _products(x, y) / _np.sqrt(_products(x, x) * _products(y, y))


def _linear_regression(
    x: _typing.Any, y: _typing.Any, *, proportional: bool = False
) -> _typing.Any:
    if proportional:
        slope = sum(a * b for a, b in zip(x, y, strict=True)) / sum(a * a for a in x)
        return _statistics.LinearRegression(slope, 0.0)
    slope = _products(x, y) / _products(x, x)
    return _statistics.LinearRegression(slope, _mean(y) - slope * _mean(x))


_WRITTEN: dict[str, _typing.Any] = {
    "correlation": _correlation, "covariance": _covariance, "linear_regression": _linear_regression,
    "fmean": _fmean, "geometric_mean": _geometric_mean, "harmonic_mean": _harmonic_mean,
    "mean": _mean, "pstdev": _pstdev, "pvariance": _pvariance, "stdev": _stdev,
    "variance": _variance,
}  # fmt: skip


def _replaced(name: str, value: _typing.Any) -> _typing.Any:
    written = _WRITTEN.get(name)
    if written is None:
        return value

    def inside(data: _typing.Any, *args: _typing.Any, **kwargs: _typing.Any) -> _typing.Any:
        data = list(data)
        held = _Structure((data, args, kwargs), _is_watched)
        if not held.leaves:
            return value(data, *args, **kwargs)
        plain, plain_args, plain_kwargs = held.rebuild([*map(_strip, held.leaves)])
        value(plain, *plain_args, **plain_kwargs)  # raises where there is too little data
        return written(data, *args, **kwargs)

    return _dropins.drop_in(value, inside)


if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _dropins.names_of(_statistics, globals(), _replaced)
