"""Compiled functions: what stands in the place of a function given to `compile`.

A call asks the machine code that is known (`asked`). If none takes it, its arguments are taken
apart; machine code for their kinds is looked for on disk; else the function is read for them
(`specialize`), and the verb gets machine code of what was read (`prepared`). Where even that does
not take the arguments as they are, as with keywords, functions or watched values among them, or
where it has stopped, the program runs on operands, or Python does (`_called`).

What reads and derives programs is imported where it is needed: a process whose machine code is on
disk goes without.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any

from zyg.base.array_types import lifting
from zyg.base.borders import shorten
from zyg.base.caches import Cache
from zyg.base.collector import uncollected
from zyg.base.config import setting
from zyg.base.late import raise_late
from zyg.base.marks import Named, name_of
from zyg.base.registry import own_verbs
from zyg.base.structure import Structure
from zyg.compiler.back.asking import Asking
from zyg.compiler.back.object_layout import place_of, readable
from zyg.compiler.kinds import Kind, Unkind, width
from zyg.compiling import index
from zyg.compiling.guards import FastEntry
from zyg.compiling.operands import GRADIENT, VALUE, VALUE_AND_GRADIENT, Call, Root, by_position
from zyg.core.strand import active, is_watched, settle, strip
from zyg.errors import KernelError
from zyg.verbs.gradients import gradient, value_and_gradient

if TYPE_CHECKING:
    from zyg.compiling.specialize import Specialization

_MOST = 8  # entries that are asked


class Compiled(Named):
    """A function whose calls, and whose derivatives, are machine code; made by `compile`.

    ``f.__wrapped__`` is the function itself, ``f.inspect(*args)`` what a call does and why,
    ``f.source(*args, of=...)`` the text of the program or of a derivative.
    """

    __slots__ = ("__dict__", "__weakref__", "__wrapped__", "entries")
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
        self._options: tuple[Any, ...] = wrt, parallel
        self.reads_only = False  # whether what writes to arguments is left to others
        self.stops: Counter[str] = Counter()  # calls that Python ran, by what machine code met
        self._recalled: Cache[Any, tuple[FastEntry | None]] = Cache(256)  # by verb and kinds
        # What a verb asks first: the entries of the latest specializations.
        self._entries: Cache[str, tuple[Callable[..., Any], ...]] = Cache(16)
        self.entries = self._entries.get
        self._parts: dict[tuple[int, ...], Compiled] = {}
        self.rule: Any = None  # of which its entries on tapes are, once there are some

    @property
    def py_func(self) -> Callable[..., Any]:
        """The function itself."""
        return self.__wrapped__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def by(self, wrt: tuple[int, ...]) -> Compiled:
        """The function, differentiated by some of its arguments, if it writes to none."""
        if (known := self._parts.get(wrt)) is not None:
            return known
        made = Compiled(self.__wrapped__, wrt, self.parallel)
        made.reads_only, made.stops = True, self.stops
        made._options += ("reads only",)
        return self._parts.setdefault(wrt, made)

    def __reduce__(self) -> str:
        return str(self.__qualname__)

    def in_general(self, *args: Any, **kwargs: Any) -> Any:
        """What a call gives for which there is no machine code yet."""
        try:
            return self._called(args, kwargs)
        except BaseException as error:
            shorten(error)
            raise

    __call__ = in_general  # until there is some: see `_asking`

    def asked(self, verb: str, args: tuple[Any, ...]) -> Any:
        """What machine code gives that is known; NotImplemented where none takes these arguments,
        Ellipsis where it has stopped.
        """
        raise_late()
        found: Any = NotImplemented
        for ask in self.entries(verb) or ():
            y = ask(self.__wrapped__, args)
            if y is Ellipsis:
                raise_late()
                found = y
            elif y is not NotImplemented:
                return y
        return found

    def prepared(
        self, verb: str | None, args: tuple[Any, ...], kwargs: dict[str, Any],
        more: tuple[Any, ...] = (), others: Sequence[str] = (), assuming: bool = True,
    ) -> tuple[Any, Call | None]:  # fmt: skip
        """What machine code gives that is on disk or made now; else the call, for the general way.

        NotImplemented and None where it is not compiled. Without a verb, the call. On disk it may
        be that of one of the `others`. With `assuming`, its program may stop for arrays of unusual
        sizes.
        """
        raise_late()
        if (call := self._taken_apart(args, kwargs)) is None:
            return NotImplemented, None
        fast = verb and not (kwargs or call.functions or call.watched)
        found: Any = NotImplemented
        for one in (verb, *others) if verb and fast and assuming else ():
            if self._recall(one, call.kinds):
                y = self.asked(one, (*args, *more))
                if y is not NotImplemented and y is not Ellipsis:
                    return y, None
                found = y if one is verb else found
        if not self._specialize(call, assuming):
            return NotImplemented, None
        if verb and fast and self._learn(verb, call.known):
            found = self.asked(verb, (*args, *more))
        return found, (call if found is NotImplemented or found is Ellipsis else None)

    def _taken_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        try:
            return Call(args, kwargs)
        except OverflowError:
            self._stopped("an int beyond 64 bits")
        except Unkind as why:
            if lifting.get() is None:  # else it is of batches, of which Python makes one run
                from zyg.compiling.fallback import refuse

                refuse(self.__name__, _unkind(self.__name__, str(why)))
        return None

    @uncollected
    def _specialize(self, call: Call, assuming: bool) -> bool:
        """Find or make what is known for a call, and take what is captured; False if Python is to
        run it."""
        from zyg.compiling.fallback import refuse
        from zyg.compiling.specialize import Refused, specialize

        f: Any = self.__wrapped__
        root = Root(f, call.functions) if call.functions else f
        known = specialize(f, root, call.kinds, call.keywords, self.parallel, assuming)
        if known is None:
            return False  # Python says what is wrong
        if isinstance(known, Refused):
            refuse(self.__name__, known.refusal)
            return False
        for name, refusal in known.called_back:
            if refusal is not None:
                refuse(name, refusal)
        for x in known.captures.values(root):
            call.take(x)
        call.known = known
        return True

    def _learn(self, verb: str, known: Specialization) -> bool:
        """Have a verb ask machine code of a specialization from now on; False if it does, or there
        is none."""
        entries, f = self.entries(verb) or (), self.__wrapped__
        recalled = self._recalled.get((verb, known.kinds)) if known.assuming else None
        if recalled and recalled[0] and recalled[0].fits(f):
            return False  # it is the same
        if self.reads_only and known.written:
            return False
        from zyg.compiling.fallback import faster

        made = faster(self.__name__, lambda: known.fast_entry(verb, self.wrt, f))
        if made is None or made[1].is_in(entries):
            return False
        self.add(verb, made[1], last=not known.assuming)  # it is slower
        if known.assuming:
            index.keep(f, known.kinds, verb, self._options, known.captures, *made)
        return True

    def _recall(self, verb: str, kinds: tuple[Kind, ...]) -> bool:
        """Have a verb ask machine code of an earlier process; False if it was looked for, or there
        is none."""
        if self._recalled.get((verb, kinds)):
            return False
        found = index.recall(self.__wrapped__, kinds, verb, self._options)
        self._recalled.put((verb, kinds), (found,))
        if found is not None:
            self.add(verb, found)
        return found is not None

    def add(self, verb: str, entry: FastEntry, last: bool = False) -> None:
        ask = entry.asked_by(self.__wrapped__, _asking()) if readable() else entry.ask
        others = (self.entries(verb) or ())[: _MOST - 1]
        self._entries.put(verb, (*others, ask) if last else (ask, *others))

    def call(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], assuming: bool = True
    ) -> Call | None:
        """The operands of a call, and what is known for them; None where it is not compiled."""
        return self.prepared(None, args, kwargs, assuming=assuming)[1]

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any], assuming: bool = True) -> Any:
        """What the function returns, where no machine code takes its arguments that is known."""
        if kwargs:
            args, kwargs = by_position(self.__wrapped__, args, kwargs)
            y = NotImplemented if kwargs or not assuming else self.asked(VALUE, args)
            if y is not NotImplemented and y is not Ellipsis:
                return y
        if self.rule is not None and assuming and not kwargs and active.get():
            from zyg.compiling.taped import noted

            y = noted(self, args)
            if y is not NotImplemented and y is not Ellipsis:
                return y
        y, call = self.prepared(VALUE, args, kwargs, assuming=assuming)
        if call is not None:
            return self._watched(call) if call.watched else self._plain(call)
        return self.in_python(args, kwargs) if y is NotImplemented else y

    def inspect(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """What a call with these arguments does: whether it is machine code and why not, its
        program and that of its pullback, what that keeps and in how many bytes, where the machine
        code is from, and how long it took to get it. It prints as a table, without the programs.
        Never raises for what is not compiled.
        """
        from zyg.compiling.inspection import inspected

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
        from zyg.compiling.inspection import text_of

        return text_of(self, args, kwargs, of)

    def in_python(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], written: Sequence[int] = ()
    ) -> Any:
        """What the function itself returns; arguments that it has `written` to stay watched."""
        f = self.__wrapped__
        inside = (f, args, kwargs) if active.get() else (args, kwargs)  # none: a thread of its own
        if not Structure(inside, is_watched).leaves:
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

    def _plain(self, call: Call) -> Any:
        known, operands = call.known, call.operands
        if known.written and (call.read_only() or call.overlapping()):
            return self.__wrapped__(*call.args, **call.kwargs)
        may_end = known.may_stop or (known.shared and call.copies)
        before = [(operands[k], operands[k].copy()) for k in known.written if may_end]
        outs, why = self._outputs(lambda: known.plain.run(operands))
        made = None if outs is None else known.made_in_place(outs, operands, call.arrays)
        if made is None:
            for x, contents in before:
                x[...] = contents
            if outs is None:
                return self._again(call, why)
            return self.__wrapped__(*call.args, **call.kwargs)
        for k, x in call.copies:
            if k in known.written:
                x[...] = operands[k].view(x.dtype).reshape(x.shape)
        return made[0]

    def _outputs(self, run: Callable[[], list[Any]]) -> tuple[list[Any] | None, str | None]:
        """What a program gives; where it has stopped, None and why, if that is to be said."""
        try:
            return run(), None
        except Exception as error:  # what Python raises then stands alone
            return None, self._why_stopped(error)

    def _why_stopped(self, error: Exception) -> str | None:
        from zyg.compiler.back.native_function import Stopped
        from zyg.compiling.fallback import refuse
        from zyg.compiling.operations import Unbuilt

        if isinstance(error, Stopped):
            return None if error.raised else error.why
        if not isinstance(error, Unbuilt):
            raise error
        refuse(self.__name__, error)
        return None

    def _again(self, call: Call, why: str | None) -> Any:
        """What the function itself raises, where machine code has stopped; or returns."""
        if why is not None and call.known.assumes:
            return self._called(call.args, call.kwargs, assuming=False)
        y = self.in_python(call.args, call.kwargs)
        if why is not None:
            self._stopped(why)
        return y

    def _stopped(self, why: str) -> None:
        """Count and say that machine code has stopped where Python raised nothing."""
        from zyg.base.warned import warn_once
        from zyg.compiler.front.source import place_of
        from zyg.compiling.fallback import compile_error

        why = why or "what it cannot do"
        place = getattr(why, "place", None)
        where = f"{why}, in {place_of(*place)}" if place else why
        self.stops[where] += 1
        what = f"{self.__name__} was run in Python for these arguments"
        stops = f"its machine code stops at {where}."
        if setting("fallback") == "error":
            fix = "pass arguments for which it does not, or set fallback to another value."
            raise compile_error(KernelError(f"{what}.", stops, fix))
        warn_once(("stopped", self.__wrapped__, why), lambda: f"zyg.compile: {what}: {stops}")

    def _watched(self, call: Call) -> Any:
        """One entry; where it cannot be one, what the function does by itself."""
        from zyg.compiling.calls import apply
        from zyg.compiling.fallback import refuse
        from zyg.compiling.taped import learn, noted

        known = call.known
        if (refusal := known.refusal()) is not None:
            refuse(self.__name__, refusal)
        if known.written:
            return self.in_python(call.args, call.kwargs, known.arguments_written())
        is_whole = all(strand.whole for strand in active.get())
        if refusal or not is_whole or not self._by_floats(call):
            return self.in_python(call.args, call.kwargs)
        if learn(self, call):
            y = noted(self, call.args)
            if y is not NotImplemented and y is not Ellipsis:
                return y
        operands = self._moving(call)
        made, why = self._outputs(lambda: apply(known.operation, operands))
        return self._again(call, why) if made is None else known.made(made, call.arrays)

    def _by_floats(self, call: Call) -> bool:
        """Whether no int is watched that the program has no derivative by."""
        ints = [k for k in call.known.sloping_ints if is_watched(call.operands[k])]
        return not ints or call.known.has_shadows(ints)

    def _moving(self, call: Call) -> list[Any]:
        """The operands, plain where they are no floats, or of arguments never differentiated."""
        inputs, start = call.known.operation.program.inputs, 0
        wrt = self.wrt
        fixed = [
            not x.type.startswith("float") and k not in call.known.sloping_ints
            for k, x in enumerate(inputs)
        ]
        for k, kind in enumerate(call.known.kinds):
            if wrt is not None and k not in wrt:
                fixed[start : start + width(kind)] = [True] * width(kind)
            start += width(kind)
        pairs = zip(call.operands, fixed, strict=True)
        return [strip(settle(x)) if is_fixed else x for x, is_fixed in pairs]


@functools.cache
def _asking() -> Asking:
    """What asks in machine code, from the first that there is on."""
    asking = Asking(place_of("entries", Compiled), place_of("__wrapped__", Compiled),
                    Compiled.in_general, Compiled, gradient)  # fmt: skip
    Compiled.__call__ = asking.call(Compiled)  # type: ignore[method-assign]
    verbs = own_verbs[Compiled]
    verbs |= {name: asking.verb(name, verbs[name]) for name in (GRADIENT, VALUE_AND_GRADIENT)}
    for verb in (gradient, value_and_gradient):
        asking.before(verb)
    return asking


def _constant(x: Any) -> Any:
    """An argument that is never differentiated."""
    inside = Structure(x, is_watched)
    return inside.rebuild([strip(settle(v)) for v in inside.leaves]) if inside.leaves else x


def _unkind(name: str, why: str) -> KernelError:
    return KernelError(
        f"{name} is given {why}, which compiled functions do not accept.",
        "they take ints, bools, real and complex numbers of 64 bits, float32, arrays of those, and "
        "tuples, lists, dicts and objects of them.",
        "convert it before the call.",
    )
