"""What stands for a function, a class or a method of Ray's."""

from __future__ import annotations

from typing import Any, Self

from zyg.base.containers import Engine


class Wrapper(Engine):
    """A remote object of Ray's, with what it is of and the options that it has been given."""

    def __init__(self, raw: Any, of: Any, options: dict[str, Any]) -> None:
        self._raw, self._of, self._options = raw, of, options

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._raw(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._raw, name)

    def __reduce__(self) -> Any:
        return type(self), (self._raw, self._of, self._options)

    def options(self, **options: Any) -> Self:
        """As Ray's."""
        return type(self)(self._raw.options(**options), self._of, {**self._options, **options})
