"""Random numbers that a compiled function draws of a generator among its arguments.

A program has a `Source` in the place of a generator: a token, which is an int, and how often it was
drawn of. A draw is a function of token, count and arguments that is called back. What was drawn is
kept with the token: a program that runs again, as a reverse pass does, draws the same. Where one
has stopped, the generator is put back, and Python draws.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from zyg.base.marks import computes
from zyg.errors import ConversionError

METHODS = {
    "beta", "binomial", "chisquare", "choice", "dirichlet", "exponential", "f", "gamma",
    "geometric", "gumbel", "hypergeometric", "integers", "laplace", "logistic", "lognormal",
    "logseries", "multinomial", "multivariate_normal", "negative_binomial", "noncentral_chisquare",
    "noncentral_f", "normal", "pareto", "permutation", "permuted", "poisson", "power", "random",
    "rayleigh", "standard_cauchy", "standard_exponential", "standard_gamma", "standard_normal",
    "standard_t", "triangular", "uniform", "vonmises", "wald", "weibull", "zipf",
}  # fmt: skip
_PLAIN = (bool, int, float, complex, str, type, type(None), np.generic, np.ndarray, np.dtype)
_FIRST = 1000  # numbers below are those of samples, of which only the types are asked


class Source:
    """What a program knows of a generator: its token, and the count of its draws."""

    token: Any
    count: Any


class Drawn:
    """What was drawn of a generator in one call."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator
        self.numbers: list[tuple[str, Any]] = []
        self._before: tuple[int, Any] | None = None  # how many there were, and the state

    def begin(self) -> None:
        """A program begins to run."""
        self._before = None

    def undo(self) -> None:
        """It has stopped: what it has drawn it has not."""
        if self._before is not None:
            count, self.generator.bit_generator.state = self._before
            del self.numbers[count:]
            self._before = None

    def draw(self, count: int, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if count == len(self.numbers):
            if self._before is None:
                self._before = count, self.generator.bit_generator.state
            self.numbers.append((name, getattr(self.generator, name)(*args, **kwargs)))
        drawn, y = self.numbers[count]
        if drawn != name:
            raise TypeError("draws come in another order than before")
        return y.copy() if isinstance(y, np.ndarray) else y


class Token(int):
    """The operand for a generator; it keeps what was drawn."""

    drawn: Drawn


_drawn: WeakValueDictionary[int, Drawn] = WeakValueDictionary()
_numbers = itertools.count(_FIRST)


def token_for(generator: np.random.Generator) -> Token:
    token = Token(next(_numbers))
    _drawn[int(token)] = token.drawn = Drawn(generator)
    return token


@computes
def draw(token: int, count: int, name: str, *args: Any, **kwargs: Any) -> Any:
    """What a generator gives at its `count`-th draw."""
    if not all(issubclass(type(x), _PLAIN) for x in _flat([*args, *kwargs.values()])):
        try:
            getattr(np.random.default_rng(0), name)(
                *args, **kwargs
            )  # raises what it does in Python
        except ConversionError as error:
            raise ConversionError(
                f"a compiled function cannot draw {name} with a watched parameter.",
                "what it draws are constants to its derivative.",
                "write mu + sigma * rng.normal(size=n), or draw outside of it, of "
                "zyg.numpy.random.default_rng(rng), and pass the sample.",
            ) from error
        raise TypeError(f"{name} of watched numbers has no derivative")
    if token < _FIRST:
        return getattr(np.random.default_rng(0), name)(*args, **kwargs)
    return _drawn[token].draw(count, name, args, kwargs)


def _flat(xs: Sequence[Any]) -> list[Any]:
    return [y for x in xs for y in (_flat(x) if isinstance(x, (list, tuple)) else [x])]


def drawn_of(operands: Sequence[Any]) -> list[Drawn]:
    """What was drawn of the generators among operands."""
    return [x.drawn for x in operands if type(x) is Token]
