"""A `Number` is what a scalar function computes with while it is read: it records what is done.

It answers operators and NumPy's ufuncs with further numbers, so that whatever is written in those,
such as the table of scalar derivatives, can be called on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zyg.compiler.atoms import Atom, Value, is_number
from zyg.errors import KernelError
from zyg.functions.operations import WITH_OPERATORS


class Number:
    """A number of a scalar function that is being read; it records what is done with it."""

    __slots__ = ("atom", "builder")

    def __init__(self, atom: Value, builder: Any) -> None:
        self.atom, self.builder = atom, builder

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.atom.type)

    def record(self, name: str, *args: Any) -> Any:
        """The result of an operation on numbers, of which some are recorded."""
        return self.builder.wrap(self.builder.op(name, *map(atom_of, args)))

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            how = f".{method}" if method != "__call__" else f" with {next(iter(kwargs))}="
            raise KernelError(
                f"np.{ufunc.__name__}{how} has no kernel.",
                "a scalar function computes with single numbers.",
                f"call np.{ufunc.__name__} of numbers.",
            )
        return self.record(ufunc.__name__, *args)

    def __array_function__(
        self, function: Any, types: Any, args: Any, kwargs: dict[str, Any]
    ) -> Any:
        if function is np.where and len(args) == 3:
            return self.record("select", *args)
        raise KernelError(
            f"np.{function.__name__} has no kernel.",
            "a scalar function computes with single numbers, by NumPy's ufuncs.",
            "compute it outside of the kernel, or in ufuncs.",
        )

    def __bool__(self) -> bool:
        raise KernelError(
            "the truth of a number of a kernel is not known while the kernel is made.",
            "zyg called this code instead of reading its source.",
            "use np.where instead of if.",
        )

    __hash__ = object.__hash__


class Bare(Number):
    """A number, maybe known, whose operators are operations, whatever else the builder makes."""

    __slots__ = ()

    def record(self, name: str, *args: Any) -> Any:
        return Bare(self.builder.op(name, *map(atom_of, args)), self.builder)


def atom_of(x: Any) -> Atom:
    """The atom of a number, recorded or plain; TypeError for anything else."""
    if isinstance(x, Number):
        return x.atom
    if isinstance(x, np.generic):
        x = x.item()
    if is_number(x):
        return x  # type: ignore[no-any-return]
    if isinstance(x, (float, int)):
        return float(x) if isinstance(x, float) else int(x)
    ours = type(x).__module__.partition(".")[0] == "zyg"  # which says nothing to the user
    raise TypeError("what is given is no real number" if ours else f"{x!r} is not a real number")


def _operators() -> None:
    def forward(name: str) -> Any:
        return lambda self, *other: self.record(name, self, *other)

    def reflected(name: str) -> Any:
        return lambda self, other: self.record(name, other, self)

    for row in WITH_OPERATORS:
        if row.types:
            setattr(Number, f"__{row.dunder}__", forward(row.name))
            if row.is_binary:
                setattr(Number, f"__r{row.dunder}__", reflected(row.name))


_operators()
