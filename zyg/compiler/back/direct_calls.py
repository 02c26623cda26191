"""LLVM text of calls of Python that makes the objects itself.

Of numbers, arrays, tuples and lists of known kinds objects are made, and results are read, as the
entry of a function does. Where something else is given, Python converts that, or says what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zyg.compiler.back import arena, object_layout, symbols
from zyg.compiler.back.object_kinds import Kinds
from zyg.compiler.back.object_layout import Unreadable
from zyg.compiler.back.python_calls import Trampoline, keep
from zyg.compiler.back.python_objects import LOADED
from zyg.compiler.callbacks import HIDDEN, Called, Leaf
from zyg.compiler.kinds import NARROW, Array, Kind, Scalar, Static, leaves


class DirectCall(Kinds):
    """Prints `@zyg_direct_k(arena, words)` for what is called in the k-th place.

    Buffers that it gives are in the arena. Raises Unreadable where only the trampoline can call.
    """

    tells_ones = False

    def __init__(self, declared: dict[str, None], called: Called, place: int) -> None:
        super().__init__(declared)
        how = None if called.keeps else called.callee.direct
        if how is None or not object_layout.readable():
            raise Unreadable(called.name)
        function, kinds, names, result = how
        self.place, self.gives = place, [leaf for _, leaf in leaves(result)]
        takes = [leaf for kind in kinds for _, leaf in leaves(kind)]
        if any(map(_is_held_otherwise, takes + self.gives)):
            raise Unreadable(called.name)
        m = self.m
        m.start("start")
        m.lines.clear()
        self.state = self.called("PyGILState_Ensure")
        self.y, row = m.slot("ptr"), m.slot(f"[{len(kinds) + 1} x ptr]")
        m.line(f"store ptr null, ptr {self.y}")
        words = self.loaded(takes)
        args = [self.give(kind, words) for kind in kinds]
        for k, x in enumerate(args):
            m.line(f"store ptr {x}, ptr {m.value(f'getelementptr ptr, ptr {row}, i64 {k}')}")
        count, keys = len(args) - len(names), self.at(names) if names else "null"
        given = f"ptr {self.at(function)}", f"ptr {row}", f"i64 {count}", f"ptr {keys}"
        y = self.called("PyObject_Vectorcall", *given)
        for x in args:
            self.called("Py_DecRef", f"ptr {x}")
        m.line(f"store ptr {self.made(y)}, ptr {self.y}")
        self.take(result, y)
        self.stored()
        self.end("0")
        self.otherwise(called)
        self.raised()
        head = f"define internal i32 @zyg_direct_{place}(ptr %arena, ptr %words) nounwind {{"
        self.lines = [head, "start:", *m.slots, *m.lines, "}"]

    def give_array(self, kind: Array, outputs: Iterator[str]) -> str:
        """An array, to which nothing can be written: that would go unseen."""
        made = super().give_array(kind, outputs)
        flags = self.read("i32", made, object_layout.FLAGS)
        flags = self.m.value(f"and i32 {flags}, {~object_layout.WRITEABLE}")
        at = self.m.value(f"getelementptr i8, ptr {made}, i64 {object_layout.FLAGS}")
        self.m.line(f"store i32 {flags}, ptr {at}")
        return made

    def take(self, kind: Kind, x: str) -> None:
        if not (isinstance(kind, Static) and kind.value is HIDDEN):
            super().take(kind, x)

    def at(self, x: Any) -> str:
        """The symbol of an object: another one in each of these functions."""
        name = f"called{self.place}_{len(self.held)}"
        return self.symbol(name, id(x), x, symbols.name_of(x))

    def word(self, k: int) -> str:
        return "ptr " + self.m.value(f"getelementptr i64, ptr %words, i64 {k}")

    def loaded(self, takes: list[Leaf]) -> Iterator[str]:
        """The operands, of the words."""
        k = 0
        for leaf in takes:
            types = ["ptr", *["i64"] * leaf.ndim] if isinstance(leaf, Array) else _types(leaf)
            for type in types:
                x = self.m.value(f"load {type}, {self.word(k)}")
                is_bool = leaf.element == "bool" and not isinstance(leaf, Array)
                yield self.m.value(f"trunc i64 {x} to i1") if is_bool else x
                k += 1

    def stored(self) -> None:
        """Store the results as words; arrays are copied."""
        inputs, arrays, k = iter(self.inputs), iter(self.arrays), 0
        for leaf in self.gives:
            if isinstance(leaf, Array):
                next(inputs)
                data, size, _ = next(arrays)
                self.copied(k, data, size)
                for j in range(leaf.ndim):
                    self.m.line(f"store {next(inputs)}, {self.word(k + 2 + j)}")
                k += 2 + leaf.ndim
                continue
            for _ in _types(leaf):
                x = next(inputs)
                if x.startswith("i1 "):
                    x = "i64 " + self.m.value(f"zext {x} to i64")
                self.m.line(f"store {x}, {self.word(k)}")
                k += 1
        self.m.line(f"store i64 0, {self.word(k)}")  # nothing is kept

    def copied(self, k: int, data: str, size: str) -> None:
        """Copy a buffer into the arena."""
        m, on, full = self.m, self.m.name("b"), self.m.name("b")
        made = m.value(f"call ptr @zyg_allocate(ptr %arena, i64 {size})")
        m.line(f"br i1 {m.value(f'icmp eq ptr {made}, null')}, label {full}, label {on}")
        m.start(full[1:])
        self.end(str(arena.NO_MEMORY))
        m.start(on[1:])
        self.copy(made, data, size)
        m.line(f"store ptr {made}, {self.word(k)}")
        m.line(f"store i64 {size}, {self.word(k + 1)}")

    def end(self, status: str) -> None:
        self.called("Py_DecRef", f"ptr {self.m.value(f'load ptr, ptr {self.y}')}")
        self.called("PyGILState_Release", f"i32 {self.state}")
        self.m.line(f"ret i32 {status}")

    def otherwise(self, called: Called) -> None:
        """Where the result is of another kind."""
        m, row = self.m, self.m.slot("[2 x ptr]")
        m.start("other")
        y, at = m.value(f"load ptr, ptr {self.y}"), m.value("ptrtoint ptr %words to i64")
        words = self.made(self.called("PyLong_FromLongLong", f"i64 {at}"))
        m.line(f"store ptr {y}, ptr {row}")
        m.line(f"store ptr {words}, ptr {m.value(f'getelementptr ptr, ptr {row}, i64 1')}")
        put = self.at(Trampoline(called).converted)
        none = self.called("PyObject_Vectorcall", f"ptr {put}", f"ptr {row}", "i64 2", "ptr null")
        self.called("Py_DecRef", f"ptr {words}")
        self.called("Py_DecRef", f"ptr {self.made(none)}")
        k = 0
        for leaf in self.gives:
            if isinstance(leaf, Array):
                source = m.value(f"load ptr, {self.word(k)}")
                self.copied(k, source, m.value(f"load i64, {self.word(k + 1)}"))
                k += 2 + leaf.ndim
            else:
                k += len(_types(leaf))
        self.end("0")

    def raised(self) -> None:
        """Where something was raised."""
        m = self.m
        m.start("raised")
        three = [m.slot("ptr") for _ in range(3)]
        given = [f"ptr {x}" for x in three]
        self.called("PyErr_Fetch", *given)
        self.called("PyErr_NormalizeException", *given)
        call = f"ptr {self.at(keep)}", given[1], "i64 1", "ptr null"
        none = self.called("PyObject_Vectorcall", *call)
        for x in (none, *(m.value(f"load ptr, ptr {x}") for x in three)):
            self.called("Py_DecRef", f"ptr {x}")
        self.end("1")


def _types(leaf: Scalar) -> list[str]:
    """Of the words of a number."""
    if leaf.type == "complex":
        return ["double", "double"]
    return ["i64" if leaf.type == "bool" else LOADED.get(leaf.type, "i64")]


def _is_held_otherwise(leaf: Leaf) -> bool:
    """Whether machine code holds it in another way than objects do."""
    return leaf.element in NARROW if isinstance(leaf, Array) else bool(leaf.ways)
