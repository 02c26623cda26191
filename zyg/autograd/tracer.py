"""Values that a gradient watches: autograd's boxes; functions that are one step of a tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from zyg.autograd._absent import names_from
from zyg.autograd._primitives import Primitive, defjvp_argnum, defvjp_argnum
from zyg.autograd._primitives import primitive as primitive
from zyg.core.strand import settle
from zyg.core.trace import copy_out
from zyg.errors import AdoptionError
from zyg.functions.kit import cut, is_watched, nondifferentiable
from zyg.verbs.gradients import stop_gradient
from zyg.watched.value import WatchedValue

__getattr__ = names_from()


class _OfWatched(type):
    """Of classes whose instances are the values that a gradient watches, whatever their types."""

    def __instancecheck__(cls, x: Any) -> bool:
        return is_watched(x)


class Box(metaclass=_OfWatched):
    """The class that watched values count as instances of. No object is made of it."""

    @classmethod
    def register(cls, value_type: type) -> NoReturn:
        """Refused: autograd registers a box for a class, zyg takes its objects apart."""
        refuse_registration("Box", value_type)


def refuse_registration(kind: str, value_type: type) -> NoReturn:
    raise AdoptionError(
        f"zyg.autograd cannot register a {kind} for {value_type.__name__}.",
        "zyg differentiates objects of any class by the numbers in their fields.",
        "leave it out: gradients of such objects are zyg.Tangent, with the fields of the object.",
    )


def _below(x: Any) -> Any:
    """What `x` is one level further out, apart from its memory."""
    cut(x, "._value")
    return copy_out(settle(x.primal))


WatchedValue._value = property(_below)  # type: ignore[attr-defined]  # libraries unwrap boxes by it


def isbox(x: Any) -> bool:
    """Whether a running gradient watches `x`."""
    return is_watched(x)


def getval(x: Any) -> Any:
    """The plain value of `x`, without its derivatives."""
    return stop_gradient(x)


def notrace_primitive(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, which carries no derivative: it runs on plain values."""
    return nondifferentiable(f.fun if isinstance(f, Primitive) else f)  # type: ignore[no-any-return]


def register_notrace(trace_type: Any, f: Callable[..., Any]) -> None:
    """Declare that `f` carries no derivative, in whichever mode."""
    if isinstance(f, Primitive):
        for give in (defvjp_argnum, defjvp_argnum):
            give(f, lambda *_: None)
    else:
        nondifferentiable(f)
