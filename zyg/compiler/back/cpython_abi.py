"""LLVM text of a function of Python's objects: it reads arguments and makes results by itself.

``object @kernel(self, arguments, count)`` is called by the interpreter, as functions of C with
METH_FASTCALL are. It reads numbers, and arrays of NumPy's that are contiguous, where CPython and
NumPy keep them; it answers NotImplemented to arguments of other kinds, and Ellipsis where the
program has stopped, with what it wrote to its arguments put back. Python's way goes on from there.
During a call that may be long other threads run.

The addresses of types, of functions of NumPy's, and of what is known by itself are not in the text:
it has names for them, which `Entry.addresses` has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from zyg.compiler.back import arena, first_code, object_layout, symbols
from zyg.compiler.back.c_abi import result_type
from zyg.compiler.back.llvm_functions import Module
from zyg.compiler.back.llvm_scalar import Scalars
from zyg.compiler.back.object_layout import Unreadable
from zyg.compiler.kinds import DTYPES, Array, Kind, Scalar, Static, Struct

_PYTHON = {"float": float, "int": int, "bool": bool, "complex": complex}
_LOADED = {"float": "double", "float32": "float", "int": "i64", "bool": "i8"}
_IS_NOT_ZERO = {"i64": "icmp ne i64 {}, 0", "float": "fcmp une float {}, 0.0",
                "double": "fcmp une double {}, 0.0"}  # fmt: skip
_BOOLS = {True: (True, False), False: (np.True_, np.False_)}
_MAKERS = {
    "float": "PyFloat_FromDouble", "int": "PyLong_FromLongLong", "bool": "PyBool_FromLong",
    "complex": "PyComplex_FromDoubles",
}  # fmt: skip
_OF_C = {  # Python's functions
    "PyFloat_FromDouble": "ptr (double)", "PyComplex_FromDoubles": "ptr (double, double)",
    "PyLong_FromLongLong": "ptr (i64)", "PyBool_FromLong": "ptr (i64)",
    "PyLong_AsLongLongAndOverflow": "i64 (ptr, ptr)", "PyTuple_New": "ptr (i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)", "PyList_New": "ptr (i64)",
    "PyList_SetItem": "i32 (ptr, i64, ptr)", "Py_IncRef": "void (ptr)", "Py_DecRef": "void (ptr)",
    "Py_GetRecursionLimit": "i32 ()", "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)", "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
}  # fmt: skip


_LONG, _LONG_BYTES = 2048, 1 << 14  # an int or a length, an array: with these a call may be long


def _has_list(kind: Struct) -> bool:
    parts = [part for part in kind.parts if isinstance(part, Struct)]
    return kind.type is list or any(map(_has_list, parts))


class Entry:
    """Prints the function for a program whose parameters and whose result are of these kinds.

    `writes` are the inputs that are buffers of arguments, and written to; `tapes` says whether
    memory is limited. Outputs that are to be `apart` are memory of no argument, nor of each other.
    """

    def __init__(
        self, module: Module, takes: Sequence[Kind], gives: Kind, writes: Sequence[int],
        tapes: bool, apart: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self.m = Scalars(module.declared)
        self.addresses: dict[str, int] = {}
        self.names: dict[str, str | None] = {}  # of what has the addresses: see `symbols`
        self.held: list[Any] = []  # what is known by its address
        self.writes, self.tapes = writes, tapes
        self.separate = apart
        self.objects: dict[int, str] = {}  # arrays, by the places of their buffers
        self.arrays: list[tuple[str, str, bool]] = []  # first byte, size, written
        self.inputs: list[str] = []
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
        given = ["ptr %arena", f"i64 {self.depth()}", *self.inputs]
        thread = self.let_others(takes)
        y = m.value(f"call {made} {module.main}({', '.join(given)})")
        self.back(thread)
        status = m.value(f"extractvalue {made} {y}, 0")
        m.line(f"{(well := m.name())} = icmp eq i32 {status}, 0")
        m.line(f"br i1 {well}, label %well, label %stopped, !prof !0")
        m.start("well")
        outputs = [
            m.value(f"extractvalue {made} {y}, {k + 1}") for k in range(len(module.program.outputs))
        ]
        self.want_separate([outputs[k] for k in self.separate])
        self.leave(self.give(gives, iter(outputs)))
        m.start("stopped")
        for place, copy, size in copies:
            self.copy(place, copy, size)
        self.stop(status)
        m.start("other")
        self.leave(self.known(NotImplemented))
        m.start("raised")
        self.leave("null")
        return m.lines

    def stop(self, status: str) -> None:
        """The end where the program has stopped: by final code, if this is the first."""
        m = self.m
        m.line(f"br i1 {m.value(first_code.left(status))}, label %later, label %ended")
        m.start("later")
        m.line("call void @zyg_release(ptr %arena)")
        later = f"ptr {self.known_by('later')}, ptr %arguments, i64 %count, ptr null"
        m.line(f"ret ptr {self.called('PyObject_Vectorcall', later)}")
        m.start("ended")
        self.leave(self.known(Ellipsis))

    # The lock of the interpreter

    def let_others(self, takes: Sequence[Kind]) -> str | None:
        """Let other threads run during a call that may be long; what they are called back by.

        Not where a list has arrays, which others could change.
        """
        if any(isinstance(kind, Struct) and _has_list(kind) for kind in takes):
            return None
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
        self.where(most, lambda: m.line(
            f"store ptr {self.called('PyEval_SaveThread')}, ptr {thread}"
        ))  # fmt: skip
        return thread

    def back(self, thread: str | None) -> None:
        """Go on when it is this thread's turn again, if others were let run."""
        if thread is not None:
            x = self.m.value(f"load ptr, ptr {thread}")
            others = self.m.value(f"icmp ne ptr {x}, null")
            self.where(others, lambda: self.called("PyEval_RestoreThread", f"ptr {x}"))

    def where(self, condition: str, do: Callable[[], Any]) -> None:
        """Do something where a condition is true, which it mostly is not."""
        then, after = self.m.name("b"), self.m.name("b")
        self.m.line(f"br i1 {condition}, label {then}, label {after}")
        self.m.start(then[1:])
        do()
        self.m.line(f"br label {after}")
        self.m.start(after[1:])

    # Parts

    def leave(self, result: str) -> None:
        self.m.line("call void @zyg_release(ptr %arena)")
        self.m.line(f"ret ptr {result}")

    def want(self, condition: str, otherwise: str = "other") -> None:
        """Go on where a condition is true."""
        on = self.m.name("b")
        self.m.line(f"br i1 {condition}, label {on}, label %{otherwise}, !prof !0")
        self.m.start(on[1:])

    def read(self, type: str, object: str, place: int) -> str:
        at = self.m.value(f"getelementptr i8, ptr {object}, i64 {place}")
        return self.m.value(f"load {type}, ptr {at}")

    def at(self, x: Any) -> str:
        """The symbol of an object, which is held."""
        return self.symbol(f"object{len(self.held)}", id(x), x, symbols.name_of(x))

    def known_by(self, name: str) -> str:
        """The symbol of what has a name."""
        return self.symbol(name, *symbols.found(name), name)

    def symbol(self, symbol: str, address: int, held: Any, name: str | None) -> str:
        known = {at: symbol for symbol, at in self.addresses.items()}
        if address not in known:
            self.addresses[known.setdefault(address, f"zyg_{symbol}")] = address
            self.names[known[address]] = name
            self.held.append(held)
            self.m.declared[f"@{known[address]} = external global i8"] = None
        return f"@{known[address]}"

    def called(self, name: str, *args: str) -> str:
        out, _, types = _OF_C[name].partition(" ")
        self.m.declared[f"declare {out} @{name}{types}"] = None
        call = f"call {out} @{name}({', '.join(args)})"
        if out == "void":
            self.m.line(call)
            return ""
        return self.m.value(call)

    def made(self, object: str) -> str:
        self.want(self.m.value(f"icmp ne ptr {object}, null"), "raised")
        return object

    def known(self, x: Any) -> str:
        """A reference to an object that is known."""
        self.called("Py_IncRef", f"ptr {self.at(x)}")
        return self.at(x)

    def copy(self, to: str, of: str, size: str) -> None:
        self.m.declared["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"] = None
        self.m.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {of}, i64 {size}, i1 false)")

    def depth(self) -> str:
        """How deep calls may go."""
        self.m.declared["declare i32 @llvm.smin.i32(i32, i32)"] = None
        limit = f"i32 {self.called('Py_GetRecursionLimit')}, i32 {arena.DEEPEST}"
        return self.m.value(f"sext i32 {self.m.value(f'call i32 @llvm.smin.i32({limit})')} to i64")

    # Arguments

    def take(self, kind: Kind, x: str) -> None:
        """Read an object of a kind: the operands that it brings."""
        if isinstance(kind, Static):
            self.want(self.m.value(f"icmp eq ptr {x}, {self.at(kind.value)}"))
        elif isinstance(kind, Array):
            self.take_array(kind, x)
        elif isinstance(kind, Scalar):
            own = _PYTHON.get(kind.type) if kind.python else DTYPES[kind.type].type
            if own is not bool:
                self.want_type(x, own)
            self.take_number(kind, x)
        elif isinstance(kind, Struct) and kind.type in (tuple, list):
            self.want_type(x, kind.type)
            self.want(self.m.value(f"icmp eq i64 {self.read('i64', x, 16)}, {len(kind.parts)}"))
            items = self.read("ptr", x, 24) if kind.type is list else x
            for k, part in enumerate(kind.parts):
                self.take(part, self.read("ptr", items, 8 * k + 24 * (kind.type is tuple)))
        else:
            raise Unreadable(kind)

    def want_type(self, x: str, type: Any) -> None:
        self.want(self.m.value(f"icmp eq ptr {self.read('ptr', x, 8)}, {self.at(type)}"))

    def take_number(self, kind: Scalar, x: str) -> None:
        m = self.m
        if kind.type == "complex":
            self.inputs += [f"double {self.read('double', x, place)}" for place in (16, 24)]
        elif kind.type == "bool":
            true, false = (m.value(f"icmp eq ptr {x}, {self.at(y)}")
                           for y in _BOOLS[kind.python])  # fmt: skip
            self.want(m.value(f"or i1 {true}, {false}"))
            self.inputs.append(f"i1 {true}")
        elif kind.type == "int" and kind.python:
            over = self.m.slot("i32")
            n = self.called("PyLong_AsLongLongAndOverflow", f"ptr {x}", f"ptr {over}")
            self.want(m.value(f"icmp eq i32 {m.value(f'load i32, ptr {over}')}, 0"))
            self.inputs.append(f"i64 {n}")
        else:
            type = _LOADED[kind.type]
            self.inputs.append(f"{type} {self.read(type, x, object_layout.HEAD)}")

    def take_array(self, kind: Array, x: str) -> None:
        m, written = self.m, len(self.inputs) in self.writes
        self.want_type(x, np.ndarray)
        self.want(m.value(f"icmp eq i32 {self.read('i32', x, object_layout.NDIM)}, {kind.ndim}"))
        dtype = DTYPES[kind.element]
        self.want(
            m.value(f"icmp eq ptr {self.read('ptr', x, object_layout.DESCR)}, {self.at(dtype)}")
        )
        in_c = 0 if kind.ranks else object_layout.CONTIGUOUS
        wanted = in_c | object_layout.ALIGNED | (object_layout.WRITEABLE if written else 0)
        flags = m.value(f"and i32 {self.read('i32', x, object_layout.FLAGS)}, {wanted}")
        self.want(m.value(f"icmp eq i32 {flags}, {wanted}"))
        self.objects[len(self.inputs)] = x
        data, size = self.read("ptr", x, object_layout.DATA), str(dtype.itemsize)
        shape = self.read("ptr", x, object_layout.SHAPE)
        self.inputs.append(f"ptr {data}")
        for k in range(kind.ndim):
            n = self.read("i64", shape, 8 * k)
            self.want(m.value(f"icmp {'eq' if k in kind.ones else 'ne'} i64 {n}, 1"))
            self.inputs.append(f"i64 {n}")
        strides = self.read("ptr", x, object_layout.STRIDES) if kind.ranks else ""
        for k in reversed(kind.order):
            if kind.ranks and k not in kind.ones:
                step = self.read("i64", strides, 8 * k)
                self.want(m.value(f"icmp eq i64 {step}, {size}"))
            size = m.value(f"mul i64 {size}, {self.inputs[k - kind.ndim].removeprefix('i64 ')}")
        self.arrays.append((data, size, written))

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

    def give(self, kind: Kind, outputs: Iterator[str]) -> str:
        """A reference to an object made of the next outputs."""
        if isinstance(kind, Static):
            return self.known(kind.value)
        if isinstance(kind, Array) and kind.same is not None:
            for _ in range(1 + kind.ndim):
                next(outputs)
            self.called("Py_IncRef", f"ptr {self.objects[kind.same]}")
            return self.objects[kind.same]
        if isinstance(kind, Array):
            return self.give_array(kind, outputs)
        if isinstance(kind, Scalar):
            return self.made(self.give_number(kind, outputs))
        if not isinstance(kind, Struct) or kind.type not in (tuple, list):
            raise Unreadable(kind)
        name = "PyTuple" if kind.type is tuple else "PyList"
        parts = [self.give(part, outputs) for part in kind.parts]
        made = self.made(self.called(f"{name}_New", f"i64 {len(parts)}"))
        for k, part in enumerate(parts):
            self.called(f"{name}_SetItem", f"ptr {made}", f"i64 {k}", f"ptr {part}")
        return made

    def give_number(self, kind: Scalar, outputs: Iterator[str]) -> str:
        """A number, of the kind that it is of."""
        numbers = [next(outputs) for _ in range(1 + (kind.type == "complex"))]
        if not kind.ways:
            return self.number(kind, numbers)
        m, place, end = self.m, self.m.slot("ptr"), self.m.name("b")
        for way in (*kind.ways, None):
            after, then = m.name("b"), m.name("b")
            if way:
                m.line(f"br i1 {next(outputs)}, label {then}, label {after}")
                m.start(then[1:])
            made = self.number(way or kind, self.as_way(kind.type, way or kind, numbers))
            m.line(f"store ptr {made}, ptr {place}")
            m.line(f"br label {end}")
            m.start(after[1:] if way else end[1:])
        return m.value(f"load ptr, ptr {place}")

    def as_way(self, held: str, way: Scalar, numbers: Sequence[str]) -> Sequence[str]:
        """A number of one type as one of another that has a place for it."""
        x, of = numbers[0], _LOADED.get(held, "double")
        if way.type == held or (way.type, held) == ("float", "complex"):
            return numbers[: 1 + (way.type == "complex")]
        if way.type == "bool":
            return [self.m.value(_IS_NOT_ZERO[of].format(x))]
        how = "fptosi" if way.type == "int" else "fpext" if held == "float32" else "fptrunc"
        return [self.m.value(f"{how} {of} {x} to {_LOADED[way.type]}")]

    def number(self, kind: Scalar, numbers: Sequence[str]) -> str:
        m = self.m
        if kind.type == "bool":
            numbers = [m.value(f"zext i1 {numbers[0]} to {'i64' if kind.python else 'i8'}")]
        type = _LOADED.get(kind.type, "double")
        if kind.python:
            type = "i64" if kind.type == "bool" else type
            return self.called(_MAKERS[kind.type], *(f"{type} {x}" for x in numbers))
        slot = self.m.slot("[2 x double]")
        for k, x in enumerate(numbers):
            m.line(f"store {type} {x}, ptr {m.value(f'getelementptr double, ptr {slot}, i64 {k}')}")
        maker = self.known_by("scalar")
        return m.value(f"call ptr {maker}(ptr {slot}, ptr {self.at(DTYPES[kind.type])}, ptr null)")

    def give_array(self, kind: Array, outputs: Iterator[str]) -> str:
        if kind.readonly:
            raise Unreadable(kind)
        m, dtype = self.m, DTYPES[kind.element]
        data = "" if kind.zeros else next(outputs)
        size, slot = str(dtype.itemsize), self.m.slot(f"[{kind.ndim} x i64]")
        steps = self.m.slot(f"[{kind.ndim} x i64]") if kind.ranks else "null"
        shape = [next(outputs) for _ in range(kind.ndim)]
        for k in reversed(kind.order):
            for row, n in ((slot, shape[k]), (steps, size)):
                if row != "null":
                    at = m.value(f"getelementptr i64, ptr {row}, i64 {k}")
                    m.line(f"store i64 {n}, ptr {at}")
            size = m.value(f"mul i64 {size}, {shape[k]}")
        if kind.zeros:
            return self.made(m.value(
                f"call ptr {self.known_by('zeros')}(i32 {kind.ndim}, ptr {slot}, "
                f"ptr {self.known(dtype)}, i32 0)"
            ))  # fmt: skip
        made = self.made(m.value(
            f"call ptr {self.known_by('new_array')}(ptr {self.at(np.ndarray)}, "
            f"i32 {kind.ndim}, ptr {slot}, i32 {dtype.num}, ptr {steps}, ptr null, i32 0, i32 0, "
            "ptr null)"
        ))  # fmt: skip
        self.copy(self.read("ptr", made, object_layout.DATA), data, size)
        return made
