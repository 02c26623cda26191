"""From a program with memory to LLVM text: a function for it, and for each that it calls.

Regions become blocks, what they yield phis; a check branches to one block at the end. A program
takes the arena and how deep calls may go, and returns a status before its results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from zyg.compiler.aliases import Aliases
from zyg.compiler.back import (
    arena,
    blas,
    elementary_text,
    first_code,
    gathering,
    inner_loops,
    interchanged,
    lanes_text,
    lapack,
    sums,
    threaded,
)
from zyg.compiler.back.alias_scopes import Places, by_place, in_scopes, told, unswitched
from zyg.compiler.back.c_abi import TYPES, entry_lines, result_type, type_in_text
from zyg.compiler.back.calls_text import Calls
from zyg.compiler.back.distribution import distributed, forwards, turns
from zyg.compiler.back.extrema import extremum
from zyg.compiler.back.first_writes import without_zeros
from zyg.compiler.back.hoisting import check_early, hoistable, postponed
from zyg.compiler.back.lanes_of_rounds import Lanes, planned
from zyg.compiler.back.lifetimes import Lifetimes, buffers_of
from zyg.compiler.back.llvm_scalar import Scalars
from zyg.compiler.back.metadata import METADATA, ONE_BY_ONE, RARELY, TO_THE_END
from zyg.compiler.back.pieces import in_pieces
from zyg.compiler.back.simd import Lane
from zyg.compiler.back.trampolines import printed
from zyg.compiler.back.vectorize import rounds_that_wait, runs_in_registers, runs_one_by_one
from zyg.compiler.front import places as rounds_apart
from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    Call,
    CallBack,
    Check,
    For,
    Load,
    Op,
    Program,
    Routine,
    Store,
    Value,
    While,
    blocks_of,
    is_buffer,
    operations,
    type_of,
)
from zyg.compiler.loops import blocks_around, used
from zyg.compiler.routines import is_square
from zyg.compiler.splice import as_run

_LARGEST = 2**63 - 1


class Module:
    """The functions of a text for a program, and what it declares."""

    def __init__(self, program: Program) -> None:
        self.program, self.pieces = in_pieces(program)
        self.names: dict[Program, str] = {}
        self.waiting: list[tuple[Program, str]] = []
        self.scopes: list[str] = []  # what streams of loops are told apart by
        self.declared: dict[str, None] = {}
        self.called: list[Any] = []  # in Python
        self.direct: dict[int, Any] = {}  # of those, what makes objects for that
        self.whys: dict[Any, tuple[int, str]] = {}  # why checks fail, each with its number
        self.rounds: dict[Program, str] = {}  # of loops in threads, with their functions
        self.apart: set[Program] = set()  # whose buffers share no memory
        self.calls: dict[str, set[str]] = {}  # functions, and those that they call
        self.placed: Sequence[Atom] = ()  # buffers of the program that its caller brings
        self.main = self.function_of(self.program)

    def whole(self) -> str:
        """The text whose function `kernel` is the program."""
        return self.text(entry_lines(self.program, self.main))

    def text(self, entry: Sequence[str]) -> str:
        """All of it, with the lines of the function that is called from outside."""
        lines = [*entry]
        while self.waiting:
            program, name = self.waiting.pop()
            lines += _Function(self, program, name).text()
        for program, name in self.rounds.items():
            lines += threaded.function(program, name, self.names[program])
        lines += [line for call in self.direct.values() for line in call.lines]
        if self.rounds:
            lines.append(threaded.TEXT)
        kept, counting = elementary_text.used(self.declared), first_code.TEXT
        known = [arena.TEXT, counting, *self.declared, kept]
        return "\n".join([*known, *lines, *METADATA, *self.scopes, ""])

    @cached_property
    def memory(self) -> Aliases:
        return Aliases(self.program)

    def can_be_left(self) -> bool:
        """Whether there may be first code, once the text is there."""
        return not (self.called or self.rounds or self.calls_itself())

    def calls_itself(self) -> bool:
        """Whether a function of the text calls itself, by others maybe."""

        def reached(names: set[str]) -> set[str]:
            more = names.union(*(self.calls.get(name, ()) for name in names))
            return names if more == names else reached(more)

        return any(name in reached({*called}) for name, called in self.calls.items())

    def own(self, m: Scalars) -> Callable[[str, Sequence[Lane]], Lane | None]:
        """The elementary functions of ours, called."""

        def called(name: str, args: Sequence[Lane]) -> Lane | None:
            type = args[0].type
            symbol = elementary_text.symbol(name, type, self.declared)
            converted = (m.converted(x, type) for x in args)
            return m.called(symbol, type, *converted) if symbol else None

        return called

    def function_of_rounds(self, program: Program, apart: bool) -> str:
        """The function of a round of a loop that may run in threads."""
        self.function_of(program)
        if apart:
            self.apart.add(program)
        return self.rounds.setdefault(program, f"@zyg_round{len(self.rounds)}")

    def is_apart(self, program: Program) -> bool:
        """Whether the buffers that a function is given share no memory."""
        if program not in self.pieces:
            return program in self.apart
        given = [self.memory.of(x) for x in program.inputs if is_buffer(x.type)]
        return len({*given}) == len(given)

    def function_of(self, program: Program) -> str:
        """The name of a program's function, which is to be printed if it is new."""
        if program not in self.names:
            self.names[program] = f"@zyg_function{len(self.names)}"
            self.waiting.append((program, self.names[program]))
        return self.names[program]

    def status_of(self, why: str) -> str:
        """What a function returns where a check fails, for this reason."""
        key = why, getattr(why, "place", None)
        return str(arena.REASONS + self.whys.setdefault(key, (len(self.whys), why))[0])


class _Function(Calls):
    """Prints one program."""

    def __init__(self, module: Module, program: Program, name: str) -> None:
        self.module, self.program, self.symbol = module, program, name
        self.body, self.products = without_zeros(as_run(program))
        self.outer = program is module.program
        self.known_apart = self.outer or module.is_apart(program)
        super().__init__(Scalars(module.declared), TYPES)
        self.failures: list[tuple[str, str]] = []  # status, and the block that it comes from
        self.fresh_buffers: set[Value] = set()
        self.early: set[Check] = set()  # made before the loop that they are in
        self.said: dict[Load | Store, str] = {}  # of accesses that do not meet others
        self.places = Places({op.out: op for op in operations(self.body) if isinstance(op, Op)})
        self.made = result_type(program)
        self.lifetimes = Lifetimes()
        self.rounds_of: dict[For, rounds_apart.Places] = {}  # where loops use memory
        self.ways: dict[For, str] = {}  # how loops run that are made here
        self.turned: set[For] = set()  # nests that are printed the other way round, too
        self.plain = 0  # loops around that run round by round, as well as in lanes
        tapes = {op.out for op in operations(self.body) if isinstance(op, Alloc) and op.tape}
        self.tapes = Counter(x for x in used(self.body) if x in tapes)
        self.sizes = {op.out: op.size for op in operations(self.body) if isinstance(op, Alloc)}

    def text(self) -> list[str]:
        parameters = ["ptr %arena", "i64 %depth"]
        for x in self.program.inputs:
            self.known[x] = name = self.m.name("x")
            how = " noalias" if self.known_apart and is_buffer(x.type) else ""
            parameters.append(f"{type_in_text(x.type)}{how} {name}")
        for k in range(len(self.module.placed) if self.outer else 0):
            parameters += [f"ptr noalias %placed{k}", f"i64 %room{k}"]
        whole = self.outer or self.program in self.module.pieces
        how = "noinline nounwind" if whole else "nounwind"
        self.m.start("entry")
        self.count(first_code.CALL if self.outer else len(self.body.ops))
        self.run(self.body)
        if not self.outer:
            self.end(self.body)
        result = f"{self.made} {{ i32 0"
        result += (
            "".join(f", {type_in_text(type_of(x))} poison" for x in self.program.outputs) + " }"
        )
        for k, out in enumerate(self.program.outputs):
            made = self.m.name()
            self.m.line(f"{made} = insertvalue {result}, {self.typed(out)}, {k + 1}")
            result = f"{self.made} {made}"
        self.m.line(f"ret {result}")
        self.fail()
        head = f"define internal {self.made} {self.symbol}({', '.join(parameters)}) {how} {{"
        first, *lines = self.m.lines
        return [head, first, *self.m.slots, *lines, "}"]

    def fail(self) -> None:
        """The block where a function ends that has not done its work."""
        if self.failures:
            self.m.start("failed")
            comes = ", ".join(f"[ {status}, {block} ]" for status, block in self.failures)
            self.m.line(f"%status = phi i32 {comes}")
            self.m.line(f"%nothing = insertvalue {self.made} poison, i32 %status, 0")
            self.m.line(f"ret {self.made} %nothing")

    # Parts

    def demand(self, condition: str, why: str = "Python", status: str = "") -> None:
        """Go on where a condition is true, which it mostly is; `why` not, where it is false."""
        self.failures.append((status or self.module.status_of(why), f"%{self.m.block}"))
        on = self.fresh()
        self.m.line(f"br i1 {condition}, label {on}, label %failed, {RARELY}")
        self.start(on)

    def count(self, work: int) -> None:
        self.demand(self.m.value(first_code.counted(work)), status=str(arena.SLOW))

    def round(self, op: For | While) -> None:
        self.count(1 + len(op.body.ops))

    # Operations

    def op(self, op: Op) -> None:
        if op.callee is not None:
            self.call(Call(op.callee, op.args, [op.out]))
        else:
            super().op(op)

    def call_back(self, op: CallBack) -> None:
        printed(self, op)

    def check(self, op: Check) -> None:
        if op not in self.early:
            self.demand(self.atom(op.condition), op.why)

    def routine(self, op: Routine) -> None:
        if op.name == "product":
            new, square = op in self.products, is_square(op.args)
            made = blas.product(type_of(op.args[3]), new, square)
            self.call(Call(made, op.args, []))
            return
        if op.name not in blas.NAMES:
            (inner_loops if op.name in inner_loops.NAMES else lapack).printed(self, op)
            return
        kind = next(type_of(x) for x in op.args if is_buffer(type_of(x)))

        def operand(type: str, k: int) -> str:
            x = op.args[k]
            if type == "ptr":
                return self.place(x, op.args[k + 1])
            return f"{type} {self.m.converted(self.lane(x), type).names[0]}"

        call, declared = blas.called(op.name, kind, operand)
        self.m.declared[declared] = None
        self.m.line(call)

    def end(self, block: Block) -> None:
        """The end of a block, where its buffers go if they can."""
        if self.lifetimes.ends_here(block):
            self.settle(block)
            for x in reversed(buffers_of(block)):
                self.m.line(f"call void @zyg_free(ptr %arena, ptr {self.known[x]})")

    def settle(self, block: Block) -> None:
        """What goes unsaid must not be read later than it is there."""
        if self.lifetimes.leaves_some(block):
            self.m.line('call void asm sideeffect "", "~{memory}"()')

    def marks(self, op: For | While) -> list[Any]:
        """Where rounds carry buffers on."""
        m, body, mark = self.m, op.body, Value("float[]")
        if not (moved := self.lifetimes.carried_on(body, op.params)):
            return []

        def rest() -> str:
            self.settle(body)
            for x in buffers_of(body):
                if x not in moved:
                    m.line(f"call void @zyg_forget(ptr %arena, ptr {self.known[x]})")
            first = to = m.value(f"call ptr @zyg_back(ptr %arena, ptr {self.known[mark]})")
            for x in moved:
                both = m.value(f"call {{ ptr, ptr }} @zyg_move(ptr {to}, ptr {self.known[x]})")
                self.known[x], to = (
                    m.value(f"extractvalue {{ ptr, ptr }} {both}, {k}") for k in (0, 1)
                )
            end = m.value(f"call ptr @zyg_rewind(ptr %arena, ptr {to})")
            none = m.value(f"icmp eq ptr {first}, null")
            return m.value(f"select i1 {none}, ptr {end}, ptr {self.known[mark]}")

        return [(mark, m.value("load ptr, ptr %arena"), rest)]

    def for_(self, op: For) -> None:
        if op in self.ways:
            self.loop(op, *self.counting(op, "add nsw i64 {}, {}"), self.ways[op])
        elif self.program not in self.module.rounds and (apart := threaded.apart(op)):
            threaded.printed(self, op, apart)
        elif op not in self.turned and (nest := interchanged.turned(op, self.places, self.same)):
            interchanged.printed(self, op, nest)
        elif lanes := self.in_lanes(op):
            lanes_text.printed(self, lanes)
        elif parts := self.distributed(op):
            for x in parts:
                gathering.printed(self, x) if isinstance(x, gathering.Gathered) else self.visit(x)
        elif (split := unswitched(op)) is None:
            self.counted(op)
        else:
            ops, condition, then, orelse = split
            self.run(Block(ops))
            self.twice(op, self.atom(condition), lambda yes: self.counted(then if yes else orelse))

    @cached_property
    def memory(self) -> Aliases:
        """Which buffers may be the same, by all calls of the function."""
        known: Aliases = self.module.memory
        if self.program in known.programs:
            return known
        return Aliases(self.program, apart=self.known_apart)

    def is_known(self, x: Atom) -> bool:
        """Whether a number can be had here."""
        return not isinstance(x, Value) or x in self.known

    def sizes_of(self, x: Value) -> Sequence[Atom]:
        """What multiplies to the number of elements of a buffer; nothing if that is not known."""
        return (self.sizes[x],) if x in self.sizes else self.program.sizes.get(x, ())

    def in_lanes(self, op: For) -> Lanes | None:
        """How a loop runs in lanes; None if it does not, or LLVM runs it in registers."""
        if self.plain:
            return None
        lanes = planned(op, self.same, self.tapes, self.is_apart)
        if lanes is None or any(isinstance(x, For) for x in op.body.ops):
            return lanes
        early = hoistable(op)
        loop, streams = postponed(op, early).loop, by_place(self.places.pairs(op))
        # A place that a loop adds to may be among others: then they are not told apart.
        among = any(x in streams and x.index not in lanes.varies for x in lanes.added)
        straight = not among and (not any(map(blocks_of, op.body.ops)) or unswitched(op))
        alone = self.distributed(op) or (straight and runs_in_registers(loop, early, streams))
        return None if alone else lanes

    def is_apart(self, loop: For, x: Value) -> bool:
        """Whether the rounds of a loop use a buffer each at places of its own."""
        if loop not in self.rounds_of:
            self.rounds_of[loop] = rounds_apart.Places(loop, blocks_around(self.body, loop))
        return self.rounds_of[loop].are_apart(x)

    def same(self, x: Value) -> Value:
        """What says which memory a buffer is."""
        return self.memory.of(x)

    def distributed(self, op: For) -> list[Any] | None:
        return distributed(op, self.places, self.same)

    def demand_index(self, _: Atom, end: Atom, step: Any) -> None:
        """Go on where the index of a loop does not wrap."""
        if abs(step) > 1:
            limit, how = (_LARGEST - step, "sle") if step > 0 else (-_LARGEST - step, "sge")
            self.demand(self.m.value(f"icmp {how} i64 {self.atom(end)}, {limit}"))

    def counted(self, op: For) -> None:
        self.demand_index(*op.span)
        early = hoistable(op)
        if early:
            check_early(self, op, early)
        late = postponed(op, early)
        pairs = self.places.pairs(op)
        best = extremum(late.loop)
        in_registers = runs_in_registers(late.loop, early, by_place(pairs), best)
        loop = late.loop if in_registers else op
        summed = (best or sums.summed(loop, self.same)) if in_registers else None
        self.m.own = self.module.own(self.m) if in_registers else None
        turned, together = loop, TO_THE_END if in_registers and self.around else ""
        if in_registers and turns(loop, self.places, self.same):
            ops, turned = forwards(loop)
            self.run(Block(ops))

        def run(one_by_one: bool, loop: For = turned) -> None:
            how = ONE_BY_ONE if one_by_one else together
            self.loop(loop, *self.counting(loop, "add nsw i64 {}, {}"), how)

        def by_length() -> None:
            if summed is not None:
                sums.printed(self, loop, summed, one_by_one=False)
            elif few := rounds_that_wait(loop, self.around, self.places):
                self.twice(loop, self.is_short(turned, few), run, first_code.FOR_SPEED)
            else:
                run(runs_one_by_one(loop))

        if pairs:

            def told_apart(yes: bool) -> None:
                if yes:
                    in_scopes(self, pairs, by_length)
                elif summed is not None:
                    sums.printed(self, loop, summed, one_by_one=True)
                else:
                    run(True, loop)

            self.twice(loop, told(self, loop, pairs), told_apart, first_code.FOR_SPEED)
        else:
            by_length()
        self.m.own = None
        if in_registers and late.hold:
            self.demand(self.atom(late.hold), late.why)

    def is_short(self, loop: For, few: int) -> str:
        """Whether a loop has fewer rounds."""
        first, end, step = map(self.atom, loop.span)
        count = self.m.value(f"sub i64 {end}, {first}")
        how = "slt" if int(step) > 0 else "sgt"
        return self.m.value(f"icmp {how} i64 {count}, {few * int(step)}")

    def twice(self, op: For, condition: str, run: Callable[[bool], None], why: str = "") -> None:
        """A loop printed twice: for where a condition is true, and for where it is not."""
        sides, early = [], self.early
        yes, no, after = self.fresh(), self.fresh(), self.fresh()
        self.m.line(f"br i1 {condition}, label {yes}, label {no}{why}")
        for start in (yes, no):
            self.early = {*early}
            self.start(start)
            run(start is yes)
            sides.append((f"%{self.m.block}", [self.known[x] for x in op.outs]))
            self.m.line(f"br label {after}")
        self.start(after)
        self.join(op.outs, *sides)
