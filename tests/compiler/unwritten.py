"""Memory that nothing has written to yet, made to be noticed."""

from contextlib import contextmanager
from unittest import mock

from zyg.compiler.back import llvm_functions
from zyg.compiler.back.memory_text import SHIFTS
from zyg.compiler.ir import Value, element_of, is_buffer


@contextmanager
def noticed():
    """While it lasts, machine code is made that finds NaN, -1 and True where nothing is written."""
    function = llvm_functions._Function
    alloc = function.alloc

    def filled(self, op):
        alloc(self, op)
        element = element_of(op.out.type)
        if op.zeroed or is_buffer(element):
            return
        size = f"i64 {self.atom(op.size)}"
        if not isinstance(op.size, Value):
            size = f"i64 {op.size << SHIFTS[element]}"
        elif shift := SHIFTS[element]:
            size = f"i64 {self.m.value(f'shl {size}, {shift}')}"
        row = f"ptr {self.known[op.out]}, i8 -1, {size}, i1 false"
        self.m.line(f"call void @llvm.memset.p0.i64({row})")

    with mock.patch.object(function, "alloc", filled):
        yield
