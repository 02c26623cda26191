"""What a function holds, as it is when a solver calls the function, for when it runs again.

By the reverse pass loop variables have moved on, lists have grown, attributes and globals are
others. `Held` notes at the call what can be reached: the cells, defaults and attributes of
functions and the globals that they name, the elements of containers, the attributes of objects,
the contents of arrays. When the function runs again, what has changed is made anew as it was; all
else is the user's own.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from zyg.base.buffers import says_read_only
from zyg.base.caches import remembered
from zyg.base.containers import BY_TYPE, Engine, is_leaf, kind_of
from zyg.base.kinds import CellOf, Key, Kind
from zyg.base.registry import own_verbs
from zyg.base.structure import Structure
from zyg.core.kept import keep
from zyg.core.strand import has_left, is_watched, strands_of, strip, watched_leaves
from zyg.core.trace import copy_out
from zyg.errors import AdjointError, MissingRuleError, StructureError, is_users, user_line
from zyg.verbs.checkpoints import Noted, contents_of, globals_in, one_entry
from zyg.verbs.effects import keeps_nothing
from zyg.verbs.taken_apart import MEMBERS, refill

_SMALL = 1024  # bytes; a larger array is read-only instead of copied, as an operand is


_Function: Any = type(BY_TYPE[types.FunctionType])


class _FunctionAndGlobals(_Function):  # type: ignore[misc]
    """A function, with the globals that it names; a copy has its own where they differ."""

    def __init__(self) -> None:
        self.apart: set[int] = set()  # ids of the functions of which that is so

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [*super().parts(x), *((Key(name), v) for name, v in _globals_of(x))]

    def shell(self, x: Any, cell_of: CellOf) -> Any:
        if id(x) in self.apart:
            whole = {**x.__globals__}
            own = types.FunctionType(x.__code__, whole, x.__name__, x.__defaults__, x.__closure__)
            own.__kwdefaults__ = x.__kwdefaults__
            own.__qualname__, own.__module__, own.__doc__ = x.__qualname__, x.__module__, x.__doc__
            x = own
        return super().shell(x, cell_of)

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        named = {key.key: v for key, v in values.items() if isinstance(key, Key)}
        if any(copy.__globals__.get(name) is not v for name, v in named.items()):
            copy.__globals__.update(named)
        super().fill(copy, {k: v for k, v in values.items() if not isinstance(k, Key)})


def _globals_of(f: Any) -> list[tuple[str, Any]]:
    """The globals that a function of the user's names, but for modules and classes."""
    given = f.__globals__
    found = ((name, given[name]) for name in _names(f.__code__) if name in given)
    return [(name, v) for name, v in found if not isinstance(v, (type, types.ModuleType))]


@remembered(4096)
def _names(code: types.CodeType) -> tuple[str, ...]:
    """What may be names of globals in the code of a user's function."""
    if not is_users(code.co_filename):
        return ()
    inner = [_names(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return tuple(dict.fromkeys(sum(inner, code.co_names)))


class Held(Structure, Engine):
    """A function and its further arguments, with what they hold at this moment.

    `leaves` are the watched values among it. As an `Engine`, it passes through a function that
    holds it as one thing.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...] = ()) -> None:
        self._functions = _FunctionAndGlobals()
        # Ids of what is made anew, besides what holds watched values.
        self._late: dict[int, bool] = {}
        self._effects: set[int] = set()  # ids of what the function itself changes
        super().__init__((function, args), lambda x: is_watched(x) and not has_left(x))
        inside = {id(v): v for _, _, parts in self._seen.values() for _, v, _ in parts}
        arrays = [v for v in inside.values() if type(v) is np.ndarray and v.dtype.kind != "O"]
        self.holds_code = any(type(v) in own_verbs for v in inside.values())
        self._by_class: Noted = {}
        # Arrays with their contents; of a large one not yet, for most are never written.
        self._arrays = [(a, a.copy() if a.nbytes <= _SMALL else None) for a in arrays]

    def kind_of(self, x: Any) -> Kind | None:
        if type(x) is set:
            return MEMBERS
        try:
            kind = kind_of(x, refuse=False)
        except StructureError:  # an array of another library among the globals
            return None
        return self._functions if type(kind) is _Function else kind

    def _copied(self) -> dict[int, bool]:
        return {**self._live, **self._late}

    # While SciPy runs

    def run(
        self, name: str, solve: Callable[..., Any], others: Any = (), moving: slice = slice(0)
    ) -> Any:
        """``solve(f, args)``, where f computes with plain values only.

        If f lets numbers out, into a list or a variable perhaps, it runs once more as it is, so
        that they are watched. `others` are what the result depends on besides; what f is given at
        the places `moving` depends on all of it, in a way that only the solver knows.
        """
        if not self._arrays and keeps_nothing(self.root):
            return solve(*self.rebuild([strip(v) for v in self.leaves]))
        function, args = self.root
        by_class = _read_by_class(self.containers().values())
        first = Held(*self.rebuild([strip(v) for v in self.leaves]))
        result = self._run_plainly(solve, first)
        if by_class:  # what the function itself writes there is its own
            now = _read_by_class(self.containers().values())
            self._by_class = {k: v for k, v in by_class.items() if now.get(k) == v}
        effects = first.changed()
        if effects:
            self._effects = effects & self._seen.keys()
            if self._effects != effects or first.lets_numbers_out(effects):
                first.restore(effects)
                line, leaves = user_line(), [*self.leaves, *watched_leaves(others)]

                def outward(*x: Any, **keywords: Any) -> Any:
                    own = [*x[: len(x) - len(args)]]
                    for k in range(len(own))[moving] if leaves else ():
                        own[k] = _given(own[k], name, line, leaves)
                    return _plain(function(*own, *args, **keywords))

                result = solve(outward, first.root[1])
        if any(contents is None for _, contents in self._arrays):
            for strand in {
                s for x in (*self.leaves, *watched_leaves(others)) for s in strands_of(x)
            }:
                self._arrays = [
                    (a, keep(strand, a) if c is None or c is a else c) for a, c in self._arrays
                ]
        return result

    def _run_plainly(self, solve: Callable[..., Any], first: Held) -> Any:
        try:
            with _read_only([a for a, contents in self._arrays if contents is None]):
                return solve(*first.root)
        except ValueError as error:
            if not says_read_only(error):
                raise
        first.restore(first.changed())  # the function has arrays to work in
        self._arrays = [(a, a.copy()) for a, _ in self._arrays]
        first._arrays = self._arrays
        return solve(*first.root)

    def changed(self) -> set[int]:
        """The ids of what has changed since."""
        other = {id(a) for a, was in self._arrays if was is not None and _overwritten(a, was)}
        return {
            one
            for one, (kind, x, parts) in self._seen.items()
            if _differ(parts, _parts_now(kind, x))
            or (other and any(id(v) in other for _, v, _ in parts))
        }

    def lets_numbers_out(self, which: set[int]) -> bool:
        """Whether there are numbers among what is new in these, other than ints."""
        for one in which:
            kind, x, parts = self._seen[one]
            before = {id(v) for _, v, _ in parts}
            now = _parts_now(kind, x)
            if not _differ(parts, now):
                return True  # an array in it was written
            new = [v for _, v in now if id(v) not in before]
            if any(not isinstance(v, (int, np.integer)) for v in Structure(new, is_leaf).leaves):
                return True
        return False

    def restore(self, which: set[int]) -> None:
        """Bring these back to what they were."""
        for one in which:
            kind, x, parts = self._seen[one]
            if kind.mutable:
                refill(kind, x, {key: v for key, v, _ in parts})
        for a, was in self._arrays:
            if was is not None and _overwritten(a, was):
                a[...] = was

    # When the function runs again

    def again(self) -> Callable[..., Callable[..., Any]]:
        """`make`: ``make(values)`` is the function ``x -> function(x, *args)`` as it was, for any
        values in place of the watched ones.
        """

        def make(values: Any) -> Callable[..., Any]:
            f, rest = self.parts_with(values)
            return lambda *x: f(*x, *rest)

        return make

    def parts_with(self, values: Any) -> Any:
        """The function and its further arguments as they were, whatever has changed until now."""
        self._demand_same_by_class()
        late = [*self._effects, *self.changed()]
        if late or self._late:
            self._take_back(late)
        return self.rebuild([*values])

    def _demand_same_by_class(self) -> None:
        now = _read_by_class(self.containers().values()) if self._by_class else {}
        for key, (what, _, contents) in self._by_class.items():
            if key not in now or now[key][-1] != contents:
                raise AdjointError(
                    f"{what} has changed since a function that reads it was given to SciPy.",
                    "the function runs again for the reverse pass, and zyg does not save what it "
                    "reads through a class.",
                    "change it after the gradient, or keep it in an attribute of the object.",
                )

    def _take_back(self, late: list[int]) -> None:
        """From now on, make these anew, and what holds them."""
        other = {id(a): was for a, was in self._arrays if was is not None and _overwritten(a, was)}
        holders: dict[int, list[int]] = {}
        for one, (kind, x, parts) in self._seen.items() if late else ():
            self._seen[one] = kind, x, [(key, other.get(id(v), v), k) for key, v, k in parts]
            for _, v, _ in parts:
                holders.setdefault(id(v), []).append(one)
        self._late = {}
        while late:
            one = late.pop()
            if one not in self._late:
                self._late[one] = True
                late.extend(holders.get(one, ()))
        self._functions.apart = {one for one in self._copied() if self._has_other_globals(one)}

    def _has_other_globals(self, one: int) -> bool:
        kind, x, parts = self._seen[one]
        return kind is self._functions and any(
            place is not None or id(v) in self._copied() or x.__globals__.get(key.key) is not v
            for key, v, place in parts
            if isinstance(key, Key)
        )


def _read_by_class(held: Iterable[Any]) -> Noted:
    """The numbers in class attributes that functions name, and in globals that methods name."""
    held = [*held]
    functions = [x for x in held if type(x) is types.FunctionType]
    named = (f.__globals__.get(name) for f in functions for name in _names(f.__code__))
    roots = {*map(type, held), *(x for x in named if isinstance(x, type))}
    classes = dict.fromkeys(c for root in roots for c in root.__mro__ if _methods(c))
    if not classes:
        return {}
    methods = [f for c in classes for f in _methods(c)]
    names = {name for f in (*functions, *methods) for name in _names(f.__code__)}
    found = {
        (id(c), name): (f"the class attribute {c.__name__}.{name}", False, contents_of(v))
        for c in classes
        for name, v in vars(c).items()
        if name in names and type(v) in _DATA
    }
    for key, (name, own, contents) in globals_in(None, methods).items():
        found[key] = f"the global variable {name}", own, contents
    return found


_DATA = {int, float, complex, str, bool, list, dict, tuple}
_MAKERS = {"__init__", "__new__", "__init_subclass__", "__del__"}  # the call makes no such object


@remembered(4096)
def _methods(cls: type) -> list[types.FunctionType]:
    """The functions in a class of the user's, but for those that make objects."""
    return [
        v
        for name, v in vars(cls).items()
        if type(v) is types.FunctionType
        and name not in _MAKERS
        and is_users(v.__code__.co_filename)
    ]


def _given(x: Any, name: str, line: str, leaves: list[Any]) -> Any:
    """`x`, which a solver gives to a function; whoever asks for its derivative is refused."""

    def pull(_: Any, inner: Any, x_bar: Any) -> Any:
        if not np.any(strip(x_bar)):  # it was there, and nothing depends on it
            return (None,) * len(inner)
        raise MissingRuleError(
            f"a value that left the function given to {name} has no derivative: it depends on the "
            "steps of the solver.",
            f"zyg does not differentiate these steps; the solver was called at {line}.",
            "compute the value again from the result, or use zyg.stop_gradient of it.",
            tag="left",
        )

    def push(*_: Any) -> Any:  # forward mode cannot know yet whether anybody will ask
        return np.full(np.shape(x), np.nan)[()]

    return one_entry("given", lambda *_: copy_out(x), pull, leaves, push)


def _plain(x: Any) -> Any:
    held = Structure(x, is_watched)
    return held.rebuild([strip(v) for v in held.leaves])


@contextmanager
def _read_only(arrays: list[Any]) -> Iterator[None]:
    frozen = [a for a in arrays if a.flags.writeable]
    try:
        for a in frozen:
            a.flags.writeable = False
        yield
    finally:
        try:
            _set_writeable(frozen)
        finally:
            _set_writeable(frozen)


def _set_writeable(arrays: list[Any]) -> None:
    for a in arrays:
        a.flags.writeable = True


def _overwritten(a: Any, contents: Any) -> bool:
    return a is not contents and (a.shape != contents.shape or a.tobytes() != contents.tobytes())


def _parts_now(kind: Kind, x: Any) -> list[tuple[Any, Any]]:
    try:
        return kind.parts(x)
    except (ValueError, StructureError):  # a variable that was deleted; another array
        return []


def _differ(parts: list[Any], now: list[Any]) -> bool:
    if len(parts) != len(now):
        return True
    for (key, v, _), (other, w) in zip(parts, now, strict=True):
        if v is not w or (key.key != other.key if type(key) is Key else key != other):
            return True
    return False
