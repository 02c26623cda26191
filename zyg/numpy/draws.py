"""Draws of NumPy's random generators whose parameters are watched.

The sample is NumPy's own, and the generator is left as by the plain call. What a distribution makes
of standard numbers, by its parameters, is a formula: the standard numbers are drawn a second time,
from the state before, and the sample moves as the formula of them. Where there is no such formula
(gamma, beta, t, ...), a sample moves so that its place in the distribution stays, which is in
`zyg.scipy._draws`, for it takes special functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from zyg.base.extras import installing
from zyg.base.remedies import WHOLE_DRAWS, instead_of_whole
from zyg.errors import DegenerateError, MissingRuleError
from zyg.functions.kit import (
    as_array,
    is_watched,
    listed,
    no_out,
    of_buffers,
    strip,
    watched_leaves,
    with_value,
)
from zyg.verbs.checkpoints import rewinding


class Sample(NamedTuple):
    """How a method makes samples: ``made(standard(rng, shape, *parameters), *parameters)``.

    ``rng`` is a twin of the generator, of NumPy's own class.
    """

    standard: Callable[..., Any]
    made: Callable[..., Any]


def standard(name: str, *parameters: float) -> Callable[..., Any]:
    """The draw of a distribution with these parameters, whatever those of the sample are."""
    return lambda rng, shape, *given, **options: getattr(rng, name)(*parameters, shape)


def _moved(e: Any, loc: Any, scale: Any) -> Any:
    return loc + scale * e


def _scaled(e: Any, scale: Any) -> Any:
    return scale * e


def _lognormal(e: Any, mean: Any, sigma: Any) -> Any:
    return np.exp(mean + sigma * e)


def _uniform(u: Any, low: Any, high: Any) -> Any:
    return low + (high - low) * u


def _triangular(u: Any, left: Any, mode: Any, right: Any) -> Any:
    base = right - left
    rises = strip(u) <= strip(mode - left) / strip(base)
    below = np.where(rises, u, 0.0) * base * (mode - left)
    above = np.where(rises, 0.0, 1 - u) * base * (right - mode)
    return np.where(rises, left + _root(below, rises), right - _root(above, ~rises))


def _root(square: Any, there: Any) -> Any:
    """The square root where it is asked for; elsewhere it does not move."""
    return np.where(there, np.sqrt(np.where(there, square, 1.0)), 0.0)


def _normal_vectors(rng: Any, shape: tuple[int, ...], mean: Any, cov: Any, **options: Any) -> Any:
    """Vectors of mean 0."""
    if "check_valid" in options:
        options["check_valid"] = "ignore"
    return rng.multivariate_normal(np.zeros(np.shape(mean)), cov, shape[:-1], **options)


def _multivariate_normal(e: Any, mean: Any, cov: Any) -> Any:
    """As its Cholesky factor moves, a sample does, whatever factor of the same NumPy took."""
    if not is_watched(cov):
        return mean + e
    try:
        factor = np.linalg.cholesky(cov)
    except np.linalg.LinAlgError as error:
        raise DegenerateError(
            "a draw of multivariate_normal cannot move with a covariance that is singular.",
            "its Cholesky factor, with which it would move, has no derivative there.",
            "add a small multiple of np.eye(n), or watch a factor: mean + rng.normal(size=n) @ a.",
        ) from error
    unit = np.linalg.solve(strip(factor), np.swapaxes(np.atleast_2d(e), -1, -2))
    return mean + np.reshape(np.swapaxes(factor @ unit, -1, -2), np.shape(e))


SAMPLES: dict[str, Sample] = {
    **{
        name: Sample(standard(name, 0.0, 1.0), _moved)
        for name in ("normal", "laplace", "logistic", "gumbel")
    },
    "lognormal": Sample(standard("normal", 0.0, 1.0), _lognormal),
    "uniform": Sample(standard("uniform", 0.0, 1.0), _uniform),
    "triangular": Sample(standard("uniform", 0.0, 1.0), _triangular),
    **{name: Sample(standard(name, 1.0), _scaled) for name in ("exponential", "rayleigh")},
    "weibull": Sample(standard("standard_exponential"), lambda e, a: e ** (1 / a)),
    "pareto": Sample(standard("standard_exponential"), lambda e, a: np.expm1(e / a)),
    "power": Sample(standard("standard_exponential"), lambda e, a: (-np.expm1(-e)) ** (1 / a)),
    "multivariate_normal": Sample(_normal_vectors, _multivariate_normal),
}
_OF_SCIPY = (
    "beta", "chisquare", "dirichlet", "f", "gamma", "standard_gamma", "standard_t", "vonmises",
    "wald",
)  # fmt: skip
_UNKNOWN = ("noncentral_chisquare", "noncentral_f")
_PICKS = {"choice": "a", "permutation": "x", "permuted": "x"}  # and the argument that they pick of
METHODS = frozenset((*SAMPLES, *_OF_SCIPY, *_UNKNOWN, *WHOLE_DRAWS, *_PICKS))
_OPTIONS = ("size", "dtype", "check_valid", "tol", "method")


def drawn(method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a method of a generator draws, which moves with the parameters that are watched."""
    if not (leaves := watched_leaves((args, kwargs))):
        return method(*args, **kwargs)
    if (y := of_buffers(method, leaves, args, kwargs)) is not NotImplemented:
        return y
    name = method.__name__
    given = inspect.signature(method).bind(*args, **kwargs)
    given.apply_defaults()
    no_out(given.arguments.pop("out", None))
    if name in _PICKS and not watched_leaves(given.arguments.get("p")):
        return _picked(method, given.arguments)
    sample = _sample(name)
    options = {k: x for k, x in given.arguments.items() if k in _OPTIONS}
    parameters = [listed(x) for k, x in given.arguments.items() if k not in _OPTIONS]
    return _of_formula(method, sample, parameters, options)


def _of_formula(
    method: Callable[..., Any], sample: Sample, parameters: list[Any], options: dict[str, Any]
) -> Any:
    plain = [*map(strip, parameters)]
    with rewinding(method.__self__) as (rng, rewind):  # type: ignore[attr-defined]
        y = getattr(rng, method.__name__)(*plain, **options)
        rewind()
        options.pop("size")
        e = sample.standard(rng, np.shape(y), *plain, **options)
    with np.errstate(all="ignore"):
        made = sample.made(e, *[x * np.float64(1) for x in parameters])
    _agree(method.__name__, strip(made), y, plain)
    dtype = np.asarray(y).dtype
    return with_value(made if dtype == np.float64 else np.astype(made, dtype), (y,))


def _agree(name: str, made: Any, y: Any, parameters: list[Any]) -> None:
    """Raise where the formula does not give NumPy's sample: then its derivative is none of it."""
    rounding = 1e-9 * max((np.max(np.abs(p), initial=0.0) for p in parameters), default=0.0)
    with np.errstate(all="ignore"):
        near = np.abs(made - y) <= rounding + 1e-5 * np.abs(y)
    if np.all(near | (np.asarray(made) == y) | (np.isnan(made) & np.isnan(y))):
        return
    raise MissingRuleError(
        f"this draw of {name} has no derivative in its parameters.",
        "NumPy's sample is not that of the formula that zyg knows: the parameters are at a limit "
        "of their range, or this NumPy samples in another way.",
        "give it zyg.stop_gradient(parameter), or write the sample as a formula of standard draws.",
    )


def _sample(name: str) -> Sample:
    """How a method makes samples; what does not move with its parameters is refused."""
    if name in SAMPLES:
        return SAMPLES[name]
    if name in _OF_SCIPY:
        try:
            by_scipy = import_module("zyg.scipy._draws")
        except ImportError as error:
            raise MissingRuleError(
                f"a draw of {name} cannot be differentiated in its parameters without SciPy.",
                "the derivative takes special functions, which are SciPy's.",
                f"{installing('scipy')}.",
            ) from error
        found: Sample = by_scipy.SAMPLES[name]
        return found
    if name in _UNKNOWN:
        raise MissingRuleError(
            f"a draw of {name} has no derivative in its parameters.",
            "the derivative of the noncentral distribution functions is not known here.",
            "compute it of other draws: a noncentral chisquare, where df > 1, is "
            "(rng.normal(size=n) + np.sqrt(nonc)) ** 2 + rng.chisquare(df - 1, n).",
        )
    raise MissingRuleError(
        f"a draw of {name} has no derivative in its parameters.",
        "what is drawn stays, or jumps, where they move.",
        f"{instead_of_whole(name)}.",
    )


def _picked(method: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Elements, by the places that are drawn as the elements would be."""
    x = as_array(arguments.pop(_PICKS[method.__name__]))
    places = method(np.reshape(np.arange(np.size(x)), np.shape(x)), **arguments)
    return np.ravel(x)[places]
