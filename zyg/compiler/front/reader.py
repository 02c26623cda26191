"""From the source of a scalar function to its program.

A `Reader` follows the syntax tree as Python would run it, on numbers that record what is done with
them. What is known while reading (ints, flags, tuples, helper functions) is computed at once, and
an `if` on it has one side only. Helper functions are read where they are called.

An `if` on a recorded number is read on both sides, and the variables that differ are joined. A
side that returns takes no part in what follows: the rest of the statements goes into the other
side, so that a function has one exit, whatever its returns. A loop that is left early carries
flags; where a flag may be set, what follows is in an `if` on it.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
import sys
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from zyg.base.marks import is_for_any_number, is_stopping
from zyg.base.registry import CONSTANT, Adjoint, ScalarRule, late_rule, rules
from zyg.compiler.builder import Builder
from zyg.compiler.front.builtin import OF_SEQUENCES, PYTHON
from zyg.compiler.front.captures import Captures, Outside, Path
from zyg.compiler.front.closures import Bound, Closure, Partial
from zyg.compiler.front.depth import room_for_calls
from zyg.compiler.front.inlining import Inlining
from zyg.compiler.front.sequences import Range
from zyg.compiler.front.structures import (
    Choice,
    Compound,
    Ref,
    Unknown,
    described,
    is_leaf,
    split,
)
from zyg.compiler.functions import meaning, rule_of
from zyg.compiler.ir import Block, Program, Type, Value, prune, type_of
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError, is_users

_CALL = "__call__"


def read(
    f: Callable[..., Any],
    kinds: Sequence[Type],
    arguments: Callable[[list[Any]], Sequence[Any]],
    captures: Captures,
) -> tuple[Program, Callable[[list[Any]], Any]]:
    """The program of `f`, and how its result is made of the program's outputs.

    `kinds` are the types of the operands, of which `arguments` makes the arguments of `f`. The
    program's further inputs are what `captures` found to be operands, in that order. Raises
    KernelError for what a kernel cannot do.
    """
    reader = Reader(captures)
    inputs = [Value(kind) for kind in kinds]
    numbers = [reader.builder.wrap(x) for x in inputs]
    given = [reader.taken(x, "an operand") for x in arguments(numbers)]
    with room_for_calls():
        result = reader.handed_out(reader.call(Outside(f, ()), given, {}))
    found: list[Any] = []
    make = split(result, found)
    if not found or not _is_result(result):
        raise KernelError(
            f"{name_of(f)} returned {described(result)}, which a kernel cannot return.",
            "a kernel returns a number, or a tuple, namedtuple or dataclass of numbers.",
            "return the numbers.",
        )
    block = reader.builder.block
    block.yields = [atom_of(x) for x in found]
    prune(block)
    return Program(name_of(f), [*inputs, *reader.lifted], block), make


def call_partial(partial: Callable[..., Any], numbers: Sequence[Any], builder: Builder) -> Any:
    """A partial derivative at recorded numbers; its operations are appended by `builder`."""
    reader = Reader(Captures(lambda x: x, frozenset(), baking=True))
    reader.builder = builder
    return reader.call(partial, numbers, {})


def _is_result(x: Any) -> bool:
    return is_leaf(x) or isinstance(x, tuple) or dataclasses.is_dataclass(x)


def name_of(f: Any) -> str:
    name = getattr(f, "__name__", type(f).__name__)
    return "scalar" if name == "<lambda>" else str(name)


class Reader(Inlining):
    """What the functions that make up one kernel have in common."""

    whole = False  # functions of arrays, too, with effects
    recorded: tuple[type, ...] = (Number, Ref, Compound, Choice, Unknown, Outside)
    # What operators are known for; those of other objects are Python code that is not read.
    operands: tuple[type, ...] = (
        Number, Compound, Ref, int, float, np.generic, str, bytes, enum.Enum, type(None), type(...),
    )  # fmt: skip

    def __init__(self, captures: Captures, builder: Builder | None = None) -> None:
        super().__init__()
        self.builder, self.captures = builder or Builder(), captures
        self.lifted: list[Value] = []
        self.ruled: dict[Any, Program] = {}

    def lift(self, kind: Type) -> Number:
        """A new operand, for a captured number."""
        value = Value(kind)
        self.lifted.append(value)
        return Number(value, self.builder)

    def plain(self, x: Any) -> Any:
        """What the function sees of something that was computed."""
        return x.item() if isinstance(x, np.generic) else x

    def operate(self, operator: Callable[..., Any], *operands: Any) -> Any:
        """What an operator gives for numbers."""
        return operator(*operands)

    def range_of(self, start: Any, stop: Any, step: Any = 1) -> Any:
        """``range(start, stop, step)``."""
        bounds = start, stop, step
        if not any(isinstance(b, Number) for b in bounds):
            return range(*bounds)
        if any(type_of(atom_of(b)) not in ("int", "uint", "bool") for b in bounds):
            raise KernelError(
                "a range of floats cannot be used in a kernel.",
                "Python has no such ranges.",
                "write range(int(n)).",
            )
        if isinstance(step, Number) and not self.whole:
            raise KernelError(
                "this loop cannot be used in a kernel.", "its step is computed.",
                "write for k in range(start, stop, 1): ...",
            )  # fmt: skip
        return Range(*bounds)

    def call(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What a call gives: an operation, the value of a helper, or something known."""
        path: Path = (("itself", f),)
        if isinstance(f, Outside):
            f, path = f.value, f.path
        elif isinstance(f, MethodType):  # of an object that is made in the kernel
            return self.call(f.__func__, [f.__self__, *args], kwargs)
        elif isinstance(f, (Choice, Compound, Ref)):
            return self._call_inner(f, args, kwargs)
        while (attribute := _wrapped(f)) is not None:
            inner = self._part(f, path, attribute)
            f, path = inner.value, inner.path
        if isinstance(f, MethodType):
            owner, function = (self._part(f, path, name) for name in ("__self__", "__func__"))
            return self.call(function, [owner, *args], kwargs)
        if isinstance(f, functools.partial):
            return self._partial(f, path, args, kwargs)
        rule = _rule_of(f)
        whole = rule is not None or meaning(f) is not None or is_for_any_number(f)
        if whole and not _leads_nowhere(path):
            self.captures.guards[path] = f  # of which nothing is read that could be guarded
        if isinstance(rule, Adjoint) and meaning(f) is None:
            raise KernelError(
                f"{rule.name} has an adjoint of its own and cannot be used in a kernel.",
                "a kernel needs partial derivatives, not a pullback.",
                f"give them: zyg.scalar_rule({rule.name}, lambda x, y: ...).",
            )
        if isinstance(rule, ScalarRule) and not _is_usual(rule):
            if f is rule:
                path = (*path, ("attr", "function"))
            return self._call_ruled(rule, path, args, kwargs)
        f = rule.function if isinstance(rule, ScalarRule) else f
        if rule is CONSTANT and isinstance(inner := getattr(f, "__wrapped__", None), FunctionType):
            f, path = inner, (*path, ("attr", "__wrapped__"))
        result = self.plain_call(f, path, args, kwargs)
        if rule is CONSTANT:
            found: list[Any] = []
            make = split(result, found)
            return make([
                x.record("constant", x) if isinstance(x, Number) else x for x in found
            ])  # fmt: skip
        return result

    def uses_up(self, f: Any) -> bool:
        """Whether a function keeps nothing of its arguments, and nobody else sees them."""
        return False

    def of_numbers(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What a function of numbers gives; NotImplemented where it is not known otherwise."""
        return NotImplemented

    def _call_inner(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """A call of a function that is a value of the reader's."""
        if isinstance(f, Choice):
            return self.over(f, lambda one: self.call(one, args, kwargs))
        if isinstance(f, Closure):
            return self.inline_inner(f, args, kwargs)
        if isinstance(f, Partial):
            return self.call(f.function, [*f.args, *args], {**f.kwargs, **kwargs})
        if isinstance(f, Bound):
            if f.native:
                return f.function(self, f.first, *args, **kwargs)
            return self.call(f.function, [f.first, *args], kwargs)
        if isinstance(f, Ref) and hasattr(f.kind, _CALL):
            return self.call(self.attribute(f, "__call__"), args, kwargs)
        raise TypeError(f"{described(f)} is not called")

    def plain_call(self, f: Any, path: Path, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if (python := _written(PYTHON, f)) is not None:
            return python(self, *args, **kwargs)
        if (len(args) == 1 or kwargs) and (of := _written(OF_SEQUENCES, f)) is not None:
            return of(self, *args, **kwargs)
        if (k := first_choice(args)) is not None and not _is_read(f):
            before, rest = args[:k], args[k + 1 :]
            known = Outside(f, path)
            return self.over(args[k], lambda x: self.call(known, [*before, x, *rest], kwargs))
        if (found := self.of_numbers(f, args, kwargs)) is not NotImplemented:
            return found
        written = meaning(f)
        if callable(written):
            return written(
                *(self.elements(x) if isinstance(x, Outside) else x for x in args), **kwargs
            )
        recorded = any(isinstance(x, Number) for x in args)
        if written is not None:
            if not recorded:
                return f(*args, **kwargs)
            if kwargs:
                raise KernelError(
                    f"the keyword {next(iter(kwargs))} of {name_of(f)} has no kernel.",
                    "a kernel calls functions of numbers with numbers.",
                    "leave it out.",
                )
            arity = getattr(getattr(np, written, None), "nin", 1)
            if len(args) != arity:
                raise TypeError(f"in a kernel, {name_of(f)} is a function of {arity} numbers")
            return self.builder.wrap(self.builder.op(written, *map(atom_of, args)))
        if is_stopping(f):
            return args[0].record("constant", args[0]) if recorded else args[0]
        if isinstance(f, FunctionType):
            if args and isinstance(args[0], tuple) and f.__name__ in ("_replace", "_asdict"):
                return f(*args, **kwargs)
            if is_for_any_number(f):
                return f(*args, **kwargs)
            if is_users(f.__code__.co_filename):
                return self.inline(f, path, args, kwargs)
        if isinstance(f, type) and (hasattr(f, "_make") or is_users(_file_of(f))):
            return self.made(f, path, args, kwargs)
        if callable(f) and isinstance(type(f).__call__, FunctionType):
            call = (*path, ("attr", "__call__"))
            return self.call(Outside(f.__call__, call), args, kwargs)
        if _is_at_once(f) and not any(map(self.is_recorded, [*args, *kwargs.values()])):
            return f(*args, **kwargs)
        if isinstance(f, (operator.itemgetter, operator.attrgetter)):
            one = self.item if isinstance(f, operator.itemgetter) else self.attribute
            parts = [one(args[0], key) for key in f.__reduce__()[1]]
            return parts[0] if len(parts) == 1 else tuple(parts)
        if self.whole:
            raise KernelError(
                f"{name_of(f)} is not compiled.",
                "a compiled function can call Python functions, and the functions of NumPy and "
                "math that zyg knows.",
                "use those.",
            )
        raise KernelError(
            f"{name_of(f)} has no kernel.",
            "a kernel can call Python functions, and functions of NumPy and math on real numbers.",
            "use those; or write a Python function, and give its partial derivatives to "
            "zyg.scalar_rule(f, ...).",
        )

    def is_recorded(self, x: Any) -> bool:
        """Whether a value is known only when the program runs, in part at least."""
        return isinstance(x, self.recorded) or (
            isinstance(x, tuple) and any(map(self.is_recorded, x))
        )

    def _part(self, f: Any, path: Path, attribute: str) -> Any:
        """A captured attribute."""
        inside = (*path, ("attr", attribute))
        return self.captures.found(getattr(f, attribute), inside, self.lift)

    def _partial(self, f: Any, path: Path, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        function, given, named = (self._part(f, path, x) for x in ("func", "args", "keywords"))
        values = {
            k: self.captures.found(v, (*named.path, ("item", k)), self.lift)
            for k, v in f.keywords.items()
        }
        return self.call(function, [*self.elements(given), *args], {**values, **kwargs})

    def _call_ruled(
        self, rule: ScalarRule, path: Path, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        """A call of a function that has partial derivatives of its own: an operation, whole."""
        if kwargs or len(args) != len(rule.partials):
            raise KernelError(
                f"{rule.name} is called with arguments that its rule does not have.",
                f"its rule has {len(rule.partials)} partial derivatives.",
                "call it with that many positional arguments.",
            )
        if rule not in self.ruled:
            self.ruled[rule] = self._callee(rule, path, len(args))
        return self.builder.wrap(
            self.builder.op(rule.name, *map(atom_of, args), callee=self.ruled[rule])
        )

    def _callee(self, rule: ScalarRule, path: Path, count: int) -> Program:
        """The program of a function that has partial derivatives of its own."""
        outer, self.builder = self.builder, type(self.builder)()
        baking, self.captures.baking = self.captures.baking, True
        try:
            inputs = [Value("float") for _ in range(count)]
            numbers = [self.builder.wrap(x) for x in inputs]
            y = self.plain_call(rule.function, path, numbers, {})
            y = self.builder.wrap(self.builder.to("float", atom_of(y)))
            body = Block([*self.builder.block.ops], [atom_of(y)])
            for partial in filter(callable, rule.partials):  # what they use is guarded
                self.call(partial, [*numbers, y], {})
        finally:
            self.builder, self.captures.baking = outer, baking
        return Program(rule.name, inputs, body, rule)


def _written(table: dict[Any, Any], f: Any) -> Any:
    """What a function of Python's means; None for others."""
    try:
        return table.get(f)
    except TypeError:  # not hashable
        return None


def first_choice(args: Sequence[Any]) -> int | None:
    """The place of the first argument that may be several things."""
    return next((k for k, x in enumerate(args) if isinstance(x, Choice)), None)


def _is_read(f: Any) -> bool:
    """Whether a function is the user's, and takes a choice as it is."""
    return (isinstance(f, FunctionType) and is_users(f.__code__.co_filename)) or isinstance(f, type)


def _file_of(f: type) -> str:
    return getattr(sys.modules.get(f.__module__), "__file__", None) or "<string>"


def _is_at_once(f: Any) -> bool:
    """Whether a function may be called on what is known: a method of a string, of a tuple."""
    return isinstance(getattr(f, "__self__", None), (str, bytes, tuple, int, float)) or f in (
        str, repr, hash, ord, chr, slice,
    )  # fmt: skip


def _leads_nowhere(path: Path) -> bool:
    """Whether a path begins at an object that is not found again from the function."""
    return path != () and path[0][0] == "itself"


def _wrapped(f: Any) -> str | None:
    """Under which name a decorator keeps the function it was given."""
    for attribute in ("scalar", "py_func"):  # zyg.elementwise; numba's dispatchers
        if not isinstance(f, (FunctionType, type)) and isinstance(
            getattr(f, attribute, None), (FunctionType, MethodType, functools.partial)
        ):
            return attribute
    return None


def _rule_of(f: Any) -> Any:
    """The rule that zyg has for a function; a wrapper by zyg.nondifferentiable is constant."""
    if isinstance(f, (Adjoint, ScalarRule)):
        return f
    try:
        found = rules.get(f) or late_rule(f)
    except TypeError:
        return None
    return found or (CONSTANT if rules.get(getattr(f, "__wrapped__", None)) is CONSTANT else None)


def _is_usual(rule: ScalarRule) -> bool:
    """Whether an operation of kernels has this very rule."""
    name = meaning(rule.function)
    return isinstance(name, str) and rule_of(name).partials == rule.partials
