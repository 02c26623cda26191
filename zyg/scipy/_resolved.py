"""Steps that are short enough for derivatives, too.

A solver's steps are as long as its solution allows. What is at rest there, as a pendulum that
hangs, allows steps of any length; a derivative moves it, as fast as the Jacobian says.
"""

import math

import numpy as np

from zyg.errors import ConvergenceError

_APART = 1e-6  # of the states' size: how far a disturbance is
_FAST, _GONE = 2.0, -3.0  # a step times a rate; what has decayed at its end to 5 %
_SAFE, _TINY = 0.5, 1e-150
_GROWN = 5.0  # times as long as the step before: it has no error
_MOST = 20_000  # steps
_FEW = 100  # states, whose Jacobians have eigenvalues soon


def split(ends, parts):
    """The ends of steps, each of which is cut into so many parts."""
    cut = [
        np.linspace(a, b, int(n), endpoint=False)
        for a, b, n in zip(ends, ends[1:], parts, strict=False)
    ]
    return np.concatenate([*cut, ends[-1:]])


def by_disturbances(f, ends, states, method, rtol=1e-3, atol=1e-6, all_long=False):
    """The ends of an explicit method's steps, where it meets these states, short enough.

    All are looked at, or, unless they are known to be long, the longest of those that are much
    longer than the one before, which had no error.
    """
    lengths, states = np.abs(np.diff(ends)), np.asarray(states, float)
    if not len(lengths):
        return ends
    before = np.append(lengths[:1] if len(lengths) > 1 else 0.0, lengths[:-1])
    grown = all_long | (lengths > _GROWN * before)
    longest = np.argmax(lengths * grown)
    size = max(np.max(atol), _APART**2 * np.max(np.abs(states), initial=0.0), _TINY)
    exact = 2 * _exact(method, rtol)
    rates = np.zeros(len(lengths))
    first = _rate(f, ends[longest], states[longest], size) if grown.any() else 0.0
    if all_long or lengths[longest] * first > exact:
        rates[:] = [_rate(f, t, y, size) for t, y in zip(ends[:-1], states, strict=False)]
        rates *= lengths * rates > np.where(grown, exact, method.stable)
    return _split(ends, rates, method, rtol)


def _rate(f, t, y, least):
    """How fast a disturbance moves."""
    size = _APART * max(np.max(np.abs(y)), least)
    way, rates = np.cos(np.arange(y.size) + 1.0), []
    try:
        start = f(t, y.copy())
        for _ in range(2):
            way = (f(t, y + size * way / np.linalg.norm(way)) - start) / size
            rates.append(np.linalg.norm(way) or _TINY)
            if not np.isfinite(rates[-1]):
                return 0.0
    except (ArithmeticError, ValueError):
        return 0.0
    return math.sqrt(math.prod(rates))


def _exact(method, rtol):
    """What a step times a rate is, where its error is small."""
    count = method.order + 1
    return min(_SAFE * (math.factorial(count) * np.min(rtol)) ** (1 / count), 1.0)


def by_jacobians(ends, jacobians, method, rtol):
    """Those of an implicit method's steps, with these Jacobians; of many states, as they are."""
    if np.shape(jacobians[0])[0] > _FEW:
        return ends
    own = {id(x): np.linalg.eigvals(x.toarray() if hasattr(x, "toarray") else x) for x in jacobians}
    found = np.stack([own[id(x)] for x in jacobians])
    return _split(ends, _living(np.diff(ends), found, np.inf), method, rtol)


def fastest(lengths, jacobians, stable):
    """In each step the rate of what moves fast, and is not gone behind it or not `stable`; 0 where
    nothing does.
    """
    sizes, rates = np.linalg.norm(jacobians, axis=(1, 2)), np.zeros(len(lengths))
    fast = np.flatnonzero(np.abs(lengths) * sizes > _FAST)
    rates[fast] = _living(lengths[fast], np.linalg.eigvals(jacobians[fast]), stable)
    return rates


def _living(lengths, values, stable):
    """That rate, of eigenvalues."""
    found = values * lengths[:, None]
    lives = found.real > np.maximum(-np.abs(found.imag), _GONE)
    long = (lives & (np.abs(found) > _FAST)) | (np.abs(found) > stable)
    return np.max(np.abs(values), axis=1, where=long, initial=0.0)


def _split(ends, rates, method, rtol):
    parts = np.maximum(np.ceil(np.abs(np.diff(ends)) * rates / _exact(method, rtol)), 1)
    if np.sum(parts) > max(_MOST, len(ends)):
        raise ConvergenceError(
            "the derivative of the solution of these differential equations was not found.",
            "something in them is at rest, and a disturbance moves so fast that it needs "
            f"{np.sum(parts):.0f} steps.",
            "pass max_step, or scale the equations; where it decays, take method='Radau'.",
        )
    return split(ends, parts)
