"""LLVM text of a function of Python's objects: it reads arguments and makes results by itself.

``object @kernel(self, arguments, count)`` is called by the interpreter, as functions of C with
METH_FASTCALL are. It reads numbers, and arrays of NumPy's that are contiguous, where CPython and
NumPy keep them; it answers NotImplemented to arguments of other kinds, and Ellipsis where the
program has stopped, with what it wrote to its arguments put back. Python's way goes on from there.
During a call that may be long other threads run.

Arrays among the results whose shapes the arguments say are made before the call, and the program
has their memory for the buffers that they are to be.

The addresses of types, of functions of NumPy's, and of what is known by itself are not in the text:
it has names for them, which `Entry.addresses` has.
"""

from __future__ import annotations

from collections.abc import Sequence

from zyg.compiler.back import arena, first_code, object_layout
from zyg.compiler.back.c_abi import result_type
from zyg.compiler.back.llvm_functions import Module
from zyg.compiler.back.object_kinds import Kinds
from zyg.compiler.ir import Alloc, Value
from zyg.compiler.kinds import NARROW, Array, Kind, leaves, width

_LONG, _LONG_BYTES = 2048, 1 << 14  # an int or a length, an array: with these a call may be long


def ending(module: Module) -> str:
    """What ends a call: what is kept for it in Python is let go."""
    name, head = "@zyg_end_of_call(ptr", "define internal void @zyg_end(ptr %arena) alwaysinline"
    if not any(called.keeps for called in module.called):
        return f"{head} {{ ret void }}\n"
    return f"declare void {name})\n{head} {{ call void {name} %arena) ret void }}\n"


class Entry(Kinds):
    """Prints the function for a program whose parameters and whose result are of these kinds.

    `writes` are the inputs that are buffers of arguments, and written to; `tapes` says whether
    memory is limited. Outputs that are to be `apart` are memory of no argument, nor of each other.
    """

    def __init__(
        self, module: Module, takes: Sequence[Kind], gives: Kind, writes: Sequence[int],
        tapes: bool, apart: Sequence[int] = (),
    ) -> None:  # fmt: skip
        super().__init__(module.declared)
        self.writes, self.tapes = writes, tapes
        self.separate = apart
        self.first: dict[int, tuple[str, str, str]] = {}  # by output: first byte, size, array
        body = self.body(module, takes, gives)
        self.lines = [
            "define ptr @kernel(ptr %self, ptr %arguments, i64 %count) nounwind {", "start:",
            f"  %arena = alloca [{arena.BYTES} x i8], align {arena.ALIGNMENT}",
            *self.m.slots, *body, "}",
        ]  # fmt: skip

    def body(self, module: Module, takes: Sequence[Kind], gives: Kind) -> list[str]:
        m, made = self.m, result_type(module.program)
        m.start("start")
        m.lines.clear()
        m.line("call void @zyg_open(ptr %arena)")
        left = str(arena.UNLIMITED)
        if self.tapes:
            left = m.value(f"load i64, ptr {self.known_by('least_tape')}")
        m.line(f"{(at := m.name())} = getelementptr i8, ptr %arena, i64 {arena.LEFT}")
        m.line(f"store i64 {left}, ptr {at}")
        self.want(m.value(f"icmp eq i64 %count, {len(takes)}"))
        for k, kind in enumerate(takes):
            self.take(kind, self.read("ptr", "%arguments", 8 * k))
        self.apart()
        copies = self.saved()
        self.made_first(module, gives)
        given = ["ptr %arena", f"i64 {self.depth()}", *self.inputs]
        given += [f"ptr {data}, i64 {size}" for data, size, _ in self.first.values()]
        thread = self.let_others()
        y = m.value(f"call {made} {module.main}({', '.join(given)})")
        self.back(thread)
        status = m.value(f"extractvalue {made} {y}, 0")
        m.line(f"{(well := m.name())} = icmp eq i32 {status}, 0")
        m.line(f"br i1 {well}, label %well, label %stopped, !prof !0")
        m.start("well")
        outputs = [
            m.value(f"extractvalue {made} {y}, {k + 1}") for k in range(len(module.program.outputs))
        ]
        self.placed = {outputs[k]: row for k, row in self.first.items()}
        self.want_separate([outputs[k] for k in self.separate])
        self.leave(self.give(gives, iter(outputs)))
        m.start("stopped")
        self.stop(status, copies)
        m.start("other")
        self.leave(self.known(NotImplemented))
        m.start("raised")
        self.leave("null")
        return m.lines

    def stop(self, status: str, copies: Sequence[tuple[str, str, str]]) -> None:
        """The end where the program has stopped: by final code, if this is the first."""
        m = self.m
        for place, copy, size in copies:
            self.copy(place, copy, size)
        for _, _, array in self.first.values():
            self.called("Py_DecRef", f"ptr {array}")
        m.line(f"br i1 {m.value(first_code.left(status))}, label %later, label %ended")
        m.start("later")
        m.line("call void @zyg_release(ptr %arena)")
        later = f"ptr {self.known_by('later')}, ptr %arguments, i64 %count, ptr null"
        m.line(f"ret ptr {self.called('PyObject_Vectorcall', later)}")
        m.start("ended")
        self.leave(self.known(Ellipsis))

    # The lock of the interpreter

    def let_others(self) -> str | None:
        """Let other threads run during a call that may be long; what they are called back by.

        The arrays stay, whatever becomes of what they are in.
        """
        m, most = self.m, "false"
        sizes = [(size, _LONG_BYTES) for _, size, _ in self.arrays]
        sizes += [(x[4:], _LONG) for x in self.inputs if x.startswith("i64 ")]
        for x, least in sizes:
            more = m.value(f"icmp uge i64 {x}, {least}")
            most = m.value(f"or i1 {most}, {more}")
        if not sizes:
            return None
        thread = self.m.slot("ptr")
        m.line(f"store ptr null, ptr {thread}")

        def let() -> None:
            for x in self.objects.values():
                self.called("Py_IncRef", f"ptr {x}")
            m.line(f"store ptr {self.called('PyEval_SaveThread')}, ptr {thread}")

        self.where(most, let)
        return thread

    def back(self, thread: str | None) -> None:
        """Go on when it is this thread's turn again, if others were let run."""
        if thread is not None:
            x = self.m.value(f"load ptr, ptr {thread}")
            others = self.m.value(f"icmp ne ptr {x}, null")

            def on() -> None:
                self.called("PyEval_RestoreThread", f"ptr {x}")
                for array in self.objects.values():
                    self.called("Py_DecRef", f"ptr {array}")

            self.where(others, on)

    # Parts

    def leave(self, result: str) -> None:
        self.m.line("call void @zyg_end(ptr %arena)")
        self.m.line("call void @zyg_release(ptr %arena)")
        self.m.line(f"ret ptr {result}")

    def depth(self) -> str:
        """How deep calls may go."""
        self.m.declared["declare i32 @llvm.smin.i32(i32, i32)"] = None
        limit = f"i32 {self.called('Py_GetRecursionLimit')}, i32 {arena.DEEPEST}"
        return self.m.value(f"sext i32 {self.m.value(f'call i32 @llvm.smin.i32({limit})')} to i64")

    def apart(self) -> None:
        """Go on where no array that is written to shares memory with another."""
        m = self.m
        ends = [m.value(f"getelementptr i8, ptr {x}, i64 {size}") for x, size, _ in self.arrays]
        for k, (x, _, written) in enumerate(self.arrays):
            for j, (y, _, too) in enumerate(self.arrays[:k]):
                if written or too:
                    after = m.value(f"icmp ule ptr {ends[j]}, {x}")
                    before = m.value(f"icmp ule ptr {ends[k]}, {y}")
                    self.want(m.value(f"or i1 {after}, {before}"))

    def saved(self) -> list[tuple[str, str, str]]:
        """What is written to, with a copy and the size of that."""
        copies = []
        for x, size, written in self.arrays:
            if written:
                copy = self.m.value(f"call ptr @zyg_allocate(ptr %arena, i64 {size})")
                self.want(self.m.value(f"icmp ne ptr {copy}, null"))
                self.copy(copy, x, size)
                copies.append((x, copy, size))
        return copies

    # The result

    def want_separate(self, results: Sequence[str]) -> None:
        """Go on where no result is in memory of an argument, or of another result."""
        found = [x for x, _, _ in self.arrays]
        for result in results:
            for x in found:
                self.want(self.m.value(f"icmp ne ptr {result}, {x}"), "stopped")
            found.append(result)

    def made_first(self, module: Module, gives: Kind) -> None:
        """Make those arrays among the results of which a shape is known."""
        program = module.program
        known = dict(zip(program.inputs, self.inputs, strict=True))
        fresh = {op.out for op in program.body.ops if isinstance(op, Alloc)}
        arrays = [(k, x) for k, x in leaves(gives) if isinstance(x, Array)]
        for k, kind in arrays:
            buffer, *shape = program.outputs[k : k + width(kind)]
            is_known = all(isinstance(n, int) or n in known for n in shape)
            if buffer not in fresh or not is_known or kind.element in NARROW:
                continue
            fresh -= {buffer}
            dims = [known[n][4:] if isinstance(n, Value) else str(n) for n in shape]
            array, size = self.array(kind, dims)
            self.first[k] = self.read("ptr", array, object_layout.DATA), size, array
        module.placed = [program.outputs[k] for k in self.first]
