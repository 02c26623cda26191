"""Functions of Python that are not of numbers: of sequences, of objects, of functions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.compiler.front.captures import Outside
from zyg.compiler.front.closures import Bound, Partial
from zyg.compiler.front.parallel import prange
from zyg.compiler.front.sequences import Range, Sequence
from zyg.compiler.front.structures import Choice, Compound, Items, Ref, Unknown, is_leaf
from zyg.compiler.ir import type_of
from zyg.compiler.record import Number, atom_of

_SORTED = 16  # things that are sorted by comparing all


def _cell(reader: Any, x: Any) -> Any:
    """A variable of the reader's own: how it is read, and how it is set."""
    ref = reader.heap.new("variables", {"": x})

    def put(y: Any) -> None:
        reader.heap[ref][""] = reader.settled(y)

    return (lambda: reader.heap[ref][""]), put


def _sum(reader: Any, x: Any, start: Any = 0) -> Any:
    get, put = _cell(reader, start)
    reader.each(x, lambda one: put(reader.operated(operator.add, get(), one)))
    return get()


def _any(reader: Any, x: Any) -> Any:
    return _decided(reader, x, True)


def _all(reader: Any, x: Any) -> Any:
    return _decided(reader, x, False)


def _decided(reader: Any, x: Any, by: bool) -> Any:
    """any() and all(): what follows the one that decides is not looked at."""
    get, put = _cell(reader, not by)

    def visit(one: Any) -> None:
        test = reader.as_condition(one)
        if is_leaf(test) and not isinstance(one, Ref):
            # Whatever computes it has been done before; so it is decided by it alone.
            test = reader._as_bool(test)
            name = "logical_or" if by else "logical_and"
            made = reader.builder.op(name, atom_of(get()), atom_of(test))
            put(reader.builder.wrap(made))
        else:
            put((get() | bool(test)) if by else (get() & bool(test)))

    reader.each(x, visit)
    return get()


def _extremum(f: Any, better: Any) -> Callable[..., Any]:
    def extremum(reader: Any, *args: Any, key: Any = None, default: Any = Unknown) -> Any:
        of = (lambda x: x) if key is None else (lambda x: reader.call(key, [x], {}))
        items = reader.sequence(args[0]) if len(args) == 1 and not is_generator(args[0]) else args
        if isinstance(items, Sequence):
            if default is Unknown:
                reader.demand(reader.less(0, items.length), f"{f.__name__}() of nothing")
                return _best(reader, items.at(0), items, of, better)
            return reader.choose(
                reader.less(0, items.length),
                lambda: _best(reader, items.at(0), items, of, better), lambda: default,
            )  # fmt: skip
        if len(args) == 1 and is_generator(args[0]):
            made = reader.new_list(())
            reader.each(args[0], lambda x: reader.append(made, x))
            return extremum(reader, made, key=key, default=default)
        items = [*items]
        if not items:
            if default is Unknown:
                raise IndexError(f"{f.__name__}() of nothing")
            return default
        if key is None and all(is_leaf(x) for x in items):
            return reader.call(f, items, {}) if len(items) > 1 else items[0]
        return _best(reader, items[0], items[1:], of, better)

    return extremum


def is_generator(x: Any) -> bool:
    return isinstance(x, Ref) and x.kind == "iterator"


def _best(reader: Any, first: Any, rest: Any, of: Callable[[Any], Any], better: Any) -> Any:
    """The first of the best; what decides is computed once for each."""
    get, put = _cell(reader, (first, of(first)))

    def visit(x: Any) -> None:
        best, measure = get()
        found = of(x)
        test = reader.operated(better, found, measure)
        put(reader.choose(test, lambda: (x, found), lambda: (best, measure)))

    reader.each(rest, visit)
    return get()[0]


def _listed(reader: Any, x: Any = ()) -> Any:
    if isinstance(x, Ref) and x.kind is list:
        return reader.copied(x)
    made = reader.new_list(())
    if isinstance(rounds := (x if is_generator(x) else reader.sequence(x)), list):
        reader.heap[made][""] = Items(rounds)
    else:
        reader.each(rounds, lambda one: reader.append(made, one))
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
    found = reader.steps(x)

    def at(k: Any) -> Any:
        return reader.next_index(k, atom_of(start)), found.at(k)

    return reader.iterator(
        Sequence(found.length, at, None, found.independent, found.held, found.still)
    )


def _zip(reader: Any, *xs: Any, strict: bool = False) -> Any:
    found = [reader.steps(x) for x in xs]
    counts = [atom_of(x.length) for x in found]
    op = reader.builder.op
    least = functools.reduce(lambda a, b: op("minimum", a, b), counts) if counts else 0
    for count in counts if strict else ():
        reader.demand(reader.builder.wrap(op("equal", count, least)), "zip() of other lengths")
    known = all(x.held is not None for x in found)

    def at(k: Any) -> Any:
        return tuple(x.at(k) if known or x.held is None else
                     reader.item(tuple(map(x.at, range(x.length))), k) for x in found)  # fmt: skip

    def still() -> Any:
        return functools.reduce(operator.and_, [x.still() for x in found], True)

    held = [x.held for x in found] if known else None
    return reader.iterator(Sequence(reader.index(least), at, held=held, still=still))


def _map(reader: Any, f: Any, *xs: Any) -> Any:
    rows = xs[0] if len(xs) == 1 else _zip(reader, *xs)
    one = len(xs) == 1

    def each(visit: Callable[[Any], None]) -> None:
        reader.each(rows, lambda row: visit(reader.call(f, [row] if one else [*row], {})))

    return reader.generator(each)


def _filter(reader: Any, f: Any, x: Any) -> Any:
    def each(visit: Callable[[Any], None]) -> None:
        def where(one: Any) -> None:
            test = one if f is None else reader.call(f, [one], {})
            reader.choose(reader.as_condition(test), lambda: visit(one), lambda: None)

        reader.each(x, where)

    return reader.generator(each)


def _reversed(reader: Any, x: Any) -> Any:
    if isinstance(x, range):
        return reader.iterator(reader.rounds(x[::-1]))
    found = reader.steps(x)

    def at(k: Any) -> Any:
        last = reader.builder.op("subtract", atom_of(found.length), 1)
        return found.at(reader.index(reader.builder.op("subtract", last, atom_of(k))))

    return reader.iterator(Sequence(found.length, at, held=found.held, still=found.still))


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


def _reduce(reader: Any, f: Any, x: Any, *first: Any) -> Any:
    items = x if first else reader.sequence(x)
    if isinstance(items, Sequence) and not first:
        reader.demand(reader.less(0, items.length), "nothing to reduce")
        at, rest = items.at, reader.next_index(items.length, -1)
        first, items = (at(0),), Sequence(rest, lambda k: at(reader.next_index(k)))
    elif not first:
        first, items = (items[0],), items[1:]
    get, put = _cell(reader, first[0])
    reader.each(items, lambda one: put(reader.call(f, [get(), one], {})))
    return get()


_NUMBERS = {"float": np.float64(), "float32": np.float32(), "int": np.int64(), "bool": np.bool_()}
_PYTHONS = {"float": 0.0, "int": 0, "uint": 0, "bool": False}


def type_of_value(reader: Any, x: Any) -> type:
    """The class of a value."""
    if isinstance(x, Number):
        kind = type_of(x.atom)
        python = getattr(x, "python", kind != "float" or None)
        if not reader.whole:
            return type({**_PYTHONS, "float": np.float64()}[kind])
        if python is None:
            raise TypeError(
                "whether the number is Python's or NumPy's depends on which branch was taken"
            )
        return type((_PYTHONS if python else _NUMBERS)[kind])
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
    if isinstance(x, Choice):
        return reader.over(x, lambda one: _isinstance(reader, one, kinds))
    kinds = reader.elements(kinds) if _is_row(kinds) else [kinds]
    classes = tuple(k.value if isinstance(k, Outside) else k for k in kinds)
    return issubclass(type_of_value(reader, x), classes)


def _is_row(x: Any) -> bool:
    return isinstance(x.value if isinstance(x, Outside) else x, tuple)


def _callable(reader: Any, x: Any) -> Any:
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
    frozenset: _set, range: _range, prange: _prange, enumerate: _enumerate, zip: _zip, map: _map,
    filter: _filter, reversed: _reversed, sorted: _sorted, isinstance: _isinstance,
    callable: _callable, getattr: _getattr, len: lambda reader, x: reader.length(x),
    type: lambda reader, x: type_of_value(reader, x),
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
