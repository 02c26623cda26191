"""Loops whose rounds run in several threads: LLVM text, and who calls it.

The body of such a loop becomes a program of its own, for one round; what it hands on is stored in
buffers, with a place for each round, and added up in order when all rounds are done. So no number
depends on the threads. Rounds have arenas of their own: of memory that is needed later the arena
of the call takes over the chunks.

A function of the text is called with a row of words, the depth of calls and what the rounds take
from outside, and the number of a round. Behind the row is an arena's header for each round, whose
last word is the status that it ended with.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from zyg.base import threads
from zyg.base.late import keep_for_later
from zyg.compiler.back import arena
from zyg.compiler.back.c_abi import loaded, result_type, spelled_out
from zyg.compiler.back.lifetimes import Lifetimes
from zyg.compiler.back.metadata import RARELY
from zyg.compiler.back.simd import literal
from zyg.compiler.builder import Builder
from zyg.compiler.ir import (
    Alloc,
    Block,
    Call,
    Check,
    For,
    If,
    Load,
    Op,
    Program,
    Routine,
    Store,
    Value,
    While,
    is_buffer,
    operations,
    outs_of,
)
from zyg.compiler.loops import WORTH_IT, trips
from zyg.compiler.splice import free_values

_ANYWHERE = Op, Alloc, Load, Store, Check, Call, Routine, If, For, While
_STOPPED, _DONE, _NOT_HERE = range(3)  # what becomes of rounds that are handed to threads


@dataclass(frozen=True)
class Threaded:
    """A loop apart: what is made before it, its rounds as a program, what adds them up.

    The inputs of the program are values around the loop, and the number of a round, of `count`.
    """

    before: list[Any]
    rounds: Program
    count: Any
    after: For
    keeps: bool  # memory that a round has made
    hands: bool  # such memory to what adds up
    fixed: dict[Value, Any]  # what the loop carries and does not change

    @property
    def made(self) -> list[Value]:
        return [op.out for op in self.before if isinstance(op, Alloc)]


def apart(loop: For) -> Threaded | None:
    """A loop whose rounds may run in threads, taken apart; None where they do more than that."""
    if loop.apart is None or not _runs_anywhere(loop.body):
        return None
    last = _last(loop)
    made = {x for op in operations(loop.body) for x in outs_of(op)} | {loop.index}
    made = made.difference(*map(outs_of, last))
    handed = [x for x in free_values(Block([*last], loop.body.yields)) if x in made]
    hands = any(is_buffer(x.type) for x in handed)
    late = (Op, For) if hands else (Op, For, Check)  # one that fails must not leave memory behind
    simple = all(isinstance(op, late) and getattr(op, "in_order", True) for op in last)
    return _taken_apart(loop, last, handed, hands) if simple else None


def _last(loop: For) -> list[Any]:
    """What of a round depends on what those before hand on: their sums, and loops in order."""
    carried = [p for p, y in zip(loop.params, loop.body.yields, strict=True) if y is not p]
    last, late = [], {*carried}
    for op in loop.body.ops:
        if getattr(op, "in_order", False) or not late.isdisjoint(free_values(Block([op]))):
            last.append(op)
            late.update(outs_of(op))
    return last


def _taken_apart(loop: For, last: list[Any], handed: list[Value], hands: bool) -> Threaded:
    """What a loop hands on goes into rows, with a place for each round."""
    to, k, again, ahead = Builder(), Value("int"), Value("int"), Value("int")
    start, _, step = loop.span
    count = trips(to, loop.span)
    ops: list[Any] = [Op("multiply", (k, step), ahead), Op("add", (start, ahead), loop.index)]
    ops += [op for op in loop.body.ops if op not in last]
    finish = Block([], loop.body.yields)
    for x in handed:
        row = to.alloc(x.type, count, zeroed=False)
        ops.append(Store(row, k, x))
        finish.ops.append(Load(row, again, x))
    finish.ops += last
    after = For(again, (0, count, 1), loop.init, loop.params, finish, loop.outs,
                in_turn=loop.in_turn)  # fmt: skip
    rows = zip(loop.params, loop.init, loop.body.yields, strict=True)
    fixed = {p: x for p, x, y in rows if y is p}
    rounds = Block(ops)
    inputs = [x for x in free_values(rounds) if x is not k]
    program = Program("rounds", [*inputs, k], rounds)
    return Threaded(
        to.block.ops, program, count, after, not Lifetimes().ends_here(loop.body), hands, fixed
    )


def _runs_anywhere(block: Block) -> bool:
    """Whether a block calls nothing that belongs to one thread."""
    seen: set[Program] = set()
    todo = [block]
    while todo:
        for op in operations(todo.pop()):
            if not isinstance(op, _ANYWHERE):
                return False
            if isinstance(op, Call) and op.callee not in seen:
                seen.add(op.callee)
                todo.append(op.callee.body)
    return True


def _are_apart(printer: Any, values: Sequence[Value]) -> bool:
    """Whether buffers among these surely share no memory."""
    known = {*printer.fresh_buffers, *(printer.program.inputs if printer.outer else ())}
    return known.issuperset(x for x in values if is_buffer(x.type))


# Text


def head_bytes(program: Program) -> int:
    """How long the row of words is: the depth of calls, and all inputs but the last."""
    return -(-8 * len(program.inputs) // arena.ALIGNMENT) * arena.ALIGNMENT


def function(program: Program, name: str, rounds: str) -> list[str]:
    """The function that is called for each round."""
    lines, given = loaded([x.type for x in program.inputs[:-1]], "%row", 1)
    made, body = result_type(program), "\n".join(lines)
    given = ["ptr %arena, i64 %depth", *given, "i64 %k"]
    text = f"""
define internal void {name}(ptr %row, i64 %k) noinline nounwind {{
  %headers = getelementptr i8, ptr %row, i64 {head_bytes(program)}
  %at = mul i64 %k, 64
  %arena = getelementptr i8, ptr %headers, i64 %at
  %depth = load i64, ptr %row
{body}
  %made = call {made} {rounds}({", ".join(given)})
  %status = extractvalue {made} %made, 0
  store i32 %status, ptr %arena+56
  ret void
}}"""
    return [spelled_out(text)]


TEXT = spelled_out(f"""
declare i32 @zyg_run_rounds(ptr, ptr, i64)

; All rounds, in threads or here; the status of the first that has failed.
define internal i32 @zyg_rounds(ptr %arena, ptr %round, ptr %row, ptr %headers, i64 %count, \
i1 %many) noinline nounwind {{
  %left = load i64, ptr %arena[5]
  br label %each
each:
  %k = phi i64 [ 0, %0 ], [ %k.next, %open ]
  br icmp slt i64 %k, %count, label %open, label %go
open:
  %at = mul i64 %k, 64
  %own = getelementptr i8, ptr %headers, i64 %at
  %end = getelementptr i8, ptr %own, i64 64
  call void @llvm.memset.p0.i64(ptr %own, i8 0, i64 64, i1 false)
  store ptr %end, ptr %own
  store ptr %end, ptr %own[1]
  store i64 2048, ptr %own[3]
  store i64 %left, ptr %own[5]
  %k.next = add i64 %k, 1
  br label %each
go:
  br i1 %many, label %threads, label %here
threads:
  %said = call i32 @zyg_run_rounds(ptr %round, ptr %row, i64 %count)
  switch i32 %said, label %look [ i32 {_STOPPED}, label %out i32 {_NOT_HERE}, label %here ]
out:
  ret i32 {arena.STOPPED}
here:
  %j = phi i64 [ 0, %go ], [ 0, %threads ], [ %j.next, %run ]
  br icmp slt i64 %j, %count, label %run, label %look
run:
  call void %round(ptr %row, i64 %j)
  %j.next = add i64 %j, 1
  br label %here
look:
  %i = phi i64 [ 0, %threads ], [ 0, %here ], [ %i.next, %next ]
  br icmp slt i64 %i, %count, label %one, label %well
one:
  %i.at = mul i64 %i, 64
  %its = getelementptr i8, ptr %headers, i64 %i.at
  %status = load i32, ptr %its+56
  br icmp eq i32 %status, 0, label %next, label %failed
next:
  %i.next = add i64 %i, 1
  br label %look
failed:
  %refused = load i64, ptr %its[6]
  store i64 %refused, ptr %arena[6]
  ret i32 %status
well:
  ret i32 0
}}

; The memory of all rounds goes.
define internal void @zyg_drop(ptr %headers, i64 %count) noinline nounwind {{
  br label %each
each:
  %k = phi i64 [ 0, %0 ], [ %k.next, %one ]
  br icmp slt i64 %k, %count, label %one, label %out
one:
  %at = mul i64 %k, 64
  %own = getelementptr i8, ptr %headers, i64 %at
  call void @zyg_release(ptr %own)
  %k.next = add i64 %k, 1
  br label %each
out:
  ret void
}}

; The memory of all rounds is the call's; false if that is too much.
define internal i1 @zyg_take_over(ptr %arena, ptr %headers, i64 %count) noinline nounwind {{
  %first.left = load i64, ptr %arena[5]
  br label %each
each:
  %k = phi i64 [ 0, %0 ], [ %k.next, %next ]
  br icmp slt i64 %k, %count, label %one, label %well
one:
  %at = mul i64 %k, 64
  %own = getelementptr i8, ptr %headers, i64 %at
  %head = load ptr, ptr %own[2]
  br icmp eq ptr %head, null, label %next, label %pay
pay:
  %own.left = load i64, ptr %own[5]
  %used = sub i64 %first.left, %own.left
  %left = load i64, ptr %arena[5]
  br icmp ugt i64 %used, %left, label %refuse, label %have
refuse:
  store i64 %used, ptr %arena[6]
  br label %out
have:
  %rest = sub i64 %left, %used
  store i64 %rest, ptr %arena[5]
  %now = load ptr, ptr %arena[2]
  br icmp eq ptr %now, null, label %grow, label %find
grow:
  %grown = call i1 @zyg_grow(ptr %arena, i64 64)
  br i1 %grown, label %find, label %out
find:
  %chunk = phi ptr [ %head, %have ], [ %head, %grow ], [ %before, %find ]
  %before = load ptr, ptr %chunk
  br icmp eq ptr %before, null, label %link, label %find
link:
  %current = load ptr, ptr %arena[2]
  %older = load ptr, ptr %current
  store ptr %older, ptr %chunk
  store ptr %head, ptr %current
  store ptr null, ptr %own[2]
  br label %next
next:
  %k.next = add i64 %k, 1
  br label %each
well:
  ret i1 true
out:
  call void @zyg_drop(ptr %headers, i64 %count)
  ret i1 false
}}
""")


def printed(printer: Any, op: For, loop: Threaded) -> None:
    """Print a loop whose rounds may run in threads; `printer` is that of the function around it."""
    m, known, (*inputs, _) = printer.m, printer.known, loop.rounds.inputs
    printer.run(Block(loop.before))
    known.update((p, printer.atom(x, p.type)) for p, x in loop.fixed.items())
    count, head = printer.atom(loop.count), head_bytes(loop.rounds)
    bytes_ = m.value(f"add i64 {m.value(f'mul i64 {count}, 64')}, {head}")
    row = m.value(f"call ptr @zyg_allocate(ptr %arena, i64 {bytes_})")
    printer.demand(m.value(f"icmp ne ptr {row}, null"), status=str(arena.NO_MEMORY))
    m.line(f"store i64 %depth, ptr {row}")
    for k, x in enumerate(inputs, 1):
        to = m.value(f"getelementptr i64, ptr {row}, i64 {k}")
        m.line(f"store {printer.word(x)}, ptr {to}")
    name = printer.module.function_of_rounds(loop.rounds, _are_apart(printer, inputs))
    headers = f"ptr {m.value(f'getelementptr i8, ptr {row}, i64 {head}')}, i64 {count}"
    work, least = printer.typed(op.work, "float"), literal("double", WORTH_IT)
    many = f"i1 {m.value(f'fcmp oge {work}, {least}')}"
    status = m.value(f"call i32 @zyg_rounds(ptr %arena, ptr {name}, ptr {row}, {headers}, {many})")
    well, failed = printer.fresh(), printer.fresh()
    m.line(f"br i1 {m.value(f'icmp eq i32 {status}, 0')}, label {well}, label {failed}, {RARELY}")
    printer.start(failed)
    m.line(f"call void @zyg_drop({headers})")
    printer.failures.append((status, failed))
    m.line("br label %failed")
    printer.start(well)
    if loop.hands:  # then it demands nothing
        printer.for_(loop.after)
    if loop.keeps:
        taken = m.value(f"call i1 @zyg_take_over(ptr %arena, {headers})")
        printer.demand(taken, status=str(arena.NO_MEMORY))
    else:
        m.line(f"call void @zyg_drop({headers})")
    if not loop.hands:
        printer.for_(loop.after)
    for x in (row, *(known[x] for x in reversed(loop.made))):
        m.line(f"call void @zyg_free(ptr %arena, ptr {x})")


# Threads

_ROUND = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
_RUNNER = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


def _run(address: int, row: int, count: int) -> int:
    """Run rounds in threads."""
    try:
        workers = threads.workers()
        if workers < 2:
            return _NOT_HERE
        one = _ROUND(address)

        def work(k: int) -> bool:
            one(row, k)
            return True

        threads.in_parallel(work, count, workers)
    except BaseException as error:  # an interrupt, for one
        keep_for_later(error)
        return _STOPPED
    return _DONE


@cache
def _runner() -> Any:
    return _RUNNER(_run)


def addresses() -> dict[str, int]:
    """What the text calls."""
    return {"zyg_run_rounds": ctypes.cast(_runner(), ctypes.c_void_p).value or 0}
