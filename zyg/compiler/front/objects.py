"""Objects: their attributes, how they are made, come from outside and are handed out."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from zyg.base.marks import is_of_users
from zyg.base.signatures import users_signature
from zyg.compiler.draws import Source
from zyg.compiler.front.captures import Outside, Path, may_change
from zyg.compiler.front.closures import Bound
from zyg.compiler.front.containers import method_of
from zyg.compiler.front.control_flow import Concern
from zyg.compiler.front.structures import Choice, Dead, Items, Ref, Unknown, described
from zyg.errors import KernelError, is_users

if TYPE_CHECKING:
    pass


def is_class(kind: Any) -> bool:
    """Whether a `Ref` of this kind is an object of a class."""
    return isinstance(kind, type) and kind not in (list, dict, set)


class Objects(Concern):
    """What is done with objects."""

    # Attributes

    def attribute(self, owner: Any, name: str) -> Any:
        """``owner.name``."""
        if (found := self.reader.values.attribute(owner, name)) is not NotImplemented:
            return found
        if isinstance(owner, Choice):
            return self.flow.over(owner, lambda one: self.attribute(one, name))
        if isinstance(owner, Bound) and owner.function is super:
            cls, ref = owner.first
            return self._of_super(cls, ref, name)
        if not isinstance(owner, Ref):
            return self._of_known(owner, name)
        if not is_class(owner.kind):
            return method_of(owner, name)
        content, found = self.flow.heap[owner], inspect.getattr_static(owner.kind, name, None)
        if isinstance(found, property):
            return self._computed(owner, name, found)
        if isinstance(found, functools.cached_property):
            return self._kept(owner, name, found)
        if name in content:
            return self.reader.containers.found(content, name)
        if found is None:
            raise AttributeError(f"{owner.kind.__name__} has no attribute {name}")
        return self._of_class(owner, found, name)

    def _computed(self, owner: Ref, name: str, found: Any) -> Any:
        fget = found.fget if isinstance(found, property) else found.func
        return self.reader.calls.call(Outside(fget, _getter(owner, name, found)), [owner], {})

    def _kept(self, owner: Ref, name: str, found: Any) -> Any:
        """A cached property: it is computed where it is not yet among the attributes."""

        def computed() -> Any:
            value = self.reader.values.settled(self._computed(owner, name, found))
            self.reader.containers.changed(owner)[name] = value
            return value

        kept = self.flow.heap[owner].get(name, Unknown("it is not computed"))
        if isinstance(kept, Choice):
            kept = self.flow.left_of(kept)
        if isinstance(kept, Unknown):
            return computed()
        pairs = zip(kept.flags, kept.options, strict=True) if isinstance(kept, Choice) else ()
        for flag, option in pairs:
            if isinstance(option, Unknown):
                return self.flow.choose(flag, computed, lambda: self._kept(owner, name, found))
        return kept

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
        return self.reader.captured(found, path)

    def _of_known(self, owner: Any, name: str) -> Any:
        """An attribute of something that is no object made inside."""
        computed = getattr(type(owner), name, None)
        if isinstance(computed, property) and isinstance(owner, tuple):
            return self.reader.calls.call(computed.fget, [owner], {})
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
        if self.reader.values.set_attribute(owner, name, value) is not NotImplemented:
            return
        if isinstance(owner, Choice):
            self.flow.over(owner, lambda one: self.set_attribute(one, name, value))
            return
        if not isinstance(owner, Ref) or not is_class(owner.kind):
            raise TypeError("an attribute of it is not set")
        found = inspect.getattr_static(owner.kind, name, None)
        if isinstance(found, property) and found.fset:
            path = (*_getter(owner, name, found)[:-1], ("attr", "fset"))
            self.reader.calls.call(Outside(found.fset, path), [owner, value], {})
            return
        if owner.kind.__setattr__ is not object.__setattr__ or isinstance(found, property):
            raise Dead(f"the attribute {name} is not set")
        self.reader.containers.changed(owner)[name] = self.reader.values.settled(value)

    def method(self, owner: Ref, name: str, args: list[Any]) -> Any:
        """A method of an object, called."""
        return self.reader.calls.call(self.attribute(owner, name), args, {})

    # Making objects

    def made(self, cls: type, path: Path, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """A new object of a class of the user's."""
        if hasattr(cls, "_make"):
            return cls(*args, **kwargs)
        if not _is_usual(cls):
            raise TypeError(f"objects of {cls.__name__} are not made here")
        owner = self.flow.heap.new(cls, {}, path)
        init = inspect.getattr_static(cls, "__init__", None)
        if dataclasses.is_dataclass(cls) and not is_of_user(cls.__init__):
            self._make_dataclass(owner, args, kwargs)
        elif isinstance(init, FunctionType):
            function = Outside(init, (*path, ("attr", "__init__")))
            self.reader.calls.call(function, [owner, *args], kwargs)
        elif args or kwargs:
            raise TypeError(f"{cls.__name__}() takes no arguments")
        return owner

    def _make_dataclass(self, owner: Ref, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        cls = owner.kind
        given = users_signature(cls).bind(*args, **kwargs).arguments
        for field in dataclasses.fields(cls):
            path = (*owner.path, ("attr", "__dataclass_fields__"), ("item", field.name))
            if field.name in given:
                value = given[field.name]
            elif field.default is not dataclasses.MISSING:
                value = self.reader.captured(field.default, (*path, ("attr", "default")))
            elif field.default_factory is not dataclasses.MISSING:
                factory = Outside(field.default_factory, (*path, ("attr", "default_factory")))
                value = self.reader.calls.call(factory, [], {})
            else:
                continue
            self.flow.heap[owner][field.name] = self.reader.values.settled(value)
        if hasattr(cls, "__post_init__"):
            self.method(owner, "__post_init__", [])

    # From outside, and out

    def taken(self, x: Any, fixed: str, seen: dict[int, Ref] | None = None) -> Any:
        """What comes from outside as a list, dict or object, in the heap."""
        seen = {} if seen is None else seen
        if id(x) in seen:
            return seen[id(x)]
        if type(x) in (list, dict, Source) or _is_object(x):
            kind = type(x)
            if may_change(kind):
                self.reader.captures.class_used(kind, (("itself", kind),))
            ref = seen[id(x)] = self.flow.heap.new(kind, {}, (("itself", kind),), fixed)
            if kind is list:
                self.flow.heap[ref][""] = Items(self.taken(part, fixed, seen) for part in x)
            else:
                content = x if kind is dict else vars(x)
                self.flow.heap[ref].update(
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
            items = self.reader.containers.items(self.flow.heap[x])
            return [*map(self.handed_out, items)] if isinstance(items, tuple) else items
        if isinstance(x, Ref) and x.kind is dict:
            return {
                key: self.handed_out(self.reader.containers.item(x, key))
                for key in self.reader.containers.keys(x)
            }
        if isinstance(x, Ref) and is_class(x.kind):
            made = object.__new__(x.kind)
            for name, value in self.flow.heap[x].items():
                object.__setattr__(made, name, self.handed_out(value))
            return made
        if isinstance(x, tuple):
            parts = [*map(self.handed_out, x)]
            return type(x)._make(parts) if hasattr(x, "_make") else tuple(parts)
        return x

    def demand_new(self, x: Any) -> None:
        """Refuse a result that holds a container of the caller's, or one of its own twice."""
        for ref, times in self.flow.heap.counts([x]).items():
            if times > 1 or ref.fixed:
                raise KernelError(
                    f"a result with {described(ref)} "
                    f"{'that is an argument' if ref.fixed else 'at two places'} is not compiled.",
                    "results are new, and each at one place.",
                    "return its parts, or a copy.",
                )

    def _or_python(self, x: Choice) -> Any:
        """The one thing with numbers that a choice may be; Python is asked where it is another."""
        left = self.flow.left_of(x)
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
            self.flow.demand(found[0][0], "a result that may be None")
            return found[0][1]
        return left


def _getter(owner: Ref, name: str, found: Any) -> Path:
    attribute = "fget" if isinstance(found, property) else "func"
    return (*owner.path, ("attr", name), ("attr", attribute))


def is_of_user(f: Any) -> bool:
    """Whether a method is written by the user."""
    f = f.__func__ if isinstance(f, MethodType) else f
    return is_of_users(f) and f.__code__.co_filename != "<string>"  # a dataclass's


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
