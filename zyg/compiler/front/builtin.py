"""Functions of Python that are not of numbers: of sequences, of objects, of functions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from zyg.compiler.draws import Source
from zyg.compiler.front.captures import Outside
from zyg.compiler.front.closures import Bound, Partial
from zyg.compiler.front.iterators import Elements, Enumerated, Filtered, Mapped, Reversed, Zipped
from zyg.compiler.front.mixed import Mixed, NarrowNumber, is_scalar
from zyg.compiler.front.operators import DUNDERS
from zyg.compiler.front.parallel import prange
from zyg.compiler.front.sequences import Range, Sequence, is_iterator
from zyg.compiler.front.structures import Choice, Compound, Items, Ref, Unknown, is_leaf
from zyg.compiler.ir import type_of
from zyg.compiler.numbers import Number

if TYPE_CHECKING:
    from zyg.compiler.front.interpreter import Interpreter

_OURS = f"{__name__.partition('.')[0]}.compiler."
_SORTED = 16  # things that are sorted by comparing all


def _sum(reader: Interpreter, x: Any, start: Any = 0) -> Any:
    with reader.going.cell(start) as total:

        def add(one: Any) -> None:
            total.value = reader.values.operated(operator.add, total.value, one)

        reader.going.each(x, add)
        return total.value


def _any(reader: Interpreter, x: Any) -> Any:
    with reader.going.looking() as found:
        reader.going.each(x, lambda one: reader.going.leave(found, _truth(reader, one)), found)
        return found.stopped()


def _all(reader: Interpreter, x: Any) -> Any:
    with reader.going.looking() as found:
        reader.going.each(
            x,
            lambda one: reader.going.leave(found, reader.operators.inverse(_truth(reader, one))),
            found,
        )
        return reader.operators.inverse(found.stopped())


def _truth(reader: Interpreter, x: Any) -> Any:
    return reader.operators.as_bool(x)


def _extremum(f: Any, better: Any) -> Callable[..., Any]:
    def extremum(reader: Interpreter, *args: Any, key: Any = None, default: Any = Unknown) -> Any:
        def of(x: Any) -> Any:
            return x if key is None else reader.calls.call(key, [x], {})

        if len(args) == 1 and is_iterator(args[0]):
            # What decides is computed with each.
            made = reader.containers.new_list(())
            reader.going.each(
                args[0], lambda x: reader.containers.append(made, x if key is None else (x, of(x)))
            )
            if key is None:
                return extremum(reader, made, default=default)
            nothing = {} if default is Unknown else {"default": (default, None)}
            return extremum(reader, made, key=operator.itemgetter(1), **nothing)[0]
        items: Any = reader.sequences.sequence(args[0]) if len(args) == 1 else args
        if isinstance(items, Sequence):

            def found() -> Any:
                rest = items if key is None else _after_first(reader, items)
                return _best(reader, items.at(0), rest, of, better)

            some = reader.sequences.less(0, items.length)
            if default is not Unknown:
                return reader.flow.choose(some, found, lambda: default)
            reader.flow.demand(some, f"{f.__name__}() of nothing")
            return found()
        items = [*items]
        if not items:
            if default is Unknown:
                raise IndexError(f"{f.__name__}() of nothing")
            return default
        if key is None and all(is_leaf(x) for x in items):
            return reader.calls.call(f, items, {}) if len(items) > 1 else items[0]
        return _best(reader, items[0], items[1:], of, better)

    return extremum


def _best(reader: Interpreter, first: Any, rest: Any, of: Callable[[Any], Any], better: Any) -> Any:
    """The first of the best; what decides is computed once for each."""
    with reader.going.cell((first, of(first))) as best:

        def visit(x: Any) -> None:
            before = best.value
            found = x, of(x)
            test = reader.values.operated(better, found[1], before[1])
            best.value = reader.flow.choose(test, lambda: found, lambda: before)

        reader.going.each(rest, visit)
        return best.value[0]


def _listed(reader: Interpreter, x: Any = ()) -> Any:
    if isinstance(x, Ref) and x.kind is list:
        return reader.containers.copied(x)
    made = reader.containers.new_list(())
    if not is_iterator(x) and isinstance(rounds := reader.sequences.sequence(x), list):
        reader.flow.heap[made][""] = Items(rounds)
    else:
        reader.going.each(x, lambda one: reader.containers.append(made, one))
    return made


def _tuple(reader: Interpreter, x: Any = ()) -> Any:
    return tuple(reader.sequences.elements(x))


def _dict(reader: Interpreter, x: Any = None, /, **more: Any) -> Any:
    made = reader.flow.heap.new(dict, {})
    for key, value in {**({} if x is None else reader.containers.known_dict(x)), **more}.items():
        reader.containers.set_item(made, key, value)
    return made


def _set(reader: Interpreter, x: Any = ()) -> Any:
    return reader.containers.new_set(reader.sequences.elements(x))


def _prange(reader: Interpreter, *bounds: Any) -> Any:
    found = _range(reader, *bounds)
    start, stop, step = found.start, found.stop, found.step
    return Range(start, stop, step, independent=True)


def _range(reader: Interpreter, *bounds: Any) -> Any:
    bounds = tuple(map(reader.values.counting, bounds))
    return reader.sequences.range_of(*((0, *bounds) if len(bounds) == 1 else bounds))


def _enumerate(reader: Interpreter, x: Any, start: Any = 0) -> Any:
    return reader.sequences.iterator(Enumerated(reader.sequences.begun(x), start))


def _zip(reader: Interpreter, *xs: Any, strict: bool = False) -> Any:
    return reader.sequences.iterator(Zipped(*map(reader.sequences.begun, xs), strict=strict))


def _map(reader: Interpreter, f: Any, *xs: Any) -> Any:
    return reader.sequences.iterator(Mapped(f, *map(reader.sequences.begun, xs)))


def _filter(reader: Interpreter, f: Any, x: Any) -> Any:
    return reader.sequences.iterator(Filtered(f, reader.sequences.begun(x)))


def _reversed(reader: Interpreter, x: Any) -> Any:
    if isinstance(x, range):
        return reader.sequences.iterator(Elements(x[::-1]))
    if is_iterator(x):
        raise TypeError("an iterator is not reversed")
    x = reader.sequences.begun(x)
    return reader.sequences.iterator(Reversed(x, reader.sequences.steps(x).length))


def _sorted(reader: Interpreter, x: Any, *, key: Any = None, reverse: bool = False) -> Any:
    """A list in order; what is equal stays in order. By comparing neighbours, n times."""
    items = reader.sequences.elements(x)
    if len(items) > _SORTED:
        raise TypeError(f"sorted() of more than {_SORTED} values; use np.sort")
    pairs = [(one if key is None else reader.calls.call(key, [one], {}), one) for one in items]
    for last in range(len(pairs) - 1, 0, -1):
        for k in range(last):
            a, b = pairs[k : k + 2]
            test = reader.values.operated(operator.lt, *((a[0], b[0]) if reverse else (b[0], a[0])))
            pairs[k : k + 2] = reader.flow.choose(test, *map(_known, ((b, a), (a, b))))
    return reader.containers.new_list([one for _, one in pairs])


def _known(x: Any) -> Callable[[], Any]:
    return lambda: x


def _after_first(reader: Interpreter, x: Sequence) -> Sequence:
    """All elements but the first."""
    rest = x.of(lambda k: x.at(reader.sequences.next_index(k)))
    rest.length = reader.sequences.next_index(x.length, -1)
    return rest


def _reduce(reader: Interpreter, f: Any, x: Any, *first: Any) -> Any:
    if not first:
        found = reader.sequences.opened(x)
        if not isinstance(found, Sequence):
            raise TypeError("reduce() of how many is not known, without a first")
        reader.flow.demand(reader.sequences.less(0, found.length), "nothing to reduce")
        first, x = (found.at(0),), _after_first(reader, found)
    with reader.going.cell(first[0]) as made:

        def step(one: Any) -> None:
            made.value = reader.calls.call(f, [made.value, one], {})

        reader.going.each(x, step)
        return made.value


_NUMBERS = {"float": np.float64(), "float32": np.float32(), "int": np.int64(), "bool": np.bool_()}
_PYTHONS = {"float": 0.0, "int": 0, "uint": 0, "bool": False}


def type_of_value(reader: Interpreter, x: Any) -> type:
    """The class of a value."""
    if isinstance(x, Number):
        kind = type_of(x.atom)
        if not reader.whole:
            return type({**_PYTHONS, "float": np.float64()}[kind])
        return type((_PYTHONS if getattr(x, "python", True) else _NUMBERS)[kind])
    if isinstance(x, Ref):
        if not isinstance(x.kind, type):
            raise TypeError("what it is an object of")
        return np.random.Generator if x.kind is Source else x.kind
    value = x.value if isinstance(x, Outside) else x
    if not type(value).__module__.startswith(_OURS):
        return type(value)
    if (found := getattr(value, "stands_for", None)) is None:
        raise TypeError(f"the class of a {type(value).__name__}")
    return found  # type: ignore[no-any-return]


def _isinstance(reader: Interpreter, x: Any, kinds: Any) -> Any:
    if isinstance(x, (Choice, Mixed)):
        return reader.flow.over(x, lambda one: _isinstance(reader, one, kinds))
    is_row = isinstance(kinds.value if isinstance(kinds, Outside) else kinds, tuple)
    kinds = reader.sequences.elements(kinds) if is_row else [kinds]
    classes = tuple(k.value if isinstance(k, Outside) else k for k in kinds)
    return issubclass(type_of_value(reader, x), classes)


def _callable(reader: Interpreter, x: Any) -> Any:
    if is_scalar(x) or isinstance(x, NarrowNumber):
        return False
    return callable(x.value if isinstance(x, Outside) else x) or isinstance(x, (Bound, Compound))


def _getattr(reader: Interpreter, owner: Any, name: str, *default: Any) -> Any:
    if isinstance(owner, Outside):
        if default and not hasattr(owner.value, name):
            reader.captures.guards[(*owner.path, ("has", name))] = False
            return default[0]
        path = (*owner.path, ("attr", name))
        return reader.captured(getattr(owner.value, name), path)
    try:
        return reader.objects.attribute(owner, name)
    except AttributeError:
        if not default:
            raise
        return default[0]


def _of_operator(f: Any) -> Callable[..., Any]:
    return lambda reader, *args: reader.values.operated(f, *args)


# What the functions mean; called with the reader first.
PYTHON: dict[Any, Callable[..., Any]] = {
    sum: _sum, any: _any, all: _all, list: _listed, tuple: _tuple, dict: _dict, set: _set,
    slice: lambda reader, *args: slice(*args),
    frozenset: _set, range: _range, prange: _prange, enumerate: _enumerate, zip: _zip, map: _map,
    filter: _filter, reversed: _reversed, sorted: _sorted, isinstance: _isinstance,
    bool: lambda reader, x=False: reader.operators.as_bool(x),
    callable: _callable, getattr: _getattr, len: lambda reader, x: reader.containers.length(x),
    type: lambda reader, x: reader.flow.over(x, lambda one: type_of_value(reader, one)),
    functools.reduce: _reduce,
    functools.partial: lambda reader, f, *args, **kwargs: Partial(f, args, kwargs),
    functools.wraps: lambda reader, f: Bound(lambda reader, first, g: g, f, native=True),
    operator.itemgetter: lambda reader, *keys: operator.itemgetter(*keys),
    operator.attrgetter: lambda reader, *names: operator.attrgetter(*names),
    operator.abs: lambda reader, x: reader.calls.call(abs, [x], {}),
    operator.not_: lambda reader, x: reader.operators.inverse(reader.operators.as_condition(x)),
    operator.getitem: lambda reader, x, k: reader.containers.item(x, k),
    operator.setitem: lambda reader, x, k, v: reader.containers.set_item(x, k, v),
    operator.is_: lambda reader, x, y: reader.operators.is_same(x, y),
    **{f: _of_operator(f) for f in DUNDERS},
}  # fmt: skip
# Those of a sequence; of several numbers they are functions of numbers.
OF_SEQUENCES: dict[Any, Callable[..., Any]] = {
    max: _extremum(max, operator.gt), min: _extremum(min, operator.lt),
}  # fmt: skip
