"""Settings: for the whole process when set, for one block when used as a context manager."""

from __future__ import annotations

from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any

_defaults: dict[str, Any] = {"strong_zero": True}
_here: ContextVar[dict[str, Any]] = ContextVar("zyg_config")


def setting(name: str) -> Any:
    """The value of a setting at this place of the program."""
    return _here.get({}).get(name, _defaults[name])


class config:  # noqa: N801 - a verb to the user
    """Set options; in a ``with`` statement, for that block only.

    strong_zero (True): a cotangent that is exactly zero stays zero through an infinite or NaN local
    derivative, so that the branch of ``np.where`` not taken never poisons a gradient. Raises
    TypeError for an unknown option.

    >>> import numpy as np, zyg
    >>> f = lambda x: np.where(x > 0, np.sqrt(x), 0.0)
    >>> zyg.gradient(f, 0.0)
    (0.0,)
    >>> with zyg.config(strong_zero=False):
    ...     zyg.gradient(f, 0.0)
    (nan,)

    """

    def __init__(self, **options: Any) -> None:
        if unknown := options.keys() - _defaults.keys():
            known = ", ".join(_defaults)
            raise TypeError(f"unknown zyg option {min(unknown)!r}; there are: {known}")
        self._options = options
        self._before = {name: _defaults[name] for name in options}
        self._token: Token[dict[str, Any]] | None = None
        _defaults.update(options)

    def __enter__(self) -> None:
        _defaults.update(self._before)
        self._token = _here.set({**_here.get({}), **self._options})

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._token is not None
        _here.reset(self._token)
