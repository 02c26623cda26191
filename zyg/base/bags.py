"""`Tangent`, the gradient of an object, and how to compute with it."""

from __future__ import annotations

import copy
import operator
from _thread import get_ident
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from zyg.errors import StructureError


class Tangent:
    """The gradient of an object: a bag of its attributes' gradients, named after its type.

    Its fields are its attributes; ``vars(tangent)``, ``dict(tangent)`` and a loop over its pairs
    ``(name, value)`` have them all. It equals and prints by its fields. ``+ - * /`` compute with
    numbers and with Tangents of the same kind, number by number and through lists, tuples and
    dicts. A field that is None, a derivative of zero or of no number, counts as zero beside a
    number; without one it stays None. Raises `StructureError` for Tangents of other kinds.

    >>> import zyg
    >>> class Model:
    ...     def __init__(self):
    ...         self.w, self.name = 2.0, "linear"
    >>> g, x_bar = zyg.gradient(lambda m, x: m.w * x, Model(), 3.0)
    >>> g
    Tangent(Model, w=3.0, name=None)
    >>> 0.9 * g + g / 10
    Tangent(Model, w=3.0, name=None)

    """

    __slots__ = ("__dict__", "_of")
    __array_ufunc__ = None  # NumPy's numbers leave the operators to it
    _of: str

    def __init__(self, of: str, /, **fields: Any) -> None:
        self.__dict__.update(fields)
        object.__setattr__(self, "_of", of)

    def __eq__(self, other: object) -> bool:
        return _same(self, other) if isinstance(other, Tangent) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(vars(self).items())

    def asdict(self) -> dict[str, Any]:
        """The fields as a dict, with those of Tangents in them as dicts, too.

        >>> import zyg
        >>> zyg.Tangent("Line", slope=1.0, ends=[zyg.Tangent("Point", x=2.0)]).asdict()
        {'slope': 1.0, 'ends': [{'x': 2.0}]}

        """
        return {name: _as_dicts(value) for name, value in self}

    def __add__(self, other: Any) -> Any:
        return _computed(operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _computed(operator.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return _computed(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _computed(operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return _computed(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _computed(operator.mul, other, self)

    def __truediv__(self, other: Any) -> Any:
        return _computed(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _computed(operator.truediv, other, self)

    def __neg__(self) -> Any:
        return _computed(operator.mul, self, -1)

    def __pos__(self) -> Any:
        return _computed(operator.mul, self, 1)

    def __repr__(self) -> str:
        here = (get_ident(), id(self))
        if here in _printing:
            return f"Tangent({self._of}, ...)"
        _printing.add(here)
        try:
            fields = "".join(f", {name}={value!r}" for name, value in self)
        finally:
            _printing.remove(here)
        return f"Tangent({self._of}{fields})"

    def _repr_html_(self) -> str:
        """A table of the fields, for notebooks."""
        from html import escape  # which few programs need

        rows = "".join(
            f"<tr><th>{escape(name)}</th><td><pre>{escape(repr(value))}</pre></td></tr>"
            for name, value in self
        )
        return f"<table><caption>Tangent of {escape(self._of)}</caption>{rows}</table>"


_printing: set[tuple[int, int]] = set()  # a tangent that holds itself is printed once per thread
_CONTAINERS = (Tangent, dict, list, tuple, deque)  # what the gradients in an object may be in


def _as_dicts(value: Any) -> Any:
    if isinstance(value, Tangent):
        return value.asdict()
    if isinstance(value, _CONTAINERS):
        return _rebuilt(copy.copy(value), {k: _as_dicts(v) for k, v in _parts(value).items()})
    return value


def _computed(op: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """``op(a, b)``, one of them a Tangent, the other one too or a number."""
    if isinstance(a, Tangent) and isinstance(b, Tangent):
        return _mapped(op, (a, b), "", {})
    number = b if isinstance(a, Tangent) else a
    if number is None or isinstance(number, (*_CONTAINERS, str, bytes)) or np.ndim(number):
        return NotImplemented
    if number is b:
        return _mapped(lambda x: op(x, number), (a,), "", {})
    return _mapped(lambda x: op(number, x), (b,), "", {})


def _mapped(
    f: Callable[..., Any], trees: tuple[Any, ...], path: str, done: dict[tuple[int, ...], Any]
) -> Any:
    """`f` of the parts of gradients of one kind, where None is zero; of None alone, None."""
    like = next((x for x in trees if x is not None), None)
    if like is None:
        return None
    for other in trees:
        if other is not None and (lack := _misfit(like, other)):
            raise StructureError(
                f"these gradients do not fit: at {path or 'the top'} one is {lack}.",
                "gradients are added or multiplied part by part.",
                "use gradients of one object, or of objects of one class and one shape.",
            )
    if not isinstance(like, _CONTAINERS):
        return f(*[0 if x is None else x for x in trees])
    ids = (*map(id, trees),)
    if ids not in done:  # else an object is met twice
        step = f"{path}.{{}}" if isinstance(like, Tangent) else f"{path}[{{!r}}]"
        parts = [{} if x is None else _parts(x) for x in trees]
        made = Tangent(like._of) if isinstance(like, Tangent) else copy.copy(like)
        if not isinstance(made, tuple):  # which cannot be met before it is made
            done[ids] = made
        inner = {
            key: _mapped(f, (*[part.get(key) for part in parts],), step.format(key), done)
            for key in _parts(like)
        }
        done[ids] = _rebuilt(made, inner)
    return done[ids]


def _parts(x: Any) -> Mapping[Any, Any]:
    if isinstance(x, Tangent):
        return vars(x)
    return x if isinstance(x, dict) else dict(enumerate(x))


def _rebuilt(x: Any, parts: dict[Any, Any]) -> Any:
    """A container with these parts: itself, but for a tuple, which is made again."""
    if isinstance(x, tuple):
        return x._make(parts.values()) if hasattr(x, "_make") else type(x)(parts.values())
    into = vars(x) if isinstance(x, Tangent) else x
    for key, value in parts.items():
        into[key] = value
    return x


def _misfit(a: Any, b: Any) -> str:
    """What `a` is and `b` is not; nothing where they have the same form."""
    if isinstance(a, Tangent):
        if not isinstance(b, Tangent) or a._of != b._of:
            return f"a Tangent of {a._of}, the other {_described(b)}"
        keys = vars(a).keys() ^ vars(b).keys()
        return f"a Tangent of {a._of} with a field {min(keys)!r}, the other without" if keys else ""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() != b.keys():
        return f"a dict with a key {min(a.keys() ^ b.keys(), key=repr)!r}, the other without"
    if isinstance(a, _CONTAINERS) or isinstance(b, _CONTAINERS):
        same = type(a) is type(b) and len(a) == len(b)
    else:
        same = np.shape(a) == np.shape(b)
    return "" if same else f"{_described(a)}, the other {_described(b)}"


def _described(x: Any) -> str:
    if isinstance(x, Tangent):
        return f"a Tangent of {x._of}"
    if isinstance(x, _CONTAINERS):
        return f"a {type(x).__name__} of {len(_parts(x))}"
    return f"of shape {np.shape(x)}" if np.ndim(x) else "a number"


def _same(a: Any, b: Any) -> bool:
    """Equality of gradients: containers by content, arrays by shape and elements."""
    waiting = [(a, b)]
    seen: set[tuple[int, int]] = set()
    while waiting:
        a, b = waiting.pop()
        if (id(a), id(b)) in seen:
            continue
        seen.add((id(a), id(b)))
        if isinstance(a, Tangent) and isinstance(b, Tangent):
            if a._of != b._of or vars(a).keys() != vars(b).keys():
                return False
            waiting.extend((v, vars(b)[k]) for k, v in vars(a).items())
        elif isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return False
            waiting.extend((a[k], b[k]) for k in a)
        elif isinstance(a, (list, tuple)) and type(a) is type(b):
            if len(a) != len(b):
                return False
            waiting.extend(zip(a, b, strict=True))
        elif isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            if not np.array_equal(a, b):
                return False
        elif not bool(a == b):
            return False
    return True
