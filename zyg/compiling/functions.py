"""Compiled functions: what stands in the place of a function given to `compile`.

What reads and derives programs is imported where it is needed: a process whose machine code is on
disk goes without.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from zyg.base.borders import shorten
from zyg.base.caches import Cache
from zyg.base.marks import Named
from zyg.base.registry import rules
from zyg.base.structure import Structure
from zyg.compiler.front.kinds import Kind, Unkind
from zyg.compiling import index
from zyg.compiling.guards import Guard
from zyg.compiling.operands import VALUE, Root, Taken, name_of, width
from zyg.core.strand import is_watched, settle, strip
from zyg.core.views import is_spread
from zyg.errors import KernelError

if TYPE_CHECKING:
    from zyg.compiler.back.entry import Direct
    from zyg.compiling.reads import Read

_MOST = 7  # further entries that are asked
Entry = Callable[..., Any]
RECALLED: Any = object()


def _no_guard(f: Any) -> None:
    """The guard of what is not on disk."""


class Call:
    """One call: what was read for arguments of its kinds, and the operands."""

    __slots__ = ("arrays", "copies", "operands", "read", "usual", "watched")

    def __init__(self, read: Read, taken: Taken, usual: bool) -> None:
        self.read, self.operands, self.usual = read, taken.operands, usual
        self.copies, self.arrays, self.watched = taken.copies, taken.arrays, taken.watched

    def overlapping(self) -> bool:
        """Whether an array that is written to shares memory with another one, or with itself."""
        operands = self.operands
        arrays = [k for k, x in enumerate(operands) if type(x) is np.ndarray]
        original = dict(self.copies)
        return any(
            not is_spread(original[k])
            if j == k
            else np.may_share_memory(original.get(k, operands[k]), original.get(j, operands[j]))
            for k in self.read.written
            for j in arrays
            if j != k or k in original
        )

    def read_only(self) -> bool:
        """Whether an array that is written to may not be."""
        original = dict(self.copies)
        arrays = [original.get(k, self.operands[k]) for k in self.read.written]
        return not all(x.flags.writeable for x in arrays)


class Compiled(Named):
    """A function whose calls, and whose derivatives, are machine code; made by `compile`.

    ``f.__wrapped__`` is the function itself, ``f.inspect(*args)`` what a call does and why,
    ``f.source(*args, of=...)`` the text of the program or of a derivative.
    """

    made_by = "zyg.compile"
    __name__: str
    __qualname__: str

    def __init__(
        self, f: Callable[..., Any], wrt: Sequence[int] | None = None, parallel: bool = False
    ) -> None:
        self.__name__ = self.__qualname__ = name_of(f)
        functools.update_wrapper(self, f)
        self.__wrapped__ = f
        self.wrt, self.parallel = wrt, parallel
        self._options = wrt, parallel
        self._looked_for: Cache[Any, Guard] = Cache(256)  # on disk, by verb and kinds
        # What a verb asks first: guard, entry and version of the rules of the latest reads.
        self._entries: Cache[str, tuple[tuple[Guard, Entry, int], ...]] = Cache(8)
        self.entries = self._entries.get

    @property
    def py_func(self) -> Callable[..., Any]:
        """The function itself."""
        return self.__wrapped__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str:
        return str(self.__qualname__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if not kwargs:
                for guard, entry, version in self.entries(VALUE) or ():
                    captured = guard(self.__wrapped__)
                    if captured is not None and version == rules.version:
                        y = entry(*args, *captured) if captured else entry(*args)
                        if y is not NotImplemented and y is not Ellipsis:
                            return y
            return self._called(self.call(args, kwargs, VALUE), args, kwargs)
        except BaseException as error:
            shorten(error)
            raise

    def _called(self, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function returns, by what was read of it."""
        if call is RECALLED:
            return self(*args)
        if call is None:
            return self.in_python(args, kwargs)
        if call.watched:
            return self._watched(call, args, kwargs)
        if call.usual and self.learn(call.read, VALUE):
            return self(*args)
        return self._plain(call, args, kwargs)

    def learn(self, read: Read, verb: str, make: Callable[[], Direct | None] | None = None) -> bool:
        """Have a verb ask the entry of a read from now on; False if it does, or there is none."""
        known, f = self.entries(verb) or (), self.__wrapped__
        recalled = self._looked_for.get((verb, read.kinds)) if read.assuming else None
        own = read.captured, recalled if recalled and recalled(f) is not None else None
        if any(guard in own for guard, _, _ in known):
            return False
        try:
            entry = make() if make else read.entry(verb, self.wrt)
        except KernelError:  # the general way says so
            return False
        if entry is None:
            return False
        new = read.captured, entry.call, read.version
        if not read.assuming:  # it is slower: the others are asked first
            self._entries.put(verb, (*known[:_MOST], new))
            return True
        self._entries.put(verb, (new, *known[:_MOST]))
        index.keep(f, read.kinds, verb, self._options, read, entry)
        return True

    def _recall(self, verb: str, kinds: tuple[Kind, ...]) -> bool:
        """Have a verb ask an entry of an earlier process; False if it was looked for, or is not."""
        if self._looked_for.get((verb, kinds)):
            return False
        found = index.recall(self.__wrapped__, kinds, verb, self._options)
        self._looked_for.put((verb, kinds), found[0] if found else _no_guard)
        if found is not None:
            known = self.entries(verb) or ()
            self._entries.put(verb, ((*found, rules.version), *known[:_MOST]))
        return found is not None

    def call(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        verb: str | None = None,
        assuming: bool = True,
    ) -> Any:
        """The operands of a call, and what was read for them; None where it is not compiled.

        RECALLED, with nothing read, where the verb asks an entry of an earlier process now.
        """
        taken = Taken()
        try:
            kinds = tuple(map(taken.take, args))
            keywords = {name: taken.take(x) for name, x in kwargs.items()}
        except OverflowError:
            self._warn_of_stop("an int beyond 64 bits")
            return None
        except Unkind as why:
            from zyg.compiling.fallback import refuse

            refuse(self.__name__, _unkind(self.__name__, str(why)))
            return None
        f: Any = self.__wrapped__
        usual = not (kwargs or taken.functions)
        if verb and usual and not taken.watched and self._recall(verb, kinds):
            return RECALLED
        root = Root(f, taken.functions) if taken.functions else f
        from zyg.compiling.fallback import refuse
        from zyg.compiling.reads import Refused, read_for

        read = read_for(f, root, kinds, keywords, self.parallel, assuming)
        if read is None:
            return None  # Python says what is wrong
        if isinstance(read, Refused):
            refuse(self.__name__, read.refusal)
            return None
        for name, refusal in read.called_back:
            if refusal is not None:
                refuse(name, refusal)
        for x in read.captures.values(root):
            taken.take(x)
        return Call(read, taken, usual)

    def inspect(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """What a call with these arguments does: whether it is machine code and why not, its
        program and that of its pullback, what that keeps and in how many bytes, where the machine
        code is from, and how long it took to get it. It prints as a table, without the programs.
        Never raises for what is not compiled.
        """
        from zyg.compiling.inspecting import inspected

        return inspected(self, args, kwargs)

    def source(self, *args: Any, of: str = "value", **kwargs: Any) -> str:
        """The text of a Python module that computes the function without zyg, or a derivative.

        Parameters
        ----------
        *args
            Arguments of the kinds that it is for.
        of : {"value", "gradient", "pushforward", "pullback"}
            What the module defines. With "value", the function by its name; with "gradient",
            ``name_gradient(*args)``, which returns value and gradients; with "pushforward",
            ``name_pushforward(primals, tangents)``; with "pullback", ``name_forward(*args)`` and
            ``name_reverse(kept, cotangent)``.
        **kwargs
            Arguments by name.

        Returns
        -------
        str
            The text.

        Raises
        ------
        CompileError
            The function is not compiled.

        Examples
        --------
        >>> import zyg
        >>> @zyg.compile
        ... def square(x):
        ...     return x * x
        >>> "return x * x" in square.source(2.0)
        True
        """
        from zyg.compiling.inspecting import text_of

        return text_of(self, args, kwargs, of)

    def in_python(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], written: Sequence[int] = ()
    ) -> Any:
        """What the function itself returns; arguments that it has `written` to stay watched."""
        f = self.__wrapped__
        if not _holds_watched((f, args, kwargs)):
            return f(*args, **kwargs)
        from zyg.compiling.fallback import with_drop_ins

        if self.wrt is not None:
            kept = {*self.wrt, *written}
            args = tuple(x if k in kept else _constant(x) for k, x in enumerate(args))
        try:
            with with_drop_ins(f):
                return f(*args, **kwargs)
        except Exception as error:
            refused = error.__cause__ or error  # NumPy has put an exception of its own around it
            if self.wrt is not None and getattr(refused, "tag", "") == "plain-buffer":
                by = f"{self.__name__} runs in Python; name in wrt= the arguments that it writes to"
                refused.args = (f"{refused} Or, if wrt= leaves the array out: {by}.",)
            raise

    def _plain(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from zyg.compiler.back.entry import Stopped
        from zyg.compiling.calls import run
        from zyg.compiling.fallback import refuse
        from zyg.compiling.operations import Unbuilt

        read, operands = call.read, call.operands
        if read.written and (call.read_only() or call.overlapping()):
            return self.__wrapped__(*args, **kwargs)
        may_end = read.may_stop or (read.shared and call.copies)
        before = [(operands[k], operands[k].copy()) for k in read.written if may_end]
        outs, why = None, ""
        try:
            outs = run(read.plain, operands)
        except Unbuilt as error:
            refuse(self.__name__, error)
            return self.in_python(args, kwargs)
        except Stopped as stopped:  # what Python raises then stands alone
            why = stopped.why
        made = None if outs is None else read.made_in_place(outs, operands, call.arrays)
        if made is None:
            for x, contents in before:
                x[...] = contents
            if outs is None:
                return self._again(call, args, kwargs, why)
            return self.__wrapped__(*args, **kwargs)
        for k, x in call.copies:
            if k in read.written:
                x[...] = operands[k].view(x.dtype).reshape(x.shape)
        return made[0]

    def _again(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any], why: str) -> Any:
        """What the function itself raises, where machine code has stopped; or returns."""
        if call.read.assumes:
            return self._called(self.call(args, kwargs, assuming=False), args, kwargs)
        y = self.in_python(args, kwargs)
        self._warn_of_stop(why)
        return y

    def _warn_of_stop(self, why: str) -> None:
        from zyg.base.warned import warn_once

        warn_once(
            ("stopped", self.__wrapped__, why),
            f"zyg.compile: {self.__name__} was run in Python for these arguments: its machine code "
            f"stops at {why or 'what it cannot do'}.",
        )

    def _watched(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One entry; where it cannot be one, what the function does by itself."""
        from zyg.compiler.back.entry import Stopped
        from zyg.compiling.calls import apply
        from zyg.compiling.fallback import refuse
        from zyg.compiling.operations import Unbuilt

        read = call.read
        if (refusal := read.refusal()) is not None:
            refuse(self.__name__, refusal)
        if written := read.arguments_written():
            return self.in_python(args, kwargs, written)
        if refusal or not self._by_floats(call):
            return self.in_python(args, kwargs)
        made, why = None, ""
        try:
            made = apply(read.operation, self._moving(call))
        except Unbuilt as error:
            refuse(self.__name__, error)
            return self.in_python(args, kwargs)
        except Stopped as stopped:
            why = stopped.why
        if made is None:
            return self._again(call, args, kwargs, why)
        return read.made(made, call.arrays)

    def _by_floats(self, call: Call) -> bool:
        """Whether no int is watched that the program has no derivative by."""
        ints = [k for k in call.read.sloping_ints if is_watched(call.operands[k])]
        return not ints or call.read.has_shadows(ints)

    def _moving(self, call: Call) -> list[Any]:
        """The operands, plain where they are no floats, or of arguments never differentiated."""
        inputs, start = call.read.operation.program.inputs, 0
        wrt = self.wrt
        fixed = [
            not x.type.startswith("float") and k not in call.read.sloping_ints
            for k, x in enumerate(inputs)
        ]
        for k, kind in enumerate(call.read.kinds):
            if wrt is not None and k not in wrt:
                fixed[start : start + width(kind)] = [True] * width(kind)
            start += width(kind)
        pairs = zip(call.operands, fixed, strict=True)
        return [strip(settle(x)) if is_fixed else x for x, is_fixed in pairs]


def _constant(x: Any) -> Any:
    """An argument that is never differentiated."""
    inside = Structure(x, is_watched)
    return inside.rebuild([strip(settle(v)) for v in inside.leaves]) if inside.leaves else x


def _holds_watched(x: Any) -> bool:
    return bool(Structure(x, is_watched).leaves)


def _unkind(name: str, why: str) -> KernelError:
    return KernelError(
        f"{name} is given {why}, which compiled functions do not accept.",
        "they take real and complex numbers of 64 bits, float32, bools, arrays of those, and "
        "tuples, lists, dicts and objects of them.",
        "convert it before the call.",
    )
