"""Which functions may stay in Python where a compiled function calls them.

One with a rule is pure, by contract; a helper of the user's is looked at: in its code, and in that
of the helpers that it calls, everything that it has from outside is a number, a module's function
that is known, or another helper.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from zyg.base.marks import is_computing, is_of_users, is_stopping, name_of_verb
from zyg.base.registry import CONSTANT, rules
from zyg.base.signatures import users_signature
from zyg.compiler.front.calls import is_known
from zyg.compiler.front.captures import Path, lookup
from zyg.compiler.front.dispatch import rule_for as rule_of
from zyg.compiler.front.limits import written_of as is_written
from zyg.compiler.functions import meaning

_PYTHON = {
    abs, all, any, callable, divmod, hash, isinstance, issubclass, iter, len, max, min, next, pow,
    repr, round, sorted, sum, ord, chr,
}  # fmt: skip
_NUMBERS = (int, float, complex, str, bytes, type(None), np.generic)
_WRITES = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME"}
_GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME"}
_CELL = {"LOAD_DEREF", "LOAD_CLASSDEREF", "STORE_DEREF", "DELETE_DEREF"}
_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD"}


class Impure(Exception):  # noqa: N818 - an answer
    """A helper may do more than to compute its result."""


def is_ruled(f: Any) -> bool:
    """Whether a function has a rule, so that it is pure."""
    if name_of_verb(f) is not None or is_stopping(f) or isinstance(f, (type, ModuleType)):
        return False
    if computes(f):
        return True
    rule = rule_of(f)
    if rule is CONSTANT and f in (np.shares_memory, np.may_share_memory):
        return False  # of copies
    return rule is not None and not (rule is CONSTANT and rules.get(f) is not CONSTANT)


def computes(f: Any) -> bool:
    """Whether a function of a library, or what stands for it, is marked as one that computes."""
    try:
        return is_computing(stand_in(f))
    except TypeError:  # not hashable
        return False


def stand_in(f: Any) -> Any:
    """What stands for a function in adopted modules; of a method, that of what stands for its
    owner."""
    originals = sys.modules.get("zyg.adoption.originals")
    if originals is None:  # much comes with it, and before it is loaded nothing stands for anything
        return f
    if isinstance(f, MethodType) and (owner := originals.drop_in(f.__self__)) is not f.__self__:
        return getattr(owner, f.__name__, f)
    return originals.drop_in(f)


def is_helper(f: Any) -> bool:
    """Whether a function is the user's, and does nothing but to compute its result."""
    if not is_of_users(f):
        return False
    try:
        [*used_by(f, ())]
    except Impure:
        return False
    return True


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
        elif is_of_users(value) and not is_ruled(value):
            yield here, value
            if id(value) not in seen:
                yield from used_by(value, here, seen)
        elif not is_pure(value):
            raise Impure


def _taken(f: FunctionType, code: CodeType) -> Iterator[tuple[Path, Any]]:
    """What a function takes from outside, and where it is found; Impure where it writes there."""
    defaults = users_signature(f, follow_wrapped=False).parameters.values()
    for p in defaults if code is f.__code__ else ():
        if p.default is not p.empty:
            yield (("default", p.name),), p.default
    steps = [*dis.get_instructions(code)]
    for k, step in enumerate(steps):
        free = step.opname in _CELL and step.argval in f.__code__.co_freevars
        if step.opname in _WRITES or (free and not step.opname.startswith("LOAD")):
            raise Impure
        if step.opname in _GLOBAL or free:
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


def is_pure(f: Any) -> bool:
    """Whether what is no helper is a function that only computes."""
    if isinstance(f, type):
        return f.__module__ in ("builtins", "numpy")
    try:
        if f in _PYTHON:
            return True
        return meaning(f) is not None or is_known(f) or is_written(f) is not None or is_ruled(f)
    except TypeError:  # not hashable
        return False
