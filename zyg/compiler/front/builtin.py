"""Functions of Python that are not of numbers: of sequences, of objects, of functions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.compiler.front.captures import Outside
from zyg.compiler.front.closures import Bound, Partial
from zyg.compiler.front.iterators import (
    Elements,
    Enumerated,
    Filtered,
    Mapped,
    Reversed,
    Zipped,
)
from zyg.compiler.front.mixed import Mixed, is_scalar
from zyg.compiler.front.parallel import prange
from zyg.compiler.front.sequences import Range, Sequence, is_iterator
from zyg.compiler.front.structures import Choice, Compound, Items, Ref, Unknown, is_leaf
from zyg.compiler.ir import type_of
from zyg.compiler.numbers import Number

_SORTED = 16  # things that are sorted by comparing all


def _sum(reader: Any, x: Any, start: Any = 0) -> Any:
    with reader.cell(start) as total:

        def add(one: Any) -> None:
            total.value = reader.operated(operator.add, total.value, one)

        reader.each(x, add)
        return total.value


def _any(reader: Any, x: Any) -> Any:
    with reader.looking() as found:
        reader.each(x, lambda one: reader.leave(found, _truth(reader, one)), found)
        return found.stopped()


def _all(reader: Any, x: Any) -> Any:
    with reader.looking() as found:
        reader.each(x, lambda one: reader.leave(found, reader.inverse(_truth(reader, one))), found)
        return reader.inverse(found.stopped())


def _truth(reader: Any, x: Any) -> Any:
    return reader.as_bool(reader.as_condition(x))


def _extremum(f: Any, better: Any) -> Callable[..., Any]:
    def extremum(reader: Any, *args: Any, key: Any = None, default: Any = Unknown) -> Any:
        def of(x: Any) -> Any:
            return x if key is None else reader.call(key, [x], {})

        if len(args) == 1 and is_iterator(args[0]):
            # What decides is computed with each.
            made = reader.new_list(())
            reader.each(args[0], lambda x: reader.append(made, x if key is None else (x, of(x))))
            if key is None:
                return extremum(reader, made, default=default)
            nothing = {} if default is Unknown else {"default": (default, None)}
            return extremum(reader, made, key=operator.itemgetter(1), **nothing)[0]
        items: Any = reader.sequence(args[0]) if len(args) == 1 else args
        if isinstance(items, Sequence):

            def found() -> Any:
                rest = items if key is None else _after_first(reader, items)
                return _best(reader, items.at(0), rest, of, better)

            some = reader.less(0, items.length)
            if default is not Unknown:
                return reader.choose(some, found, lambda: default)
            reader.demand(some, f"{f.__name__}() of nothing")
            return found()
        items = [*items]
        if not items:
            if default is Unknown:
                raise IndexError(f"{f.__name__}() of nothing")
            return default
        if key is None and all(is_leaf(x) for x in items):
            return reader.call(f, items, {}) if len(items) > 1 else items[0]
        return _best(reader, items[0], items[1:], of, better)

    return extremum


def _best(reader: Any, first: Any, rest: Any, of: Callable[[Any], Any], better: Any) -> Any:
    """The first of the best; what decides is computed once for each."""
    with reader.cell((first, of(first))) as best:

        def visit(x: Any) -> None:
            before = best.value
            found = x, of(x)
            test = reader.operated(better, found[1], before[1])
            best.value = reader.choose(test, lambda: found, lambda: before)

        reader.each(rest, visit)
        return best.value[0]


def _listed(reader: Any, x: Any = ()) -> Any:
    if isinstance(x, Ref) and x.kind is list:
        return reader.copied(x)
    made = reader.new_list(())
    if not is_iterator(x) and isinstance(rounds := reader.sequence(x), list):
        reader.heap[made][""] = Items(rounds)
    else:
        reader.each(x, lambda one: reader.append(made, one))
    return made


def _tuple(reader: Any, x: Any = ()) -> Any:
    return tuple(reader.elements(x))


def _dict(reader: Any, x: Any = None, /, **more: Any) -> Any:
    made = reader.heap.new(dict, {})
    for key, value in {**({} if x is None else reader.known_dict(x)), **more}.items():
        reader.set_item(made, key, value)
    return made


def _set(reader: Any, x: Any = ()) -> Any:
    return reader.new_set(reader.elements(x))


def _prange(reader: Any, *bounds: Any) -> Any:
    found = _range(reader, *bounds)
    start, stop, step = found.start, found.stop, found.step
    return Range(start, stop, step, independent=True)


def _range(reader: Any, *bounds: Any) -> Any:
    return reader.range_of(*((0, *bounds) if len(bounds) == 1 else bounds))


def _enumerate(reader: Any, x: Any, start: Any = 0) -> Any:
    return reader.iterator(Enumerated(reader.begun(x), start))


def _zip(reader: Any, *xs: Any, strict: bool = False) -> Any:
    return reader.iterator(Zipped(*map(reader.begun, xs), strict=strict))


def _map(reader: Any, f: Any, *xs: Any) -> Any:
    return reader.iterator(Mapped(f, *map(reader.begun, xs)))


def _filter(reader: Any, f: Any, x: Any) -> Any:
    return reader.iterator(Filtered(f, reader.begun(x)))


def _reversed(reader: Any, x: Any) -> Any:
    if isinstance(x, range):
        return reader.iterator(Elements(x[::-1]))
    if is_iterator(x):
        raise TypeError("an iterator is not reversed")
    x = reader.begun(x)
    return reader.iterator(Reversed(x, reader.steps(x).length))


def _sorted(reader: Any, x: Any, *, key: Any = None, reverse: bool = False) -> Any:
    """A list in order; what is equal stays in order. By comparing neighbours, n times."""
    items = reader.elements(x)
    if len(items) > _SORTED:
        raise TypeError(f"sorted() of more than {_SORTED} values; use np.sort")
    pairs = [(one if key is None else reader.call(key, [one], {}), one) for one in items]
    for last in range(len(pairs) - 1, 0, -1):
        for k in range(last):
            a, b = pairs[k : k + 2]
            test = reader.operated(operator.lt, *((a[0], b[0]) if reverse else (b[0], a[0])))
            pairs[k], pairs[k + 1] = reader.choose(
                test, lambda a=a, b=b: (b, a), lambda a=a, b=b: (a, b)
            )
    return reader.new_list([one for _, one in pairs])


def _after_first(reader: Any, x: Sequence) -> Sequence:
    """All elements but the first."""
    rest = x.of(lambda k: x.at(reader.next_index(k)))
    rest.length = reader.next_index(x.length, -1)
    return rest


def _reduce(reader: Any, f: Any, x: Any, *first: Any) -> Any:
    if not first:
        found = reader.opened(x)
        if not isinstance(found, Sequence):
            raise TypeError("reduce() of how many is not known, without a first")
        reader.demand(reader.less(0, found.length), "nothing to reduce")
        first, x = (found.at(0),), _after_first(reader, found)
    with reader.cell(first[0]) as made:

        def step(one: Any) -> None:
            made.value = reader.call(f, [made.value, one], {})

        reader.each(x, step)
        return made.value


_NUMBERS = {"float": np.float64(), "float32": np.float32(), "int": np.int64(), "bool": np.bool_()}
_PYTHONS = {"float": 0.0, "int": 0, "uint": 0, "bool": False}


def type_of_value(reader: Any, x: Any) -> type:
    """The class of a value."""
    if isinstance(x, Number):
        kind = type_of(x.atom)
        if not reader.whole:
            return type({**_PYTHONS, "float": np.float64()}[kind])
        return type((_PYTHONS if getattr(x, "python", True) else _NUMBERS)[kind])
    if isinstance(x, Ref):
        if not isinstance(x.kind, type):
            raise TypeError("what it is an object of")
        return x.kind
    if isinstance(x, Compound):
        found = getattr(x, "stands_for", None)
        if found is None:
            raise TypeError(f"the class of a {type(x).__name__}")
        return found  # type: ignore[no-any-return]
    return type(x.value if isinstance(x, Outside) else x)


def _isinstance(reader: Any, x: Any, kinds: Any) -> Any:
    if isinstance(x, (Choice, Mixed)):
        return reader.over(x, lambda one: _isinstance(reader, one, kinds))
    kinds = reader.elements(kinds) if _is_row(kinds) else [kinds]
    classes = tuple(k.value if isinstance(k, Outside) else k for k in kinds)
    return issubclass(type_of_value(reader, x), classes)


def _is_row(x: Any) -> bool:
    return isinstance(x.value if isinstance(x, Outside) else x, tuple)


def _callable(reader: Any, x: Any) -> Any:
    if is_scalar(x):
        return False
    return callable(x.value if isinstance(x, Outside) else x) or isinstance(x, (Bound, Compound))


def _getattr(reader: Any, owner: Any, name: str, *default: Any) -> Any:
    if isinstance(owner, Outside):
        if default and not hasattr(owner.value, name):
            return default[0]
        path = (*owner.path, ("attr", name))
        return reader.captures.found(getattr(owner.value, name), path, reader.lift)
    try:
        return reader.attribute(owner, name)
    except AttributeError:
        if not default:
            raise
        return default[0]


def _of_operator(f: Any) -> Callable[..., Any]:
    return lambda reader, *args: reader.operated(f, *args)


_OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.neg, operator.pos, operator.lt, operator.le, operator.gt, operator.ge,
    operator.eq, operator.ne, operator.and_, operator.or_, operator.xor, operator.matmul,
    operator.invert,
]  # fmt: skip

# What the functions mean; called with the reader first.
PYTHON: dict[Any, Callable[..., Any]] = {
    sum: _sum, any: _any, all: _all, list: _listed, tuple: _tuple, dict: _dict, set: _set,
    slice: lambda reader, *args: slice(*args),
    frozenset: _set, range: _range, prange: _prange, enumerate: _enumerate, zip: _zip, map: _map,
    filter: _filter, reversed: _reversed, sorted: _sorted, isinstance: _isinstance,
    callable: _callable, getattr: _getattr, len: lambda reader, x: reader.length(x),
    type: lambda reader, x: reader.over(x, lambda one: type_of_value(reader, one)),
    functools.reduce: _reduce,
    functools.partial: lambda reader, f, *args, **kwargs: Partial(f, args, kwargs),
    functools.wraps: lambda reader, f: Bound(lambda reader, first, g: g, f, native=True),
    operator.itemgetter: lambda reader, *keys: operator.itemgetter(*keys),
    operator.attrgetter: lambda reader, *names: operator.attrgetter(*names),
    operator.abs: lambda reader, x: reader.call(abs, [x], {}),
    operator.not_: lambda reader, x: reader.inverse(reader.as_condition(x)),
    operator.getitem: lambda reader, x, k: reader.item(x, k),
    operator.setitem: lambda reader, x, k, v: reader.set_item(x, k, v),
    operator.is_: lambda reader, x, y: reader.is_same(x, y),
    **{f: _of_operator(f) for f in _OPERATORS},
}  # fmt: skip
# Those of a sequence; of several numbers they are functions of numbers.
OF_SEQUENCES: dict[Any, Callable[..., Any]] = {
    max: _extremum(max, operator.gt), min: _extremum(min, operator.lt),
}  # fmt: skip
