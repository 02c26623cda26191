"""Lists, dicts and sets: their elements, and their methods."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from zyg.compiler.front.captures import Outside
from zyg.compiler.front.closures import Bound
from zyg.compiler.front.control_flow import Concern
from zyg.compiler.front.growing import Growing, appended, at, fitting, promoted, put, sliced
from zyg.compiler.front.sequences import Sequence as Counted
from zyg.compiler.front.sequences import View
from zyg.compiler.front.structures import Choice, Dead, Different, Items, Ref, Unknown, is_leaf
from zyg.compiler.ir import Atom, Value, type_of
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError

if TYPE_CHECKING:
    from zyg.compiler.front.interpreter import Interpreter

_SELECTED = 16  # elements of a tuple, of which one is selected by comparing the index


class Containers(Concern):
    """What is done with lists, dicts, sets and tuples."""

    def new_list(self, items: Sequence[Any]) -> Ref:
        return self.flow.heap.new(list, {"": Items(items)})

    def new_set(self, items: Sequence[Any]) -> Ref:
        made = self.flow.heap.new(set, {})
        for x in items:
            self.set_item(made, x, True)
        return made

    def changed(self, owner: Ref) -> dict[Any, Any]:
        """The content of something that is changed."""
        if owner.fixed:
            raise KernelError(
                f"a change of {owner.fixed} cannot be used in a compiled function.",
                "changes of lists, dicts and objects from outside are not written back.",
                "change a copy and return it.",
            )
        return self.flow.heap[owner]

    # Reading

    def item(self, owner: Any, index: Any) -> Any:
        """``owner[index]``."""
        if (found := self.reader.values.item(owner, index)) is not NotImplemented:
            return found
        if isinstance(owner, Choice):
            return self.flow.over(owner, lambda one: self.item(one, index))
        if isinstance(index, Choice):
            return self.flow.over(index, lambda one: self.item(owner, one))
        if isinstance(owner, Outside):
            if isinstance(owner.value, dict):
                raise TypeError("a computed key")
            items = self.reader.sequences.elements(owner)
            if isinstance(index, slice) and isinstance(owner.value, list):
                return self.new_list(items[index])
            owner = tuple(items)
        if isinstance(owner, Ref) and owner.kind is list:
            return self._list_item(owner, index)
        if isinstance(owner, Ref) and owner.kind in (dict, set):
            return self.found(self.flow.heap[owner], index)
        if isinstance(owner, Ref):
            return self.reader.objects.method(owner, "__getitem__", [index])
        if isinstance(index, Number) and isinstance(owner, (tuple, range, Counted)):
            if type_of(index.atom) not in ("int", "bool"):
                raise TypeError("an index that is no int")
            return self._selected(tuple(owner), index)  # type: ignore[arg-type]
        found = owner[index]
        return tuple(found) if type(owner) is Items else found

    def found(self, content: dict[Any, Any], key: Any) -> Any:
        """What a dict has under a key."""
        if isinstance(key, Number):
            return self._under_computed(content, key, [k for k in content if type(k) is int])
        if key not in content:
            raise KeyError(key)
        x = self.flow.where_set(content[key], f"no key {key!r}")
        if isinstance(x, Unknown):
            if x.unset:
                raise KeyError(key)
            raise KernelError(
                f"the value at {key!r} cannot be used here.", x.why, "give it numbers."
            )
        return x

    def _under_computed(self, content: dict[Any, Any], key: Number, keys: list[int]) -> Any:
        """What a dict has under one of these keys, an int that is computed."""
        if len(keys) > _SELECTED or type_of(key.atom) != "int":
            raise TypeError("a computed key")
        if not keys:
            raise Dead("no such key")
        test = self.to.wrap(self.to.op("equal", key.atom, keys[0]))
        return self.flow.choose(
            test, lambda: self.found(content, keys[0]),
            lambda: self._under_computed(content, key, keys[1:]),
        )  # fmt: skip

    def _list_item(self, owner: Ref, index: Any) -> Any:
        content = self.flow.heap[owner]
        items = self.items(content)
        if isinstance(index, slice):
            return self._slice_of(items, index)
        if not isinstance(items, Growing) and not isinstance(index, Number):
            return items[index]
        items = content[""] = self.promoted(items)
        return at(self.to, items, self.within(index, items.count))

    def items(self, content: dict[Any, Any]) -> Any:
        items = content[""]
        if isinstance(items, Unknown):
            raise KernelError("a list cannot be used in a kernel.", items.why, "use numbers.")
        if isinstance(items, Choice):
            raise KernelError(
                "a list cannot be used in a kernel.", "it has two forms.", "use numbers."
            )
        return items

    def promoted(self, items: Any) -> Growing:
        try:
            return promoted(self.to, items)
        except Different:
            raise TypeError(
                "the elements of a list that is indexed by a computed int are of several types"
            ) from None

    def within(self, index: Any, count: Any) -> Atom:
        """An index, counted from the start; Python raises where there is none."""
        k, n = atom_of(index), atom_of(count)
        op = self.to.op
        if isinstance(k, Value):
            k = op("select", op("less", k, 0), op("add", k, n), k)
        elif k < 0:
            k = op("add", n, k)
        inside = op("logical_and", op("greater_equal", k, 0), op("less", k, n))
        self.flow.demand(self.to.wrap(inside), "an index out of range")
        return k

    def _selected(self, items: tuple[Any, ...], index: Number) -> Any:
        """An element of a tuple, at a computed index."""
        k = self.within(index, len(items))
        if len(items) > _SELECTED:
            return at(self.to, self.promoted(Items(items)), k)

        def choice(first: int) -> Any:
            if first == len(items) - 1:
                return items[first]
            test = self.to.wrap(self.to.op("equal", k, first))
            return self.flow.choose(test, lambda: items[first], lambda: choice(first + 1))

        return choice(0)

    def _slice_of(self, items: Any, index: slice) -> Ref:
        bounds = index.start, index.stop, index.step
        known = not any(isinstance(b, Number) for b in bounds)
        if not isinstance(items, Growing) and known:
            return self.new_list(items[index])
        if index.step not in (None, 1):
            raise TypeError("a slice with a step, of a list whose length is not known")
        items = self.promoted(items)
        start = self._bound(index.start, items.count, 0)
        stop = self._bound(index.stop, items.count, items.count)
        count = self.to.op("maximum", self.to.op("subtract", stop, start), 0)
        content = sliced(self.to, items, self.to.wrap(start), self.to.wrap(count))
        return self.flow.heap.new(list, {"": content})

    def _bound(self, x: Any, count: Any, default: Any) -> Atom:
        """The bound of a slice, between 0 and the count."""
        op, k, n = self.to.op, atom_of(default if x is None else x), atom_of(count)
        k = op("select", op("less", k, 0), op("add", k, n), k)
        return op("minimum", op("maximum", k, 0), n)

    def keys(self, owner: Ref) -> list[Any]:
        """The keys of a dict, all of which it has."""
        content = self.flow.heap[owner]
        for key in content:
            self.found(content, key)
        return [*content]

    def length(self, x: Any) -> Any:
        """``len(x)``."""
        if isinstance(x, Choice):
            return self.flow.over(x, self.length)
        if isinstance(x, Ref) and x.kind in (set, dict):
            return len(self.keys(x))
        if isinstance(x, Ref) and x.kind is not list:
            return self.reader.objects.method(x, "__len__", [])
        if isinstance(x, Outside):
            return len(x.value)
        if isinstance(x, str):
            return len(x)
        found = self.reader.sequences.sequence(x)
        return found.length if isinstance(found, Counted) else len(found)

    # Changing

    def set_item(self, owner: Any, index: Any, value: Any) -> None:
        """``owner[index] = value``."""
        if self.reader.values.set_item(owner, index, value) is not NotImplemented:
            return
        value = self.reader.values.settled(value)
        if isinstance(owner, Choice):
            self.flow.over(owner, lambda one: self.set_item(one, index, value))
        elif isinstance(owner, Ref) and owner.kind is list:
            self._set_list_item(self.changed(owner), index, value)
        elif isinstance(owner, Ref) and owner.kind in (dict, set):
            demand_known(index)
            self.changed(owner)[index] = value
        elif isinstance(owner, Ref):
            self.reader.objects.method(owner, "__setitem__", [index, value])
        else:
            raise TypeError("an element of it is not set")

    def _set_list_item(self, content: dict[Any, Any], index: Any, value: Any) -> None:
        items = self.items(content)
        if isinstance(items, Growing) or isinstance(index, Number):
            if isinstance(index, slice):
                raise TypeError("a slice of a list whose length is not known, set")
            items = content[""] = self._fitting(self.promoted(items), value)
            put(self.to, items, self.within(index, items.count), value)
            return
        made = [*items]
        made[index] = self.reader.sequences.elements(value) if type(index) is slice else value
        content[""] = Items(made)

    def _fitting(self, items: Growing, value: Any) -> Growing:
        try:
            return fitting(self.to, items, value)
        except Different:
            raise TypeError("the elements of a long list are of several types") from None

    def delete_item(self, owner: Any, index: Any) -> None:
        if not isinstance(owner, Ref):
            raise TypeError("an element of it is not deleted")
        content = self.changed(owner)
        if owner.kind is dict:
            self.found(content, index)
            del content[index]
            return
        self.pop(owner, index)

    def append(self, owner: Ref, value: Any) -> None:
        content = self.changed(owner)
        items = self.items(content)
        value = self.reader.values.settled(value)
        if isinstance(items, Growing):
            content[""] = appended(self.to, self._fitting(items, value), value)
        else:
            content[""] = Items((*items, value))

    def extend(self, owner: Ref, values: Any) -> None:
        if isinstance(values, Ref) and values.kind is list:
            items = self.items(self.flow.heap[values])
            if isinstance(items, Growing):
                values = self.flow.heap.new(list, {"": items})  # as it is now
        self.reader.going.each(values, lambda x: self.append(owner, x))

    def pop(self, owner: Ref, index: Any = -1) -> Any:
        content = self.changed(owner)
        items = self.items(content)
        if not isinstance(items, Growing):
            if isinstance(index, Number):
                raise TypeError("an element at a computed index, popped")
            made = [*items]
            found = made.pop(index)
            content[""] = Items(made)
            return found
        if index != -1:
            raise TypeError("an element inside of a list whose length is not known, popped")
        k = self.within(-1, items.count)
        content[""] = items.made([self.to.wrap(k), items.room, *items.columns])
        return at(self.to, items, k)

    def update(self, owner: Ref, other: Any) -> None:
        for key, value in self.known_dict(other).items():
            self.set_item(owner, key, value)

    def known_dict(self, x: Any) -> dict[Any, Any]:
        """A dict's keys and values; also of pairs."""
        if isinstance(x, Outside) and isinstance(x.value, dict):
            return {
                key: self.reader.captured(part, (*x.path, ("item", key)))
                for key, part in x.value.items()
            }
        if isinstance(x, Ref) and x.kind is dict:
            return {key: self.item(x, key) for key in self.keys(x)}
        if isinstance(x, dict):
            return x
        return dict(map(self.reader.sequences.elements, self.reader.sequences.elements(x)))

    def copied(self, owner: Ref) -> Ref:
        content = dict(self.flow.heap[owner])
        if owner.kind is list and isinstance(items := self.items(content), Growing):
            content[""] = sliced(self.to, items, 0, items.count)
        return self.flow.heap.new(owner.kind, content)

    def contains(self, owner: Any, x: Any) -> Any:
        """``x in owner``."""
        if isinstance(owner, Choice):
            return self.flow.over(owner, lambda one: self.contains(one, x))
        if isinstance(owner, str):
            return x in owner
        hashed = isinstance(owner, Outside) and isinstance(owner.value, (dict, set, frozenset))
        if hashed or (isinstance(owner, Ref) and owner.kind in (dict, set)):
            keys = owner.value if hashed else self.flow.heap[owner]
            if not isinstance(x, Number):
                demand_known(x)
                return x in keys if hashed else self.has(keys.get(x, _NOT_THERE))
            owner = tuple(keys)
        if not (getattr(owner, "python", True) or is_leaf(x)):
            raise TypeError("an array has no such elements")
        with self.reader.going.looking() as found:
            self.reader.going.each(
                owner,
                lambda one: self.reader.going.leave(found, self.reader.operators.alike(one, x)),
                found,
            )
            return found.stopped()

    def has(self, x: Any) -> Any:
        """Whether a key is there."""
        if isinstance(x, Unknown):
            return False
        if isinstance(x, Choice):
            gone = [f for f, o in zip(x.flags, x.options, strict=True) if isinstance(o, Unknown)]
            return self.reader.operators.inverse(gone[0]) if gone else True
        return True


_NOT_THERE = Unknown("it is not there.", unset=True)


def demand_known(key: Any) -> None:
    """Refuse a key that is not what it is while the source is read."""
    if not isinstance(key, _KEYS):
        raise TypeError("a computed key")
    for part in key if isinstance(key, tuple) else ():
        demand_known(part)


_KEYS = str, bytes, int, float, complex, tuple, type(None), enum.Enum


def _get(reader: Interpreter, owner: Ref, key: Any, default: Any = None) -> Any:
    has = reader.containers.contains(owner, key)
    return reader.flow.choose(has, lambda: reader.containers.item(owner, key), lambda: default)


def _set_default(reader: Interpreter, owner: Ref, key: Any, default: Any = None) -> Any:
    def set_it() -> Any:
        reader.containers.set_item(owner, key, default)
        return default

    has = reader.containers.contains(owner, key)
    return reader.flow.choose(has, lambda: reader.containers.item(owner, key), set_it)


def _pop_key(reader: Interpreter, owner: Ref, *key: Any) -> Any:
    demand_known(key[0])
    found = _get(reader, owner, *key) if len(key) > 1 else reader.containers.item(owner, key[0])
    reader.containers.changed(owner).pop(key[0], None)
    return found


def _insert(reader: Interpreter, owner: Ref, k: int, value: Any) -> None:
    made = reader.sequences.elements(owner)
    made.insert(k, value)
    reader.containers.changed(owner)[""] = Items(made)


def _reverse(reader: Interpreter, owner: Ref) -> None:
    reader.containers.changed(owner)[""] = Items(reader.sequences.elements(owner)[::-1])


def _sort(reader: Interpreter, owner: Ref, *, key: Any = None, reverse: bool = False) -> None:
    made = reader.calls.call(sorted, [owner], {"key": key, "reverse": reverse})
    reader.containers.changed(owner)[""] = reader.flow.heap[made][""]


def _clear(reader: Interpreter, owner: Ref) -> None:
    content = reader.containers.changed(owner)
    content.clear()
    if owner.kind is list:
        content[""] = Items(())


def _update(reader: Interpreter, owner: Ref, *others: Any, **more: Any) -> None:
    for other in (*others, more):
        reader.containers.update(owner, other)


def _view(what: str) -> Callable[..., Any]:
    return lambda reader, owner: View(owner, what)


_COMMON: dict[str, Callable[..., Any]] = {
    "copy": lambda reader, owner: reader.containers.copied(owner), "clear": _clear,
}  # fmt: skip
METHODS: dict[Any, dict[str, Callable[..., Any]]] = {
    list: {
        **_COMMON,
        "append": lambda reader, owner, x: reader.containers.append(owner, x),
        "extend": lambda reader, owner, x: reader.containers.extend(owner, x),
        "pop": lambda reader, owner, k=-1: reader.containers.pop(owner, k),
        "insert": _insert, "reverse": _reverse, "sort": _sort,
        "count": lambda reader, owner, x: reader.operators.count_of(owner, x),
        "index": lambda reader, owner, x: reader.operators.index_of(owner, x),
    },
    dict: {
        **_COMMON,
        "get": _get, "setdefault": _set_default, "pop": _pop_key,
        "items": _view("items"), "keys": _view("keys"), "values": _view("values"),
        "update": _update,
    },
    set: {
        **_COMMON,
        "add": lambda reader, owner, x: reader.containers.set_item(owner, x, True),
        "discard": lambda reader, owner, x: reader.containers.changed(owner).pop(x, None) and None,
    },
}  # fmt: skip


def method_of(owner: Ref, name: str) -> Bound:
    """A method of a list, dict or set; AttributeError where it has none of that name."""
    found = METHODS[owner.kind].get(name)
    if found is None:
        raise AttributeError(f"{owner.kind.__name__}.{name} is not compiled")
    return Bound(found, owner, native=True)
