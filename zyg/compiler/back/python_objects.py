"""LLVM text that reads and makes Python's objects, and NumPy's: those of known types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from zyg.compiler.back import symbols
from zyg.compiler.back.llvm_scalar import Scalars
from zyg.compiler.back.object_layout import Unreadable
from zyg.compiler.kinds import NARROW, Array, Scalar, dtype_of

PYTHON = {"float": float, "int": int, "bool": bool, "complex": complex}
LOADED = {"float": "double", "float32": "float", "int": "i64", "bool": "i8"}
_IS_NOT_ZERO = {"i64": "icmp ne i64 {}, 0", "float": "fcmp une float {}, 0.0",
                "double": "fcmp une double {}, 0.0"}  # fmt: skip
BOOLS = {True: (True, False), False: (np.True_, np.False_)}
_MAKERS = {
    "float": "PyFloat_FromDouble", "int": "PyLong_FromLongLong", "bool": "PyBool_FromLong",
    "complex": "PyComplex_FromDoubles",
}  # fmt: skip
_EQUAL = 2  # Py_EQ
_OF_C = {  # Python's functions
    "PyFloat_FromDouble": "ptr (double)", "PyComplex_FromDoubles": "ptr (double, double)",
    "PyLong_FromLongLong": "ptr (i64)", "PyBool_FromLong": "ptr (i64)",
    "PyLong_AsLongLongAndOverflow": "i64 (ptr, ptr)", "PyTuple_New": "ptr (i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)", "PyList_New": "ptr (i64)",
    "PyList_SetItem": "i32 (ptr, i64, ptr)", "Py_IncRef": "void (ptr)", "Py_DecRef": "void (ptr)",
    "Py_GetRecursionLimit": "i32 ()", "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)", "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
    "PyGILState_Ensure": "i32 ()", "PyGILState_Release": "void (i32)",
    "PyDict_New": "ptr ()", "PyDict_SetItem": "i32 (ptr, ptr, ptr)",
    "PyDict_Next": "i32 (ptr, ptr, ptr, ptr)", "PyObject_GenericGetDict": "ptr (ptr, ptr)",
    "PyDict_Size": "i64 (ptr)", "PyObject_RichCompareBool": "i32 (ptr, ptr, i32)",
    "PyErr_Fetch": "void (ptr, ptr, ptr)", "PyErr_NormalizeException": "void (ptr, ptr, ptr)",
}  # fmt: skip


class Objects:
    """Prints what is done with objects; it goes to "other" where one is of another kind, to
    "raised" where Python could not make one.
    """

    def __init__(self, declared: dict[str, None]) -> None:
        self.m = Scalars(declared)
        self.addresses: dict[str, int] = {}
        self.names: dict[str, str | None] = {}  # of what has the addresses: see `symbols`
        self.held: list[Any] = []  # what is known by its address

    def where(self, condition: str, do: Callable[[], Any]) -> None:
        """Do something where a condition is true, which it mostly is not."""
        then, after = self.m.name("b"), self.m.name("b")
        self.m.line(f"br i1 {condition}, label {then}, label {after}")
        self.m.start(then[1:])
        do()
        self.m.line(f"br label {after}")
        self.m.start(after[1:])

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

    def want_type(self, x: str, type: Any) -> None:
        self.want(self.m.value(f"icmp eq ptr {self.read('ptr', x, 8)}, {self.at(type)}"))

    def entries(self, x: str, keys: Sequence[Any]) -> list[str]:
        """The values in a dictionary, which is to have these keys, in this order."""
        m = self.m
        self.want(m.value(f"icmp eq i64 {self.called('PyDict_Size', f'ptr {x}')}, {len(keys)}"))
        place, slots, values = m.slot("i64"), [m.slot("ptr"), m.slot("ptr")], []
        m.line(f"store i64 0, ptr {place}")
        for wanted in keys:
            self.called("PyDict_Next", *(f"ptr {at}" for at in (x, place, *slots)))
            key, value = (m.value(f"load ptr, ptr {slot}") for slot in slots)
            self.want_type(key, type(wanted))
            same = f"ptr {key}", f"ptr {self.at(wanted)}", f"i32 {_EQUAL}"
            self.want(m.value(f"icmp eq i32 {self.called('PyObject_RichCompareBool', *same)}, 1"))
            values.append(value)
        return values

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
        x, of = numbers[0], LOADED.get(held, "double")
        if way.type == held or (way.type, held) == ("float", "complex"):
            return numbers[: 1 + (way.type == "complex")]
        if way.type == "bool":
            return [self.m.value(_IS_NOT_ZERO[of].format(x))]
        how = "fptosi" if way.type == "int" else "fpext" if held == "float32" else "fptrunc"
        return [self.m.value(f"{how} {of} {x} to {LOADED[way.type]}")]

    def number(self, kind: Scalar, numbers: Sequence[str]) -> str:
        m = self.m
        if kind.type == "bool":
            numbers = [m.value(f"zext i1 {numbers[0]} to {'i64' if kind.python else 'i8'}")]
        type = LOADED.get(kind.type, "i64" if kind.type in NARROW else "double")
        if kind.python:
            type = "i64" if kind.type == "bool" else type
            return self.called(_MAKERS[kind.type], *(f"{type} {x}" for x in numbers))
        slot = self.m.slot("[2 x double]")
        for k, x in enumerate(numbers):
            m.line(f"store {type} {x}, ptr {m.value(f'getelementptr double, ptr {slot}, i64 {k}')}")
        maker = self.known_by("scalar")
        return m.value(
            f"call ptr {maker}(ptr {slot}, ptr {self.at(dtype_of(kind.type))}, ptr null)"
        )

    def array(self, kind: Array, shape: Sequence[str]) -> tuple[str, str]:
        """A new array of a shape, and its size in bytes."""
        if kind.readonly:
            raise Unreadable(kind)
        m, dtype = self.m, dtype_of(kind.element)
        size, slot = str(dtype.itemsize), self.m.slot(f"[{kind.ndim} x i64]")
        steps = self.m.slot(f"[{kind.ndim} x i64]") if kind.ranks else "null"
        for k in reversed(kind.order):
            for row, n in ((slot, shape[k]), (steps, size)):
                if row != "null":
                    at = m.value(f"getelementptr i64, ptr {row}, i64 {k}")
                    m.line(f"store i64 {n}, ptr {at}")
            size = m.value(f"mul i64 {size}, {shape[k]}")
        if kind.zeros:
            made = m.value(
                f"call ptr {self.known_by('zeros')}(i32 {kind.ndim}, ptr {slot}, "
                f"ptr {self.known(dtype)}, i32 0)"
            )
        else:
            made = m.value(
                f"call ptr {self.known_by('new_array')}(ptr {self.at(np.ndarray)}, "
                f"i32 {kind.ndim}, ptr {slot}, i32 {dtype.num}, ptr {steps}, ptr null, i32 0, "
                "i32 0, ptr null)"
            )
        return self.made(made), size
