"""numpy.random, whose draws move with watched parameters: ``np.random.default_rng(0).normal(mu)``.

The sample is NumPy's own, from the same numbers of the generator. Its derivative is that of the
formula by which the distribution makes it of standard numbers; or, where there is none, that of a
sample whose place in the distribution stays (M. Figurnov, S. Mohamed, A. Mnih, "Implicit
reparameterization gradients", 2018). Expectations then have the right derivative.

>>> import zyg, zyg.numpy as np
>>> def f(mu, sigma):
...     return np.random.default_rng(0).normal(mu, sigma, 3).sum()
>>> mu_bar, sigma_bar = zyg.gradient(f, 1.0, 2.0)
>>> mu_bar, bool(np.isclose(sigma_bar, np.random.default_rng(0).normal(size=3).sum()))
(3.0, True)

"""

from __future__ import annotations

import functools as _functools
import typing as _typing

import numpy.random as _random

from zyg.numpy import draws as _draws
from zyg.watched import dropins as _dropins

if _typing.TYPE_CHECKING:
    from numpy.random import *  # noqa: F403

__all__ = _random.__all__


class _Watching(_random.Generator):
    """A generator whose draws move with watched parameters; otherwise it is NumPy's."""

    def __reduce__(self) -> _typing.Any:
        return _default_rng, (self.bit_generator,)


_Watching.__name__ = _Watching.__qualname__ = "Generator"


def _method(name: str) -> _typing.Any:
    numpys = getattr(_random.Generator, name)

    @_functools.wraps(numpys)
    def method(self: _typing.Any, *args: _typing.Any, **kwargs: _typing.Any) -> _typing.Any:
        return _draws.drawn(numpys.__get__(self), args, kwargs)

    return method


for _name in _draws.METHODS & {*vars(_random.Generator)}:
    setattr(_Watching, _name, _method(_name))


class _Always(_dropins.DropIn):
    """A function in whose place another stands, whether a gradient runs or not."""

    __slots__ = ()

    def __call__(self, *args: _typing.Any, **kwargs: _typing.Any) -> _typing.Any:
        return self.inside(*args, **kwargs)


def _default_rng(seed: _typing.Any = None) -> _typing.Any:
    """NumPy's generator; of a generator the one that shares its state."""
    made = _random.default_rng(seed)
    return made if isinstance(made, _Watching) else _Watching(made.bit_generator)


def _replaced(name: str, value: _typing.Any) -> _typing.Any:
    if name == "default_rng":
        return _Always(value, _default_rng)
    if name in _draws.METHODS:
        draw: _typing.Any = lambda *args, **kwargs: _draws.drawn(value, args, kwargs)  # noqa: E731
        return _dropins.drop_in(value, draw)
    return value


if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _dropins.names_of(_random, globals(), _replaced)
