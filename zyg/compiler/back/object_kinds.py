"""LLVM text that takes objects of kinds apart, and makes such of operands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from zyg.base.bags import Tangent
from zyg.compiler.back import narrow_ints, object_layout
from zyg.compiler.back.object_layout import Unreadable, has_dict
from zyg.compiler.back.python_objects import BOOLS, LOADED, PYTHON, Objects
from zyg.compiler.kinds import NARROW, Array, Kind, Many, Scalar, Static, Struct, dtype_of


class Kinds(Objects):
    """Prints how objects bring `inputs`, and are made of outputs."""

    tells_ones = True  # whether an extent of 1 is a kind of its own

    def __init__(self, declared: dict[str, None]) -> None:
        super().__init__(declared)
        self.writes: Sequence[int] = ()  # the inputs that are buffers of arguments, and written to
        self.objects: dict[int, str] = {}  # arrays, by the places of their buffers
        self.arrays: list[tuple[str, str, bool]] = []  # first byte, size, written
        self.inputs: list[str] = []
        # By what an output is: first byte, size and array of what is there for it.
        self.placed: dict[str, tuple[str, str, str]] = {}

    def take(self, kind: Kind, x: str) -> None:
        """Read an object of a kind: the operands that it brings."""
        if isinstance(kind, Static):
            self.want(self.m.value(f"icmp eq ptr {x}, {self.at(kind.value)}"))
        elif isinstance(kind, Array):
            self.take_array(kind, x)
        elif isinstance(kind, Scalar):
            own = PYTHON.get(kind.type) if kind.python else dtype_of(kind.type).type
            if own is not bool:
                self.want_type(x, own)
            self.take_number(kind, x)
        else:
            self.want_type(x, kind.type)
            for part, item in zip(kind.parts, self.parts(kind, x), strict=True):
                self.take(part, item)

    def parts(self, kind: Struct, x: str) -> list[str]:
        """What is in a container."""
        if kind.type is dict:
            return self.entries(x, kind.keys)
        if not (kind.type is list or issubclass(kind.type, tuple)):
            if not has_dict(kind.type):
                raise Unreadable(kind)
            fields = self.made(self.called("PyObject_GenericGetDict", f"ptr {x}", "ptr null"))
            self.called("Py_DecRef", f"ptr {fields}")  # the object has it
            return self.entries(fields, kind.keys)
        size = self.read("i64", x, object_layout.HEAD)
        self.want(self.m.value(f"icmp eq i64 {size}, {len(kind.parts)}"))
        is_list = kind.type is list
        items = self.read("ptr", x, object_layout.LIST) if is_list else x
        first = 0 if is_list else object_layout.ITEMS
        return [self.read("ptr", items, 8 * k + first) for k in range(len(kind.parts))]

    def take_number(self, kind: Scalar, x: str) -> None:
        m = self.m
        if kind.type == "complex":
            self.inputs += [f"double {self.read('double', x, place)}" for place in (16, 24)]
        elif kind.type == "bool":
            true, false = (m.value(f"icmp eq ptr {x}, {self.at(y)}")
                           for y in BOOLS[kind.python])  # fmt: skip
            self.want(m.value(f"or i1 {true}, {false}"))
            self.inputs.append(f"i1 {true}")
        elif kind.type == "int" and kind.python:
            over = self.m.slot("i32")
            n = self.called("PyLong_AsLongLongAndOverflow", f"ptr {x}", f"ptr {over}")
            self.want(m.value(f"icmp eq i32 {m.value(f'load i32, ptr {over}')}, 0"))
            self.inputs.append(f"i64 {n}")
        elif kind.type in NARROW:
            at = m.value(f"getelementptr i8, ptr {x}, i64 {object_layout.HEAD}")
            self.inputs.append(f"i64 {narrow_ints.widened(self, kind.type, at)}")
        else:
            type = LOADED[kind.type]
            self.inputs.append(f"{type} {self.read(type, x, object_layout.HEAD)}")

    def take_array(self, kind: Array, x: str) -> None:
        m, written = self.m, len(self.inputs) in self.writes
        self.want_type(x, np.ndarray)
        self.want(m.value(f"icmp eq i32 {self.read('i32', x, object_layout.NDIM)}, {kind.ndim}"))
        dtype = dtype_of(kind.element)
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
        place = len(self.inputs)
        self.inputs.append(f"ptr {data}")
        for k in range(kind.ndim):
            n = self.read("i64", shape, 8 * k)
            if self.tells_ones:
                self.want(m.value(f"icmp {'eq' if k in kind.ones else 'ne'} i64 {n}, 1"))
            self.inputs.append(f"i64 {n}")
        strides = self.read("ptr", x, object_layout.STRIDES) if kind.ranks else ""
        for k in reversed(kind.order):
            if kind.ranks and k not in kind.ones:
                step = self.read("i64", strides, 8 * k)
                self.want(m.value(f"icmp eq i64 {step}, {size}"))
            size = m.value(f"mul i64 {size}, {self.inputs[k - kind.ndim].removeprefix('i64 ')}")
        self.arrays.append((data, size, written))
        if kind.element in NARROW:
            self.inputs[place] = f"ptr {narrow_ints.copied(self, kind.element, data, size)}"

    def give(self, kind: Kind | Many, outputs: Iterator[str]) -> str:
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
        if isinstance(kind, Many) or kind.type not in (tuple, list, dict, Tangent):
            raise Unreadable(kind)
        name = "PyTuple" if kind.type is tuple else "PyList"
        parts = [self.give(part, outputs) for part in kind.parts]
        if kind.type is Tangent:
            return self.tangent(kind.keys, parts)
        if kind.type is dict:
            made = self.made(self.called("PyDict_New"))
            for key, part in zip(kind.keys, parts, strict=True):
                self.called("PyDict_SetItem", f"ptr {made}", f"ptr {self.at(key)}", f"ptr {part}")
                self.called("Py_DecRef", f"ptr {part}")
            return made
        made = self.made(self.called(f"{name}_New", f"i64 {len(parts)}"))
        for k, part in enumerate(parts):
            self.called(f"{name}_SetItem", f"ptr {made}", f"i64 {k}", f"ptr {part}")
        return made

    def tangent(self, keys: tuple[Any, ...], parts: list[str]) -> str:
        """The gradient of an object, of its name and the names and gradients of its fields."""
        given, m = [self.at(keys[0]), *parts], self.m
        row = m.slot(f"[{len(given)} x ptr]")
        for k, x in enumerate(given):
            m.line(f"store ptr {x}, ptr {m.value(f'getelementptr ptr, ptr {row}, i64 {k}')}")
        args = f"ptr {self.at(Tangent)}", f"ptr {row}", "i64 1", f"ptr {self.at(keys[1:])}"
        made = self.called("PyObject_Vectorcall", *args)
        for x in parts:
            self.called("Py_DecRef", f"ptr {x}")
        return self.made(made)

    def give_array(self, kind: Array, outputs: Iterator[str]) -> str:
        data = "" if kind.zeros else next(outputs)
        shape = [next(outputs) for _ in range(kind.ndim)]
        place, _, made = self.placed.get(data, ("", "", ""))
        if not made:
            made, size = self.array(kind, shape)
            if not kind.zeros:
                target = self.read("ptr", made, object_layout.DATA)
                if kind.element in NARROW:
                    narrow_ints.narrowed(self, kind.element, data, target, size)
                else:
                    self.copy(target, data, size)
        else:
            elsewhere = self.m.value(f"icmp ne ptr {data}, {place}")
            self.where(elsewhere, lambda: self.copy(place, data, self.placed[data][1]))
        return made
