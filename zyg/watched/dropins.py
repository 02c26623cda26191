"""Drop-ins: functions that are NumPy's, math's or SciPy's own wherever no gradient runs."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from types import MethodType, ModuleType
from typing import Any

import numpy as np

from zyg.base.array_types import lifting
from zyg.base.marks import stands_for
from zyg.base.registry import ScalarRule, late_rule, rules
from zyg.base.structure import Structure
from zyg.core.handouts import of_buffers
from zyg.core.questions import nestlevel
from zyg.core.sequences import own_array
from zyg.core.strand import WATCHED, active, cut, is_watched, settle, watched_leaves
from zyg.errors import ConversionError, MissingRuleError
from zyg.watched.value import holds_watched

_around = active.get
_ATTRIBUTES = (
    "__name__", "__qualname__", "__module__", "__doc__", "__self__", "__text_signature__",
    "_implementation",
)  # fmt: skip


class DropIn:
    """`original`, but `inside` where a gradient runs around the call, in this task.

    It equals its original and hashes like it, is pickled as it, and has its attributes. In a thread
    that nobody forked no gradient is known to run; what its original refuses there, `inside` does.
    """

    # No __getattr__ here: with one, CPython looks up every attribute by the slow way.
    __slots__ = ("__dict__", "inside", "original")

    def __init__(self, original: Callable[..., Any], inside: Callable[..., Any]) -> None:
        self.original, self.inside = original, inside
        for name in _ATTRIBUTES:
            if (value := getattr(original, name, None)) is not None:
                self.__dict__[name] = value
        self.__dict__.update(getattr(original, "__dict__", {}))
        stands_for(original)(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        strands = _around()
        if strands and (strands[-1].open or nestlevel()):  # a task may outlive a gradient
            return self.inside(*args, **kwargs)
        try:
            if kwargs:
                return self.original(*args, **kwargs)
            return self.original(*args)
        except ConversionError:
            if not watched_leaves((args, kwargs)):
                raise
        return self.inside(*args, **kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        try:
            return inspect.signature(self.original)
        except ValueError as error:  # a function in C that tells nothing about itself
            raise AttributeError(str(error)) from None

    def __eq__(self, other: object) -> bool:
        return self is other or self.original is other

    def __hash__(self) -> int:
        return hash(self.original)

    def __repr__(self) -> str:
        return repr(self.original)

    def __copy__(self) -> DropIn:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> DropIn:
        return self

    def __reduce__(self) -> Any:
        return operator.getitem, ((self.original,), 0)


class MethodDropIn(DropIn):
    """One whose original becomes a method where it stands in a class."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)


class WithDtype(DropIn):
    """One whose second parameter is the dtype, and mostly the only one given by keyword."""

    __slots__ = ()

    def __call__(self, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        if not kwargs and len(args) == 1:
            if dtype is not None:
                args = args[0], dtype
            strands = _around()
            if strands and strands[-1].open:
                return self.inside(*args)
            if not strands:
                try:
                    return self.original(*args)
                except ConversionError:  # in a thread that nobody forked
                    pass
        elif dtype is not None:
            kwargs["dtype"] = dtype
        return super().__call__(*args, **kwargs)


def drop_in(original: Callable[..., Any], inside: Callable[..., Any]) -> DropIn:
    """The drop-in for a function, bound by instances where the function is."""
    return (MethodDropIn if hasattr(type(original), "__get__") else DropIn)(original, inside)


def names_of(
    module: ModuleType, names: dict[str, Any], replaced: Callable[[str, Any], Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and the ``__dir__`` of a drop-in module, whose namespace is `names`.

    What `replaced(name, value)` makes of a module's value is found at its first use, and kept.
    """

    def find(name: str) -> Any:
        value = getattr(module, name)
        if name == "__path__":  # where copies of the module's own would be found
            return []
        if not name.startswith("__"):
            names[name] = value = replaced(name, value)
        return value

    return find, lambda: dir(module)


def if_watched(original: Callable[..., Any], written: Callable[..., Any]) -> Callable[..., Any]:
    """`written` on what is watched or holds it, else `original`: of buffers, on their arrays."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not (leaves := watched_leaves((args, kwargs))):
            return original(*args, **kwargs)
        y = of_buffers(original, leaves, args, kwargs)
        return written(*args, **kwargs) if y is NotImplemented else y

    return call


def of_numbers(
    original: Callable[..., Any], rule: ScalarRule | None = None, *, constant: bool = False
) -> DropIn:
    """The drop-in for a function of numbers that does not dispatch; a user may have given a rule.

    What has no rule raises MissingRuleError on watched numbers, unless it is `constant`.
    """
    name = f"{original.__module__}.{original.__name__}"
    plainly = original if rule is None else rule.function

    def inside(*args: Any, **kwargs: Any) -> Any:
        if WATCHED.isdisjoint(map(type, (*args, *kwargs.values()))):
            return plainly(*args, **kwargs)
        if constant:
            how = f"{name}, which is constant"
            plain = {k: cut(x, how) for k, x in kwargs.items()}
            return original(*[cut(x, how) for x in args], **plain)
        if (known := rule or rules.get(original)) is not None:
            return known(*(map(widened, args) if len(args) > 1 else args), **kwargs)
        if any(map(is_watched, args := tuple(map(settle, args)))):
            raise MissingRuleError(
                f"{name} has no rule, so zyg cannot differentiate it.",
                "its derivative is not in the table of scalar derivatives.",
                f"give it one: f = zyg.scalar_rule({name}, lambda x, y: ...)",
            )
        return original(*args, **kwargs)

    return drop_in(original, inside)


def of_many(original: Callable[..., Any], ufunc: Callable[..., Any]) -> Callable[..., Any]:
    """`original`, of numbers, but `ufunc` of what `vmap` gives many of at once."""

    @functools.wraps(original)
    def call(*args: Any) -> Any:
        try:
            return original(*args)
        except TypeError:
            if lifting.get() is None:
                raise
        return ufunc(*args)

    return call


_NARROW = np.float32, np.float16


def widened(x: Any) -> Any:
    """A number in 64 bits, in which such functions compute: so do slopes by the other operands."""
    if type(x) in WATCHED:
        return x.astype(np.float64) if type(x.primal) in _NARROW else x
    return float(x) if type(x) in _NARROW else x


def taking_lists(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's that takes lists of watched numbers, too, and objects that hold some.

    Of an object whose own ``__array__`` answers a watched array, or a buffer, it takes that.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        for x in (*args, *kwargs.values()):
            if (type(x) is list or type(x) is tuple) and holds_watched(x):
                if not (rules.get(original) or late_rule(original)):
                    break
                watched = Structure((args, kwargs), lambda v: type(v) in WATCHED).leaves[0]
                return watched.__array_function__(original, (), args, kwargs)
        try:
            return original(*args, **kwargs)
        except ValueError:
            owned = [own_array(x) for x in args]
            if all(own is None for own in owned):
                raise
        return original(
            *[x if y is None else y for x, y in zip(args, owned, strict=True)], **kwargs
        )

    return call
