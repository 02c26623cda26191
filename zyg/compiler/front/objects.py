"""Objects: their attributes, methods and operators, and how they are made."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from zyg.compiler.front.captures import Outside, Path
from zyg.compiler.front.closures import Bound
from zyg.compiler.front.containers import Containers, method_of
from zyg.compiler.front.growing import repeated
from zyg.compiler.front.sequences import is_iterator
from zyg.compiler.front.structures import Choice, Items, Ref, Unknown, described, is_leaf
from zyg.compiler.front.ways import Dead
from zyg.compiler.ir import type_of
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError, is_users

_DUNDERS = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "truediv",
    operator.floordiv: "floordiv", operator.mod: "mod", operator.pow: "pow",
    operator.matmul: "matmul", operator.neg: "neg", operator.pos: "pos", operator.invert: "invert",
    operator.lt: "lt", operator.le: "le", operator.gt: "gt", operator.ge: "ge", operator.eq: "eq",
    operator.ne: "ne", operator.and_: "and", operator.or_: "or", operator.xor: "xor",
}  # fmt: skip
_REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def is_class(kind: Any) -> bool:
    """Whether a `Ref` of this kind is an object of a class."""
    return isinstance(kind, type) and kind not in (list, dict, set)


class Objects(Containers):
    """What is done with objects."""

    # Attributes

    def attribute(self, owner: Any, name: str) -> Any:
        """``owner.name``."""
        if isinstance(owner, Choice):
            return self.over(owner, lambda one: self.attribute(one, name))
        if isinstance(owner, Bound) and owner.function is super:
            cls, ref = owner.first
            return self._of_super(cls, ref, name)
        if not isinstance(owner, Ref):
            return self._of_known(owner, name)
        if not is_class(owner.kind):
            return method_of(owner, name)
        content, found = self.heap[owner], inspect.getattr_static(owner.kind, name, None)
        if isinstance(found, (property, functools.cached_property)):
            fget = found.fget if isinstance(found, property) else found.func
            return self.call(Outside(fget, _getter(owner, name, found)), [owner], {})
        if name in content:
            return self._found(content, name)
        if found is None:
            raise AttributeError(f"{owner.kind.__name__} has no attribute {name}")
        return self._of_class(owner, found, name)

    def _of_class(self, owner: Ref, found: Any, name: str) -> Any:
        """An attribute of an object's class."""
        path = (*owner.path, ("attr", name))
        if isinstance(found, FunctionType):
            return Bound(Outside(found, path), owner)
        if isinstance(found, classmethod):
            return Bound(Outside(found.__func__, (*path, ("attr", "__func__"))),
                         Outside(owner.kind, owner.path))  # fmt: skip
        if isinstance(found, staticmethod):
            return Outside(found.__func__, path)
        if hasattr(type(found), "__get__"):
            raise TypeError(f"the attribute {name} is a descriptor")
        return self.captures.found(found, path, self.lift)

    def _of_known(self, owner: Any, name: str) -> Any:
        """An attribute of something that is no object made inside."""
        computed = getattr(type(owner), name, None)
        if isinstance(computed, property) and isinstance(owner, tuple):
            return self.call(computed.fget, [owner], {})
        if isinstance(owner, type) and owner in (list, dict, set):
            raise AttributeError(f"{owner.__name__}.{name} is not compiled")
        return getattr(owner, name)

    def _of_super(self, cls: type, owner: Ref, name: str) -> Any:
        classes = owner.kind.__mro__
        for base in classes[classes.index(cls) + 1 :]:
            if name in vars(base) and base is not object:
                return Bound(Outside(vars(base)[name], (("itself", base), ("attr", name))), owner)
        if name == "__init__":
            return Bound(lambda reader, owner: None, owner, native=True)
        raise AttributeError(f"super() has no attribute {name}")

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        """``owner.name = value``."""
        if isinstance(owner, Choice):
            self.over(owner, lambda one: self.set_attribute(one, name, value))
            return
        if not isinstance(owner, Ref) or not is_class(owner.kind):
            raise TypeError("an attribute of it is not set")
        found = inspect.getattr_static(owner.kind, name, None)
        if isinstance(found, property) and found.fset:
            path = (*_getter(owner, name, found)[:-1], ("attr", "fset"))
            self.call(Outside(found.fset, path), [owner, value], {})
            return
        if owner.kind.__setattr__ is not object.__setattr__ or isinstance(found, property):
            raise Dead(f"the attribute {name} is not set")
        self.changed(owner)[name] = self.settled(value)

    # Operators and truth

    def operated(self, f: Callable[..., Any], *operands: Any) -> Any:
        """What an operator gives."""
        if any(isinstance(x, Ref) and is_class(x.kind) for x in operands):
            return self._of_objects(f, operands)
        if any(isinstance(x, (Ref, tuple, Outside)) for x in operands):
            return self._of_sequences(f, operands)
        return self.operate(f, *operands)

    def _of_objects(self, f: Any, operands: Sequence[Any]) -> Any:
        name = _DUNDERS[f]
        owner, *others = operands
        ours = isinstance(owner, Ref) and is_class(owner.kind)
        if ours and hasattr(owner.kind, f"__{name}__"):
            if name in ("eq", "ne") and not _is_users(getattr(owner.kind, f"__{name}__")):
                return self._equal_objects(name == "eq", owner, *others)
            return self.method(owner, f"__{name}__", others)
        if others and isinstance(others[0], Ref) and is_class(others[0].kind):
            return self.method(others[0], f"__{_REFLECTED.get(name, 'r' + name)}__", [owner])
        raise TypeError(f"{name} of objects")

    def _equal_objects(self, equal: bool, a: Ref, b: Any) -> Any:
        if not dataclasses.is_dataclass(a.kind):
            return (a is b) == equal
        if not isinstance(b, Ref) or b.kind is not a.kind:
            return not equal
        names = [field.name for field in dataclasses.fields(a.kind) if field.compare]
        rows = [tuple(self.attribute(x, name) for name in names) for x in (a, b)]
        return self._of_sequences(operator.eq if equal else operator.ne, rows)

    def _of_sequences(self, f: Any, operands: Sequence[Any]) -> Any:
        """An operator of lists or tuples."""
        a, b = operands
        if f is operator.mul:
            return self._repeated(*((b, a) if is_leaf(a) else (a, b)))
        kinds = [x.kind if isinstance(x, Ref) else type(getattr(x, "value", x)) for x in (a, b)]
        if f is operator.add and kinds == [list, list]:
            made = self.new_list(())
            self.extend(made, a)
            self.extend(made, b)
            return made
        if f is operator.add and all(issubclass(kind, tuple) for kind in kinds):
            return (*self.elements(a), *self.elements(b))
        if f in (operator.eq, operator.ne) and kinds[0] is kinds[1]:
            if kinds[0] is dict:
                raise TypeError("a comparison of dicts")
            found = self._all_equal(self.elements(a), self.elements(b))
            return found if f is operator.eq else self.inverse(found)
        if f in (operator.eq, operator.ne):
            return f is operator.ne
        if f in (operator.lt, operator.gt) and kinds[0] is kinds[1]:
            rows = [self.elements(x) for x in (a, b)]
            return self._before(*(rows if f is operator.lt else rows[::-1]))
        return self.operate(f, *operands)

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
            return self.over(x, lambda one: self.alike(one, y))
        if isinstance(y, Choice):
            return self.over(y, lambda one: self.alike(x, one))
        if x is y or (not is_leaf(x) and self.is_same(x, y) is True):
            return True
        return self.as_bool(self.as_condition(self.operated(operator.eq, x, y)))

    def count_of(self, owner: Ref, x: Any) -> Any:
        """``owner.count(x)``."""
        alike = [self.alike(one, x) for one in self.elements(owner)]
        return functools.reduce(functools.partial(self.operated, operator.add), alike, 0)

    def index_of(self, owner: Ref, x: Any) -> Any:
        """``owner.index(x)``."""
        items = self.elements(owner)

        def first(k: int) -> Any:
            if k == len(items):
                raise Dead("ValueError: it is not in list")
            return self.choose(self.alike(items[k], x), lambda: k, lambda: first(k + 1))

        return first(0)

    def _before(self, a: list[Any], b: list[Any]) -> Any:
        """The order of tuples."""
        if not a or not b:
            return len(a) < len(b)
        less = self.operated(operator.lt, a[0], b[0])
        return self.choose(less, lambda: True, lambda: self.choose(
            self.operated(operator.eq, a[0], b[0]), lambda: self._before(a[1:], b[1:]),
            lambda: False))  # fmt: skip

    def _repeated(self, items: Any, times: Any) -> Any:
        """``items * times``."""
        if isinstance(items, tuple):
            return tuple(items) * times
        found = self._items(self.heap[items]) if isinstance(items, Ref) else self.elements(items)
        if isinstance(found, (list, tuple)) and not (found and isinstance(times, Number)):
            return self.new_list([*found] * (0 if not found else times))
        if not self.whole:
            raise TypeError("a list of computed length")
        found = self._promoted(Items(found) if isinstance(found, list) else found)
        return self.heap.new(list, {"": repeated(self, found, times)})

    def augmented(self, f: Callable[..., Any], owner: Any, value: Any) -> Any:
        """What a list is after ``+=``, or an object with a method for it; else NotImplemented."""
        if isinstance(owner, Ref) and owner.kind is list and f is operator.add:
            self.extend(owner, value)
            return owner
        if isinstance(owner, Ref) and is_class(owner.kind):
            name = f"__i{_DUNDERS.get(f)}__"
            if hasattr(owner.kind, name):
                return self.method(owner, name, [value])
        return NotImplemented

    def inverse(self, x: Any) -> Any:
        """``not x``."""
        return x.record("logical_not", x) if isinstance(x, Number) else not self.known(x)

    def known(self, x: Any) -> Any:
        """The truth of what is known."""
        return x.value if isinstance(x, Outside) else x

    def as_condition(self, x: Any) -> Any:
        """What decides: a number, or the truth of what is known."""
        if isinstance(x, Choice):
            return self.over(x, lambda one: self.as_bool(self.as_condition(one)))
        if isinstance(x, Ref) and not is_class(x.kind):
            if is_iterator(x):
                return True
            count = self.length(x)
            return self.less(0, count) if isinstance(count, Number) else count > 0
        if isinstance(x, Ref):
            if hasattr(x.kind, "__bool__"):
                return self.as_condition(self.method(x, "__bool__", []))
            return self.method(x, "__len__", []) if hasattr(x.kind, "__len__") else True
        if isinstance(x, Outside):
            return bool(x.value)
        if isinstance(x, Items):
            return len(x) > 0
        return x

    def as_bool(self, x: Any) -> Any:
        if isinstance(x, Number):
            return self.builder.wrap(self.builder.to("bool", x.atom))
        return bool(x)

    def is_same(self, a: Any, b: Any) -> Any:
        """``a is b``."""
        for one, other in ((a, b), (b, a)):
            if isinstance(one, Choice):
                result: Any = False
                for flag, option in zip(one.flags, one.options, strict=True):
                    same = self.is_same(option, other)
                    result = result | (flag if same is True else same & flag)
                return self.truth(result)
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
            return self.builder.wrap(self.builder.op("equal", atom_of(a), atom_of(b)))
        if isinstance(a, Number) or isinstance(b, Number):
            raise KernelError(
                "is, of two numbers, is not compiled.",
                "which numbers are one object is not known.", "compare them by ==.",
            )  # fmt: skip
        return a is b

    def narrowed(self, pairs: list[tuple[Any, Any]]) -> Any:
        """What is left of a choice."""
        return pairs[0][1] if len(pairs) == 1 else Choice(*map(list, zip(*pairs, strict=True)))

    def settled(self, x: Any) -> Any:
        """What a name is given: a value that stays as it is, whatever is changed."""
        return x

    # Making objects

    def made(self, cls: type, path: Path, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """A new object of a class of the user's."""
        if hasattr(cls, "_make"):
            return cls(*args, **kwargs)
        if not _is_usual(cls):
            raise TypeError(f"objects of {cls.__name__} are not made here")
        owner = self.heap.new(cls, {}, path)
        init = inspect.getattr_static(cls, "__init__", None)
        if dataclasses.is_dataclass(cls) and not _is_users(cls.__init__):
            self._make_dataclass(owner, args, kwargs)
        elif isinstance(init, FunctionType):
            function = Outside(init, (*path, ("attr", "__init__")))
            self.call(function, [owner, *args], kwargs)
        elif args or kwargs:
            raise TypeError(f"{cls.__name__}() takes no arguments")
        return owner

    def _make_dataclass(self, owner: Ref, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        cls = owner.kind
        given = inspect.signature(cls).bind(*args, **kwargs).arguments
        for field in dataclasses.fields(cls):
            path = (*owner.path, ("attr", "__dataclass_fields__"), ("item", field.name))
            if field.name in given:
                value = given[field.name]
            elif field.default is not dataclasses.MISSING:
                value = self.captures.found(field.default, (*path, ("attr", "default")), self.lift)
            elif field.default_factory is not dataclasses.MISSING:
                factory = Outside(field.default_factory, (*path, ("attr", "default_factory")))
                value = self.call(factory, [], {})
            else:
                continue
            self.heap[owner][field.name] = self.settled(value)
        if hasattr(cls, "__post_init__"):
            self.method(owner, "__post_init__", [])

    def taken(self, x: Any, fixed: str, seen: dict[int, Ref] | None = None) -> Any:
        """What comes from outside as a list, dict or object, in the heap."""
        seen = {} if seen is None else seen
        if id(x) in seen:
            return seen[id(x)]
        if type(x) in (list, dict) or _is_object(x):
            kind = type(x)
            ref = seen[id(x)] = self.heap.new(kind, {}, (("itself", kind),), fixed)
            if kind is list:
                self.heap[ref][""] = Items(self.taken(part, fixed, seen) for part in x)
            else:
                content = x if kind is dict else vars(x)
                self.heap[ref].update(
                    {key: self.taken(part, fixed, seen) for key, part in content.items()}
                )
            return ref
        if isinstance(x, tuple):
            parts = [self.taken(part, fixed, seen) for part in x]
            return type(x)._make(parts) if hasattr(x, "_make") else tuple(parts)
        return x

    def handed_out(self, x: Any) -> Any:
        """A value as it is handed out: lists, dicts and objects with what is in them."""
        if isinstance(x, Choice):
            return self.handed_out(self._or_python(x))
        if isinstance(x, Ref) and x.kind is list:
            items = self._items(self.heap[x])
            return [*map(self.handed_out, items)] if isinstance(items, tuple) else items
        if isinstance(x, Ref) and x.kind is dict:
            return {key: self.handed_out(self.item(x, key)) for key in self.keys(x)}
        if isinstance(x, Ref) and is_class(x.kind):
            made = object.__new__(x.kind)
            for name, value in self.heap[x].items():
                object.__setattr__(made, name, self.handed_out(value))
            return made
        if isinstance(x, tuple):
            parts = [*map(self.handed_out, x)]
            return type(x)._make(parts) if hasattr(x, "_make") else tuple(parts)
        return x

    def demand_new(self, x: Any) -> None:
        """Refuse a result that holds a container of the caller's, or one of its own twice."""
        for ref, times in self.heap.counts([x]).items():
            if times > 1 or ref.fixed:
                raise KernelError(
                    f"a result with {described(ref)} "
                    f"{'that is an argument' if ref.fixed else 'at two places'} is not compiled.",
                    "results are new, and each at one place.",
                    "return its parts, or a copy.",
                )

    def _or_python(self, x: Choice) -> Any:
        """The one thing with numbers that a choice may be; Python is asked where it is another."""
        left = self.left_of(x)
        if isinstance(left, Choice):
            pairs = zip(left.flags, left.options, strict=True)
            found = [p for p in pairs if p[1] is not None and not isinstance(p[1], Unknown)]
            if len(found) != 1:
                raise KernelError(
                    f"the result, {described(x)}, is not compiled.",
                    "its structure depends on which branch was taken.",
                    "return numbers, arrays and structures of them: the same structure on every "
                    "path.",
                )
            self.demand(found[0][0], "a result that may be None")
            return found[0][1]
        return left


def _getter(owner: Ref, name: str, found: Any) -> Path:
    attribute = "fget" if isinstance(found, property) else "func"
    return (*owner.path, ("attr", name), ("attr", attribute))


def _is_users(f: Any) -> bool:
    f = f.__func__ if isinstance(f, MethodType) else f
    if not isinstance(f, FunctionType) or f.__code__.co_filename == "<string>":  # a dataclass's
        return False
    return is_users(f.__code__.co_filename)


def _is_usual(cls: type) -> bool:
    """Whether objects of a class are what their attributes are."""
    usual = object.__new__, type, object.__getattribute__
    found: Any = cls.__new__, type(cls), cls.__getattribute__
    return usual == found and not hasattr(cls, "__getattr__") and not hasattr(cls, "__slots__")


_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, functools.partial)


def _is_object(x: Any) -> bool:
    cls = type(x)
    return not isinstance(x, type) and hasattr(x, "__dict__") and _is_usual(cls) and (
        is_users(getattr(inspect.getmodule(cls), "__file__", "") or "")
        and not isinstance(x, _FUNCTIONS)
    )  # fmt: skip
