"""Calls: of functions of numbers, of Python's, of the user's, which are read where they are."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from zyg.base.marks import is_for_any_number, is_of_users, is_stopping, maker_of
from zyg.base.registry import CONSTANT, Adjoint, ScalarRule, late_rule, rules
from zyg.compiler.front.builtin import OF_SEQUENCES, PYTHON
from zyg.compiler.front.captures import Outside, Path, file_of
from zyg.compiler.front.closures import Bound, Closure, Partial, with_given
from zyg.compiler.front.control_flow import Concern
from zyg.compiler.front.structures import Choice, Compound, Ref, described, split
from zyg.compiler.functions import meaning, rule_of
from zyg.compiler.ir import Block, Program, Value
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError, is_ours, is_users

if TYPE_CHECKING:
    from zyg.compiler.front.interpreter import Interpreter

_CALL = "__call__"


class Calls(Concern):
    """What calls give."""

    def __init__(self, reader: Interpreter) -> None:
        super().__init__(reader)
        self.ruled: dict[Any, Program] = {}
        self.composing: list[Any] = []  # functions whose texts are being read

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
            inner = self.part(f, path, attribute)
            f, path = inner.value, inner.path
            if maker_of(f) is not None:
                return self.call(inner, args, kwargs)
        if isinstance(f, MethodType):
            owner, function = (self.part(f, path, name) for name in ("__self__", "__func__"))
            return self.call(function, [owner, *args], kwargs)
        if isinstance(f, functools.partial):
            return self._partial(f, path, args, kwargs)
        rule = rule_for(f)
        whole = rule is not None or meaning(f) is not None or is_for_any_number(f)
        if whole and (path == () or path[0][0] != "itself"):  # it is found from the function
            self.reader.captures.guards[path] = f  # of which nothing is read that could be guarded
        if isinstance(rule, Adjoint) and meaning(f) is None:
            raise KernelError(
                f"{rule.name} has an adjoint of its own and cannot be used in a kernel.",
                "a kernel needs partial derivatives, not a pullback.",
                f"give them: zyg.scalar_rule({rule.name}, lambda x, y: ...).",
            )
        if isinstance(rule, ScalarRule) and not is_usual(rule):
            if f is rule:
                path = (*path, ("attr", "function"))
            return self.call_ruled(rule, path, args, kwargs)
        f = rule.function if isinstance(rule, ScalarRule) else f
        if rule is CONSTANT and isinstance(inner := getattr(f, "__wrapped__", None), FunctionType):
            f, path = inner, (*path, ("attr", "__wrapped__"))
        result = self.plain_call(f, path, args, kwargs)
        return _constant(result) if rule is CONSTANT else result

    def uses_up(self, f: Any) -> bool:
        """Whether a function keeps nothing of its arguments, and nobody else sees them."""
        return False

    def of_numbers(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What a function of numbers gives; NotImplemented where it is not known otherwise."""
        return NotImplemented

    def _call_inner(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """A call of a function that is a value of the reader's."""
        if isinstance(f, Choice):
            return self.flow.over(f, lambda one: self.call(one, args, kwargs))
        if isinstance(f, Closure):
            return self.reader.functions.inline_inner(f, args, kwargs)
        if isinstance(f, Partial):
            return self.call(f.function, with_given(f.args, args), {**f.kwargs, **kwargs})
        if isinstance(f, Bound):
            if f.native:
                return f.function(self.reader, f.first, *args, **kwargs)
            return self.call(f.function, [f.first, *args], kwargs)
        if isinstance(f, Ref) and hasattr(f.kind, _CALL):
            return self.call(self.reader.objects.attribute(f, "__call__"), args, kwargs)
        raise TypeError(f"{described(f)} is not called")

    def plain_call(self, f: Any, path: Path, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if (python := _written(PYTHON, f)) is not None:
            return python(self.reader, *args, **kwargs)
        if (of := _written(OF_SEQUENCES, f)) is not None:
            if len(args) == 1 or kwargs:
                return of(self.reader, *args, **kwargs)
            if any(isinstance(x, Outside) for x in args):
                return of(self.reader, tuple(args))
        if not (is_of_users(f) or isinstance(f, type)):  # these take a choice as it is
            known = Outside(f, path)
            found = self.flow.over_any(args, lambda xs: self.call(known, xs, kwargs))
            if found is not NotImplemented:
                return found
        if (found := self.of_numbers(f, args, kwargs)) is not NotImplemented:
            return found
        written = meaning(f)
        if callable(written):
            return written(
                *(self.reader.sequences.elements(x) if isinstance(x, Outside) else x for x in args),
                **kwargs,
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
            return self.to.wrap(self.to.op(written, *map(atom_of, args)))
        if is_stopping(f):
            return args[0].record("constant", args[0]) if recorded else args[0]
        if isinstance(f, FunctionType):
            if args and isinstance(args[0], tuple) and f.__name__ in ("_replace", "_asdict"):
                return f(*args, **kwargs)
            if is_for_any_number(f):
                return f(*args, **kwargs)
            if is_users(f.__code__.co_filename):
                return self.reader.functions.inline(f, args, kwargs, path)
        if isinstance(f, type) and (hasattr(f, "_make") or is_users(file_of(f))):
            return self.reader.objects.made(f, path, args, kwargs)
        if callable(f) and isinstance(type(f).__call__, FunctionType) and not is_ours(
            type(f).__call__.__code__.co_filename
        ):  # fmt: skip
            call = (*path, ("attr", "__call__"))
            return self.call(Outside(f.__call__, call), args, kwargs)
        if _is_at_once(f) and not any(map(self.is_recorded, [*args, *kwargs.values()])):
            return f(*args, **kwargs)
        if isinstance(f, (operator.itemgetter, operator.attrgetter)):
            one = (
                self.reader.containers.item
                if isinstance(f, operator.itemgetter)
                else self.reader.objects.attribute
            )
            parts = [one(args[0], key) for key in f.__reduce__()[1]]
            return parts[0] if len(parts) == 1 else tuple(parts)
        if self.reader.whole:
            if self.composing:
                raise KernelError(
                    f"{name_of(self.composing[-1])} is not compiled.", "its rule runs in Python.",
                    "call it outside of the compiled function.",
                )  # fmt: skip
            raise KernelError(
                f"{name_of(f)} is not compiled.",
                "a compiled function can call Python functions, and the functions of NumPy and "
                "math that zyg knows.",
                f"call {name_of(f)} outside, or give it a rule by zyg.adjoint.",
            )
        raise KernelError(
            f"{name_of(f)} has no kernel.",
            "a kernel can call Python functions, and functions of NumPy and math on real numbers.",
            "use those; or write a Python function, and give its partial derivatives to "
            "zyg.scalar_rule(f, ...).",
        )

    def is_recorded(self, x: Any) -> bool:
        """Whether a value is known only when the program runs, in part at least."""
        return isinstance(x, self.reader.values.recorded) or (
            isinstance(x, tuple) and any(map(self.is_recorded, x))
        )

    def part(self, f: Any, path: Path, attribute: str) -> Any:
        """A captured attribute."""
        inside = (*path, ("attr", attribute))
        return self.reader.captured(getattr(f, attribute), inside)

    def _partial(self, f: Any, path: Path, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        function, given, named = (self.part(f, path, x) for x in ("func", "args", "keywords"))
        named = self.reader.containers.known_dict(named)
        values = self.reader.sequences.elements(given)
        return self.call(function, with_given(values, args), {**named, **kwargs})

    def call_ruled(
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
        return self.to.wrap(self.to.op(rule.name, *map(atom_of, args), callee=self.ruled[rule]))

    def _callee(self, rule: ScalarRule, path: Path, count: int) -> Program:
        """The program of a function that has partial derivatives of its own."""
        captures = self.reader.captures
        baking, captures.baking = captures.baking, True
        try:
            with self.to.apart() as block:
                inputs = [Value("float") for _ in range(count)]
                numbers = [self.to.wrap(x) for x in inputs]
                y = self.plain_call(rule.function, path, numbers, {})
                y = self.to.wrap(self.to.to("float", atom_of(y)))
                body = Block([*block.ops], [atom_of(y)])
                for partial in filter(callable, rule.partials):  # what they use is guarded
                    self.call(partial, [*numbers, y], {})
        finally:
            captures.baking = baking
        return Program(rule.name, inputs, body, rule)


def _constant(result: Any) -> Any:
    found: list[Any] = []
    make = split(result, found)
    return make([x.record("constant", x) if isinstance(x, Number) else x for x in found])


def name_of(f: Any) -> str:
    name = getattr(f, "__name__", type(f).__name__)
    return "scalar" if name == "<lambda>" else str(name)


def _written(table: dict[Any, Any], f: Any) -> Any:
    """What a function of Python's means; None for others."""
    try:
        return table.get(f)
    except TypeError:  # not hashable
        return None


def _is_at_once(f: Any) -> bool:
    """Whether a function may be called on what is known: a method of a string, of a tuple."""
    return isinstance(getattr(f, "__self__", None), (str, bytes, tuple, int, float)) or f in (
        str, repr, hash, ord, chr, slice,
    )  # fmt: skip


def _wrapped(f: Any) -> str | None:
    """Under which name a decorator keeps the function it was given."""
    for attribute in ("scalar", "py_func"):  # zyg.elementwise; numba's dispatchers
        if not isinstance(f, (FunctionType, type)) and isinstance(
            getattr(f, attribute, None), (FunctionType, MethodType, functools.partial)
        ):
            return attribute
    return None


def rule_for(f: Any) -> Any:
    """The rule that zyg has for a function; a wrapper by zyg.nondifferentiable is constant."""
    if isinstance(f, (Adjoint, ScalarRule)):
        return f
    try:
        found = rules.get(f) or late_rule(f)
    except TypeError:
        return None
    return found or (CONSTANT if rules.get(getattr(f, "__wrapped__", None)) is CONSTANT else None)


def is_usual(rule: ScalarRule) -> bool:
    """Whether an operation of kernels has this very rule."""
    name = meaning(rule.function)
    return isinstance(name, str) and rule_of(name).partials == rule.partials
