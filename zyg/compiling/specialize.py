"""Functions, read for arguments of some kinds: their programs, and those of their derivatives.

A specialization is used again while all that it took from outside is what it was, by any function
of the same code.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, cast

from zyg.base.caches import Cache
from zyg.base.collector import uncollected
from zyg.base.marks import name_of
from zyg.base.registry import rules
from zyg.base.signatures import users_signature
from zyg.compiler.aliases import written_inputs
from zyg.compiler.back.native_function import Direct
from zyg.compiler.front.captures import Outside, code_of
from zyg.compiler.front.whole import Whole, WholeCaptures
from zyg.compiler.inside.reading import read_calling_back
from zyg.compiler.ir import Call, Check, operations
from zyg.compiler.kinds import (
    Array,
    Given,
    Kind,
    Scalar,
    Static,
    Struct,
    dtype_of,
    leaves,
    made_of,
    width,
)
from zyg.compiling.forms import Form, gradient_form
from zyg.compiling.guards import FastEntry
from zyg.compiling.ints import with_shadows, with_slopes
from zyg.compiling.operands import (
    GRADIENT,
    KNOWN,
    VALUE,
    VALUE_AND_GRADIENT,
    Unlike,
    floats,
    shared_in,
    sources,
)
from zyg.compiling.operations import FLOATS, Once, Operation, building, unbuilt
from zyg.compiling.python_callbacks import Callbacks
from zyg.compiling.staying import is_helper
from zyg.core.strand import strip
from zyg.errors import KernelError

_MOST_KINDS = 64  # of one function


class Specialization(Once):
    """What was read of a function for arguments of some kinds, and what is made of it.

    `operation` is its program, to be differentiated; `plain` one that may give memory of arguments.
    `form` has the programs that verbs run.
    """

    def __init__(
        self,
        kinds: tuple[Kind, ...],
        keywords: dict[str, Kind],
        whole: Whole,
        captures: WholeCaptures,
    ) -> None:
        super().__init__()
        self.kinds, self.keywords, self.captures = kinds, keywords, captures
        self.assuming, self.assumes = captures.assuming, whole.assumes
        captured: Any = [captures.kinds[path][0] for path in captures.operands]
        self.takes: tuple[Kind, ...] = (*kinds, *captured)
        self.result: Any = cast(Any, whole.result)
        results = [*leaves(self.result)]
        self.operation = Operation(whole.program, [k for k, _ in results])
        self.operation.of_numpy = {
            k: dtype_of("float" if leaf.type == "complex" else leaf.type).type
            for place, leaf in results
            if isinstance(leaf, Scalar) and not leaf.python
            for k in range(place, place + width(leaf))
        }
        self.plain = Operation(whole.plain) if whole.plain else self.operation
        arrays = [(k, x) for k, x in results if isinstance(x, Array)]
        self._given = [(k, x.same) for k, x in arrays if x.same is not None]
        self.shared = [*shared_in(arrays, len(whole.program.outputs))]
        self.written = written_inputs(whole.program)
        # To what is no argument by position: derivatives run in Python, which leaves it written.
        self.writes_outside = max(self.written, default=-1) >= sum(map(width, kinds))
        self.may_stop = any(isinstance(op, (Call, Check)) for op in operations(whole.program.body))
        self.loss = loss_of(self.result)
        sloping = with_slopes(whole.program, self.operation.results)
        self.sloping_ints = sloping - {*sources(Struct(tuple, (), self.takes), 0)}
        self._refusal: KernelError | None = None
        self._derived = False
        self.called_back: list[tuple[str, KernelError | None]] = []  # in Python; of helpers, why

    def made(self, outs: list[Any], arrays: Mapping[int, Any]) -> Any:
        """The result, in which arguments that are returned are themselves."""
        for k, place in self._given:
            outs[k] = Given(arrays[place])
        return made_of(self.result, iter(outs), strip)

    def made_in_place(
        self, outs: list[Any], operands: Sequence[Any], arrays: Mapping[int, Any]
    ) -> tuple[Any] | None:
        """The result of a plain call: arrays in memory of arguments are views of these.

        None where Python alone can make them.
        """
        given = [(operands[k], x) for k, x in arrays.items()]
        known: dict[Any, Any] = {}
        for result in self.shared:
            if (y := result.array(outs, given, known)) is None:
                return None
            outs[result.first] = Given(y)
        return (self.made(outs, arrays),)

    def form(self, verb: str, wrt: Sequence[int] | None) -> Form | None:
        """What a verb runs; None where the tracer is needed for it."""
        return self.once((verb, wrt), lambda: FORMS[verb](self, wrt))

    def gradients(
        self, wrt: Sequence[int] | None, zeros: bool = False, strong: bool = False
    ) -> Form | None:
        """What gives value and gradients; None where the tracer is needed for it."""

        def make() -> Form | None:
            active = None if self.loss is None else self.active(wrt)
            if active is None:
                return None
            try:
                derivative = self.operation.gradient(active, strong)
                with building(self.operation.program.name):
                    return gradient_form(derivative, self.kinds, self.takes, self.result, zeros)
            except Unlike:
                return None
            except Exception as error:  # as in reading
                self.refuse(error)
                return None

        return self.once((wrt, zeros, strong), make)

    @uncollected
    def fast_entry(
        self, verb: str, wrt: Sequence[int] | None, f: Any
    ) -> tuple[Direct, FastEntry] | None:
        """The machine code of a verb that takes the arguments as they are; None where none does."""
        form = None if self.written and verb is not VALUE else self.form(verb, wrt)

        def make() -> tuple[Direct, FastEntry] | None:
            if form is None or (code := form.entry()) is None:
                return None
            return code, FastEntry(f, code.call, self.captures.guards, self.captures.operands)

        return self.once(form, make)

    def refusal(self) -> KernelError | None:
        """Why there are no derivatives of the program, if there are none."""
        if not self._derived:
            inputs = enumerate(self.operation.program.inputs)
            try:
                self.operation.pullback(tuple(k for k, x in inputs if x.type in FLOATS))
            except Exception as error:  # as in reading
                self.refuse(error)
            self._derived = True
        return self._refusal

    def active(self, wrt: Sequence[int] | None) -> tuple[int, ...] | None:
        """The places of the operands by which gradients are; None where the tracer is needed."""
        found = []
        for kind, start in self.chosen(wrt):
            for place, leaf in leaves(kind, start):
                found += [place] if place in self.sloping_ints else floats(leaf, place)
        return tuple(found) if self.has_shadows(found) else None

    def has_shadows(self, places: Sequence[int]) -> bool:
        """Whether there are derivatives by the ints among these operands."""
        program = self.operation.program
        ints = [k for k in places if program.inputs[k].type in ("int", "int[]")]
        if any(program.inputs[k].type == "int[]" for k in ints):
            return False
        return not ints or with_shadows(program, ints, self.operation.results) is not None

    def chosen(self, wrt: Sequence[int] | None) -> list[tuple[Kind, int]]:
        """The kinds of the positional arguments that are differentiated; where they start."""
        starts = accumulate(map(width, self.kinds), initial=0)
        places = enumerate(zip(self.kinds, starts, strict=False))
        return [pair for k, pair in places if wrt is None or k in wrt]

    def arguments_written(self) -> list[int]:
        """The positional arguments that the function writes to."""
        places = enumerate(self.chosen(None))
        return [
            k for k, (kind, start) in places
            if any(start <= place < start + width(kind) for place in self.written)
        ]  # fmt: skip

    def refuse(self, error: Exception) -> None:
        """From now on there are no derivatives of the program, for this reason."""
        name = self.operation.program.name
        self._refusal = error if isinstance(error, KernelError) else _unforeseen(name, error)
        self._derived = True


def _value(known: Specialization, wrt: Sequence[int] | None) -> Form:
    layouts = [result.layout for result in known.shared]
    return Form(known.plain, known.takes, known.result, (), known.written, layouts, tapes=False)


# By verb, what makes its form; there are more in `matrices`.
FORMS: dict[str, Callable[[Specialization, Sequence[int] | None], Form | None]] = {
    VALUE: _value,
    GRADIENT: lambda known, wrt: known.gradients(wrt) if known.loss == "alone" else None,
    VALUE_AND_GRADIENT: lambda known, wrt: known.gradients(wrt),
}


class Refused:
    """A function that cannot be read for arguments of these kinds, and why."""

    def __init__(self, refusal: KernelError, captures: WholeCaptures) -> None:
        self.refusal, self.captures = refusal, captures


class _Variants:
    """The specializations of the functions of one code for arguments of the same kinds."""

    def __init__(self) -> None:
        self.version = rules.version
        self.found: list[Specialization | Refused] = []
        self.lock = threading.RLock()


_known: Cache[Any, _Variants] = Cache(1024)


def specialize(
    f: Callable[..., Any],
    root: Any,
    kinds: tuple[Kind, ...],
    keywords: dict[str, Kind],
    parallel: bool = False,
    assuming: bool = True,
) -> Specialization | Refused | None:
    """The specialization of a function for arguments of these kinds, read now if it has to be.

    None if it takes no such arguments. Paths to what it takes from outside begin at `root`. With
    `assuming`, its program may stop for arrays of unusual sizes.
    """
    key = code_of(f), kinds, tuple(keywords.items()), parallel, assuming
    known = _known.get(key)
    if known is None or known.version != rules.version:
        known = _known.put(key, _Variants())
    if (found := _fitting(root, known)) is not None:
        return found
    with known.lock:
        if (found := _fitting(root, known)) is not None:
            return found
        if not _binds(f, kinds, keywords):
            return None
        known.found.append(made := _read(f, kinds, keywords, parallel, assuming))
        del known.found[:-_MOST_KINDS]
        return made


def _binds(f: Any, kinds: tuple[Kind, ...], keywords: dict[str, Kind]) -> bool:
    try:
        users_signature(f).bind(*kinds, **keywords)
    except TypeError:
        return False
    except ValueError:  # of what tells nothing about itself
        pass
    return True


def _fitting(root: Any, known: _Variants) -> Specialization | Refused | None:
    return next((one for one in known.found if one.captures.fits(root)), None)


def _read(
    f: Callable[..., Any], kinds: tuple[Kind, ...], keywords: dict[str, Kind], parallel: bool,
    assuming: bool,
) -> Specialization | Refused:  # fmt: skip
    tried: list[WholeCaptures] = []

    def captures() -> WholeCaptures:
        tried.append(WholeCaptures(strip))
        tried[-1].parallel, tried[-1].assuming = parallel, assuming
        return tried[-1]

    try:
        whole, outside = read_calling_back(f, kinds, keywords, captures, Callbacks())
    except Exception as error:  # what the reader does not foresee is not compiled, and runs
        return Refused(_as_refusal(f, error).with_traceback(None), tried[0])
    for part in _known_parts(whole.result):
        if not isinstance(part, KNOWN):
            return Refused(_returned(f, part), tried[-1])
    made = Specialization(kinds, keywords, whole, tried[-1])
    for g, why in outside:
        made.called_back.append((name_of(g), _as_refusal(g, why) if is_helper(g) else None))
    return made


def _as_refusal(f: Any, error: Exception) -> KernelError:
    return error if isinstance(error, KernelError) else _unforeseen(name_of(f), error)


def _known_parts(kind: Any) -> Iterator[Any]:
    if isinstance(kind, Static):
        yield kind.value
    for part in kind.parts if isinstance(kind, Struct) else ():
        yield from _known_parts(part)


def _unforeseen(name: str, error: Exception) -> KernelError:
    if isinstance(error, AssertionError):
        return unbuilt(name, error)
    said = (str(error).splitlines() or [""])[0]
    return KernelError(
        f"{name} could not be compiled: {type(error).__name__}: {said}.",
        "it uses something that zyg.compile does not support.",
        "use loops, arithmetic and the NumPy functions that docs/compiled.md lists.",
    )


def _returned(f: Any, part: Any) -> KernelError:
    part = part.value if isinstance(part, Outside) else part
    return KernelError(
        f"{name_of(f)} returns a {type(part).__name__}.",
        "a compiled function returns numbers and arrays, and containers and objects of them.",
        "return those; do not return a function, but call it inside the compiled function.",
    )


def loss_of(result: Kind) -> str | None:
    """Whether a result is a real number with a gradient: "alone", or "first" of a tuple."""
    if _is_loss(result):
        return "alone"
    if isinstance(result, Struct) and result.type is tuple and result.parts:
        return "first" if _is_loss(result.parts[0]) else None
    return None


def _is_loss(kind: Kind) -> bool:
    if isinstance(kind, Scalar):
        return kind.type in ("float", "float32")
    return isinstance(kind, Array) and kind.ndim == 0 and kind.element in ("float", "float32")
