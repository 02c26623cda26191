"""Which functions compiled ones may call back, and what these give.

A function with a rule is pure, by contract; a helper of the user's is looked at: in its code, and
in that of the helpers that it calls, everything that it has from outside is a number, a module's
function that is known, or another helper. What it gives is found out by calling it once, on
arguments of the kinds that it will have.
"""

from __future__ import annotations

import dis
import inspect
import itertools
import warnings
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from zyg.base.marks import is_stopping, name_of_verb
from zyg.base.registry import CONSTANT, rules
from zyg.compiler.callbacks import HIDDEN, Callee
from zyg.compiler.front.calls import is_known
from zyg.compiler.front.captures import Path, lookup
from zyg.compiler.front.kinds import (
    DTYPES,
    Array,
    Kind,
    Scalar,
    Static,
    Struct,
    Unkind,
    dense_array,
    kind_of,
    put_together,
)
from zyg.compiler.front.kinds import _taken_apart as taken_apart
from zyg.compiler.front.reader import _rule_of as rule_of
from zyg.compiler.front.whole import _written as is_written
from zyg.compiler.functions import meaning
from zyg.compiler.ir import Atom, Value
from zyg.compiling.callees import Function, called
from zyg.errors import KernelError, is_users

_PYTHON = {
    abs, all, any, callable, divmod, hash, isinstance, issubclass, iter, len, max, min, next, pow,
    repr, round, sorted, sum, ord, chr,
}  # fmt: skip
_NUMBERS = (int, float, complex, str, bytes, type(None), np.generic)
_WRITES = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME"}
_WRITES_CELLS = {"STORE_DEREF", "DELETE_DEREF"}
_GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME"}
_CELL = {"LOAD_DEREF", "LOAD_CLASSDEREF"}
_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD"}


class Impure(Exception):  # noqa: N818 - an answer
    """A helper may do more than to compute its result."""


class Staying:
    """Finds callees."""

    def may_stay(self, f: Any) -> bool:
        return _is_ruled(f) or is_helper(f)

    def __call__(
        self, reader: Any, f: Any, path: Path, kinds: tuple[Kind, ...],
        operands: Sequence[Atom], names: tuple[str, ...],
    ) -> Callee:  # fmt: skip
        inside = not _is_ruled(f)
        if inside and not all(map(_is_harmless, kinds)):
            raise _refused(f, "it may change, or call, what it is given.")
        guards = reader.captures.guards
        if inside:
            guards.update(used_by(f, path))
        if path and path[0][0] != "itself":
            guards[path] = f
        return Function(f, names, kinds, _given(f, kinds, operands, names), inside)


def _refused(f: Any, why: str) -> KernelError:
    return KernelError(f"{getattr(f, '__name__', f)} cannot be called back.", why, "rewrite it.")


# What is pure


def _is_ruled(f: Any) -> bool:
    """Whether a function has a rule, so that it is pure."""
    if name_of_verb(f) is not None or is_stopping(f) or isinstance(f, (type, ModuleType)):
        return False
    rule = rule_of(f)
    if rule is CONSTANT and f in (np.shares_memory, np.may_share_memory):
        return False  # of copies
    return rule is not None and not (rule is CONSTANT and rules.get(f) is not CONSTANT)


def is_helper(f: Any) -> bool:
    """Whether a function is the user's, and does nothing but to compute its result."""
    if not _is_users(f):
        return False
    try:
        [*used_by(f, ())]
    except Impure:
        return False
    return True


def _is_users(f: Any) -> bool:
    return isinstance(f, FunctionType) and is_users(f.__code__.co_filename)


def used_by(
    f: FunctionType, path: Path, seen: set[int] | None = None
) -> Iterator[tuple[Path, Any]]:
    """The numbers and the helpers that a helper has from outside, with their paths; or Impure."""
    seen = set() if seen is None else seen
    seen.add(id(f))
    for place, value in _taken(f, f.__code__):
        here = (*path, *place)
        if isinstance(value, _NUMBERS):
            yield here, value
        elif _is_users(value) and not _is_ruled(value):
            yield here, value
            if id(value) not in seen:
                yield from used_by(value, here, seen)
        elif not _is_pure(value):
            raise Impure


def _taken(f: FunctionType, code: CodeType) -> Iterator[tuple[Path, Any]]:
    """What a function takes from outside, and where it is found; Impure where it writes there."""
    defaults = inspect.signature(f, follow_wrapped=False).parameters.values()
    for p in defaults if code is f.__code__ else ():
        if p.default is not p.empty:
            yield (("default", p.name),), p.default
    steps = [*dis.get_instructions(code)]
    for k, step in enumerate(steps):
        free = step.argval in f.__code__.co_freevars
        if step.opname in _WRITES or (step.opname in _WRITES_CELLS and free):
            raise Impure
        if step.opname in _GLOBAL or (step.opname in _CELL and free):
            found = lookup(f, step.argval)
            if found is None:
                raise Impure
            value, place = found
            path: Path = (place,)
            for after in steps[k + 1 :]:
                if not isinstance(value, ModuleType) or after.opname not in _ATTRIBUTE:
                    break
                path, value = (*path, ("attr", after.argval)), getattr(value, after.argval)
            yield path, value
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _taken(f, inner)


def _is_pure(f: Any) -> bool:
    """Whether what is no helper is a function that only computes."""
    if isinstance(f, type):
        return f.__module__ in ("builtins", "numpy")
    try:
        if f in _PYTHON:
            return True
        return meaning(f) is not None or is_known(f) or is_written(f) is not None or _is_ruled(f)
    except TypeError:  # not hashable
        return False


def _is_harmless(kind: Kind) -> bool:
    """Whether a helper can do nothing with an argument that is seen elsewhere."""
    if isinstance(kind, Struct):
        return kind.type is tuple and all(map(_is_harmless, kind.parts))
    return not (isinstance(kind, Static) and isinstance(kind.value, type)) or _is_pure(kind.value)


# What it gives


def _given(f: Any, kinds: tuple[Kind, ...], operands: Sequence[Atom], names: Any) -> Kind:
    """The kind of the result, by a call with arguments like those that it will have."""
    error: Exception | None = None
    for size, whole in itertools.product((3, 2, 4, 1), (1, 0, 2)):
        sample = _Sample(size, whole, operands)
        args = [sample.of(kind) for kind in kinds]
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                y = called(f, args, names)
        except Exception as why:
            error = error or why
            continue
        return _kind_of(f, y, sample.arrays)
    raise _refused(f, f"called to see what it gives, it raised {type(error).__name__}: {error}.")


class _Sample:
    """Arguments of known kinds; the same atom has the same value everywhere."""

    def __init__(self, size: int, whole: int, operands: Sequence[Atom]) -> None:
        self._size, self._whole, self._left = size, whole, iter(operands)
        self.arrays: list[np.ndarray] = []

    def of(self, kind: Kind) -> Any:
        if isinstance(kind, Static):
            return kind.value
        if isinstance(kind, Struct):
            return put_together(kind.type, kind.keys, [*map(self.of, kind.parts)])
        if isinstance(kind, Scalar):
            next(self._left), kind.type == "complex" and next(self._left)
            x = np.asarray(self._whole if kind.type in ("int", "bool") else 0.7)
            x = x.astype(DTYPES[kind.type])
            return x.item() if kind.python else x[()]
        next(self._left)
        dims = [next(self._left) for _ in range(kind.ndim)]
        shape = [self._size if isinstance(n, Value) else int(n) for n in dims]
        values = _well_conditioned(shape)
        if kind.element in ("int", "bool"):
            values = values * self._whole  # where ints are indices, those of the first element
        made = np.asarray(values).astype(DTYPES[kind.element])
        made = kind.shaped(kind.row(made).copy(), made.shape)
        made.flags.writeable = False
        self.arrays.append(made)
        return made


def _well_conditioned(shape: Sequence[int]) -> Any:
    """Rising numbers; of matrices, symmetric ones whose diagonal is large."""
    index = np.indices(shape)
    made = (1.0 + sum(index)) if len(shape) else np.asarray(0.7)
    if len(shape) < 2:
        return made
    return np.where(index[-1] == index[-2], 3.0 + index[-1], 0.3 / made)


def _kind_of(f: Any, y: Any, arrays: Sequence[np.ndarray]) -> Kind:
    if isinstance(y, (tuple, list, dict)):
        keys, parts = taken_apart(y)
        return Struct(type(y), keys, tuple(_kind_of(f, part, arrays) for part in parts))
    if isinstance(y, np.ndarray) and not y.flags.writeable:
        raise _refused(f, "what it gives is a view of what it is given.")
    try:
        kind = kind_of(y)
    except Unkind:
        return Static(HIDDEN)
    if isinstance(kind, Array):
        return dense_array(kind.element, kind.order)
    if isinstance(kind, Scalar) or y is None or isinstance(y, str):
        return kind
    return Static(HIDDEN)
