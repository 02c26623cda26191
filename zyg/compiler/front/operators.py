"""Operators of what is no array: of objects and sequences; truth, and what is the same."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from zyg.compiler.front.captures import Outside, may_change
from zyg.compiler.front.control_flow import Concern
from zyg.compiler.front.growing import repeated
from zyg.compiler.front.objects import is_class, is_of_user
from zyg.compiler.front.sequences import Range, View, is_iterator
from zyg.compiler.front.structures import Choice, Dead, Items, Ref, is_leaf
from zyg.compiler.ir import type_of
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError

if TYPE_CHECKING:
    pass

DUNDERS = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "truediv",
    operator.floordiv: "floordiv", operator.mod: "mod", operator.pow: "pow",
    operator.matmul: "matmul", operator.neg: "neg", operator.pos: "pos", operator.invert: "invert",
    operator.lt: "lt", operator.le: "le", operator.gt: "gt", operator.ge: "ge", operator.eq: "eq",
    operator.ne: "ne", operator.and_: "and", operator.or_: "or", operator.xor: "xor",
}  # fmt: skip
_REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def _demand_no_elements(operands: Sequence[Any]) -> None:
    """Refuse to compare with what NumPy compares element by element."""
    if not all(getattr(x, "python", True) for x in operands):
        raise TypeError("a comparison of each element")


def _ways(name: str, operands: Sequence[Any]) -> list[tuple[Any, str, list[Any]]]:
    """Whose method gives an operator, its name, and what it is given, in the order of asking."""
    owner, *others = operands
    ways = [(owner, name, others)]
    kinds: list[Any] = [getattr(x, "kind", None) for x in operands]
    if others and (name in _REFLECTED or kinds[0] is not kinds[1]):
        ways.append((others[0], _REFLECTED.get(name, f"r{name}"), [owner]))
        if (
            all(map(is_class, kinds))
            and kinds[0] is not kinds[1]
            and issubclass(kinds[1], kinds[0])
        ):
            first, second = (getattr(kind, f"__{ways[1][1]}__", None) for kind in kinds)
            return ways if first is second and name not in _REFLECTED else ways[::-1]
    return ways


class Operators(Concern):
    """What operators give, what decides, and what is the same."""

    def operated(self, f: Callable[..., Any], *operands: Any) -> Any:
        """What an operator gives for what is no array: for objects, sequences, numbers."""
        if any(isinstance(x, Ref) and is_class(x.kind) for x in operands):
            return self._of_objects(f, operands)
        if any(isinstance(x, (Ref, tuple, Outside)) for x in operands):
            return self._of_sequences(f, operands)
        return f(*operands)

    def _of_objects(self, f: Any, operands: Sequence[Any]) -> Any:
        name = DUNDERS[f]
        for owner, method, others in _ways(name, operands):
            if not (isinstance(owner, Ref) and is_class(owner.kind)):
                continue
            asks = [m for m in (method, "eq" if name == "ne" else method)
                    if is_of_user(getattr(owner.kind, f"__{m}__", None))]  # fmt: skip
            if not asks:
                continue
            found = self.reader.objects.method(owner, f"__{asks[0]}__", others)
            if isinstance(found, Choice) and NotImplemented in found.options:
                raise TypeError("NotImplemented, on some ways")
            if found is not NotImplemented:
                return found if asks[0] == method else self.inverse(found)
        if name in ("eq", "ne"):
            _demand_no_elements(operands)
            a, b = operands if isinstance(operands[0], Ref) else operands[::-1]
            return self._equal_objects(name == "eq", a, b)
        raise TypeError(f"{name} of objects")

    def _equal_objects(self, equal: bool, a: Ref, b: Any) -> Any:
        if not dataclasses.is_dataclass(a.kind):
            return (a is b) == equal
        if not isinstance(b, Ref) or b.kind is not a.kind:
            return not equal
        names = [field.name for field in dataclasses.fields(a.kind) if field.compare]
        rows = [tuple(self.reader.objects.attribute(x, name) for name in names) for x in (a, b)]
        return self._of_sequences(operator.eq if equal else operator.ne, rows)

    def _of_sequences(self, f: Any, operands: Sequence[Any]) -> Any:
        """An operator of lists or tuples."""
        if any(isinstance(x, Outside) and may_change(type(x.value)) for x in operands):
            raise TypeError("an operator of an object from outside")
        a, b = operands
        if f is operator.mul:
            return self._repeated(*((b, a) if is_leaf(a) else (a, b)))
        kinds = [x.kind if isinstance(x, Ref) else type(getattr(x, "value", x)) for x in (a, b)]
        kinds = [tuple if issubclass(kind, tuple) else kind for kind in kinds]  # namedtuples too
        if f is operator.add and kinds == [list, list]:
            made = self.reader.containers.new_list(())
            self.reader.containers.extend(made, a)
            self.reader.containers.extend(made, b)
            return made
        if f is operator.add and kinds == [tuple, tuple]:
            return (*self.reader.sequences.elements(a), *self.reader.sequences.elements(b))
        if f in (operator.eq, operator.ne) and kinds[0] is kinds[1]:
            if kinds[0] is dict:
                raise TypeError("a comparison of dicts")
            found = self._all_equal(*map(self.reader.sequences.elements, operands))
            return found if f is operator.eq else self.inverse(found)
        if f in (operator.eq, operator.ne):
            _demand_no_elements(operands)
            if issubclass(*kinds) or issubclass(*kinds[::-1]):
                raise TypeError("a comparison with what a class of the user's makes of a list")
            return f is operator.ne
        if f in (operator.lt, operator.gt) and kinds[0] is kinds[1]:
            rows = [*map(self.reader.sequences.elements, operands)]
            return self._before(*(rows if f is operator.lt else rows[::-1]))
        return f(*operands)

    def _all_equal(self, a: list[Any], b: list[Any]) -> Any:
        if len(a) != len(b):
            return False
        result: Any = True
        for x, y in zip(a, b, strict=True):
            result = result & self.alike(x, y)
        return result

    def alike(self, x: Any, y: Any) -> Any:
        """``x is y or x == y``: what containers look for; a thing is itself, whatever it equals."""
        if isinstance(x, Choice):
            return self.flow.over(x, lambda one: self.alike(one, y))
        if isinstance(y, Choice):
            return self.flow.over(y, lambda one: self.alike(x, one))
        if x is y or (not is_leaf(x) and self.is_same(x, y) is True):
            return True
        return self.as_bool(self.as_condition(self.reader.values.operated(operator.eq, x, y)))

    def count_of(self, owner: Ref, x: Any) -> Any:
        """``owner.count(x)``."""
        alike = [self.alike(one, x) for one in self.reader.sequences.elements(owner)]
        return functools.reduce(
            functools.partial(self.reader.values.operated, operator.add), alike, 0
        )

    def index_of(self, owner: Ref, x: Any) -> Any:
        """``owner.index(x)``."""
        items = self.reader.sequences.elements(owner)

        def first(k: int) -> Any:
            if k == len(items):
                raise Dead("ValueError: it is not in list")
            return self.flow.choose(self.alike(items[k], x), lambda: k, lambda: first(k + 1))

        return first(0)

    def _before(self, a: list[Any], b: list[Any]) -> Any:
        """The order of tuples."""
        if not a or not b:
            return len(a) < len(b)
        return self.flow.choose(
            self.alike(a[0], b[0]), lambda: self._before(a[1:], b[1:]),
            lambda: self.reader.values.operated(operator.lt, a[0], b[0]))  # fmt: skip

    def _repeated(self, items: Any, times: Any) -> Any:
        """``items * times``."""
        is_int = type_of(times.atom) in ("int", "bool") if isinstance(times, Number) else (
            isinstance(times, int))  # fmt: skip
        if not is_int:
            raise TypeError("what is no int times a sequence")
        if isinstance(items, Outside) and isinstance(items.value, tuple):
            items = tuple(self.reader.sequences.elements(items))
        if isinstance(items, tuple):
            return tuple(items) * times
        containers, elements = self.reader.containers, self.reader.sequences.elements
        is_list = isinstance(items, Ref)
        found = containers.items(self.flow.heap[items]) if is_list else elements(items)
        if isinstance(found, (list, tuple)) and not (found and isinstance(times, Number)):
            return containers.new_list([*found] * (0 if not found else times))
        if not self.reader.whole:
            raise TypeError("a list of computed length")
        found = containers.promoted(Items(found) if isinstance(found, list) else found)
        return self.flow.heap.new(list, {"": repeated(self.to, found, times)})

    def augmented(self, f: Callable[..., Any], owner: Any, value: Any) -> Any:
        """What a list is after ``+=``, or an object with a method for it; else NotImplemented."""
        if (found := self.reader.values.augmented(f, owner, value)) is not NotImplemented:
            return found
        if isinstance(owner, Ref) and owner.kind is list and f is operator.add:
            self.reader.containers.extend(owner, value)
            return owner
        if isinstance(owner, Ref) and is_class(owner.kind):
            name = f"__i{DUNDERS.get(f)}__"
            if hasattr(owner.kind, name):
                return self.reader.objects.method(owner, name, [value])
        return NotImplemented

    # What decides

    def inverse(self, x: Any) -> Any:
        """``not x``."""
        x = self.reader.values.decisive(x)
        return x.record("logical_not", x) if isinstance(x, Number) else not self.known(x)

    def known(self, x: Any) -> Any:
        """The truth of what is known."""
        return x.value if isinstance(x, Outside) else x

    def as_condition(self, x: Any) -> Any:
        """What decides: a number, or the truth of what is known."""
        x = self.reader.values.decisive(x)
        if isinstance(x, Choice):
            return self.flow.over(x, self.as_bool)
        if isinstance(x, (Range, View)) or (isinstance(x, Ref) and not is_class(x.kind)):
            if is_iterator(x):
                return True
            count = self.reader.containers.length(x)
            return self.reader.sequences.less(0, count) if isinstance(count, Number) else count > 0
        if isinstance(x, Ref) and hasattr(x.kind, "__bool__"):
            return self._truth(self.reader.objects.method(x, "__bool__", []))
        if isinstance(x, Ref):
            return (
                self.reader.objects.method(x, "__len__", []) if hasattr(x.kind, "__len__") else True
            )
        if isinstance(x, Outside):
            for name in ("__bool__", "__len__"):
                if is_of_user(getattr(type(x.value), name, None)):  # it may be of what changes
                    method = Outside(getattr(x.value, name), (*x.path, ("attr", name)))
                    return self._truth(self.reader.calls.call(method, [], {}))
            return bool(x.value)
        if isinstance(x, Items):
            return len(x) > 0
        return x

    def _truth(self, found: Any) -> Any:
        """What decides of what a method of the user's gives."""
        if not getattr(found, "python", True):
            raise TypeError("__bool__ should return bool, not one of NumPy's")
        return self.as_condition(found)

    def as_bool(self, x: Any) -> Any:
        """``bool(x)``."""
        x = self.as_condition(x)
        if isinstance(x, Number):
            return self.to.wrap(self.to.to("bool", x.atom))
        return bool(x)

    # What is the same

    def is_same(self, a: Any, b: Any) -> Any:
        """``a is b``."""
        if (found := self.reader.values.is_same(a, b)) is not NotImplemented:
            return found
        for one, other in ((a, b), (b, a)):
            if isinstance(one, Choice):
                result: Any = False
                for flag, option in zip(one.flags, one.options, strict=True):
                    same = self.is_same(option, other)
                    result = result | (flag if same is True else same & flag)
                return self.flow.truth(result)
        if is_leaf(a) and is_leaf(b) and a is not b:
            return self._is_same_number(a, b)
        return self.known(a) is self.known(b)

    def _is_same_number(self, a: Any, b: Any) -> Any:
        """``a is b`` of numbers: there is one True and one False, of Python's and of NumPy's."""
        whose = [getattr(x, "python", True) for x in (a, b)]
        kinds = [type_of(atom_of(x)) for x in (a, b)]
        if kinds[0] != kinds[1] or whose in ([True, False], [False, True]):
            return False
        if kinds[0] == "bool" and None not in whose:
            return self.to.wrap(self.to.op("equal", atom_of(a), atom_of(b)))
        if isinstance(a, Number) or isinstance(b, Number):
            raise KernelError(
                "is, of two numbers, is not compiled.",
                "which numbers are one object is not known.", "compare them by ==.",
            )  # fmt: skip
        return a is b
