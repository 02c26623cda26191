"""LLVM text of calls of Python: see `callbacks`.

The text names a trampoline by its place among those of the text, and gets its address where it is
loaded, so that object code stays valid on disk.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from zyg.compiler.back import arena
from zyg.compiler.back.c_abi import type_in_text
from zyg.compiler.back.direct_calls import DirectCall
from zyg.compiler.back.object_layout import Unreadable
from zyg.compiler.ir import CallBack, is_buffer


def printed(text: Any, op: CallBack) -> None:
    """Print a call, into the text of a function."""
    m, at = text.m, len(text.module.called)
    text.module.called.append(op.callee)
    with suppress(Unreadable):
        text.module.direct[at] = DirectCall(m.declared, op.callee, at)
    direct = at in text.module.direct
    name = f"@zyg_{'direct' if direct else 'python'}_{at}"
    if not direct:
        m.declared[f"declare i32 {name}(ptr, ptr)"] = None
    width = max(len(op.args), sum(1 + is_buffer(x.type) for x in op.outs))
    words = m.value(f"alloca [{width} x i64], align 8")

    def place(k: int) -> str:
        return f"ptr {m.value(f'getelementptr i64, ptr {words}, i64 {k}')}"

    for k, x in enumerate(op.args):
        m.line(f"store {text.word(x)}, {place(k)}")
    status = m.value(f"call i32 {name}(ptr %arena, ptr {words})")
    if direct:
        has_room = m.value(f"icmp ne i32 {status}, {arena.NO_MEMORY}")
        text.demand(has_room, status=str(arena.NO_MEMORY))
    text.demand(m.value(f"icmp eq i32 {status}, 0"))
    k = 0
    for out in op.outs:
        kind = type_in_text(out.type)
        if not is_buffer(out.type):
            x = m.value(f"load {'i64' if kind == 'i1' else kind}, {place(k)}")
            text.known[out] = m.value(f"trunc i64 {x} to i1") if kind == "i1" else x
            k += 1
            continue
        source = m.value(f"load ptr, {place(k)}")
        if direct:
            text.known[out] = source
            k += 2
            continue
        size = "i64 " + m.value(f"load i64, {place(k + 1)}")
        made = text.known[out] = m.value(f"call ptr @zyg_allocate(ptr %arena, {size})")
        text.demand(m.value(f"icmp ne ptr {made}, null"), status=str(arena.NO_MEMORY))
        m.line(f"call void @llvm.memmove.p0.p0.i64(ptr {made}, ptr {source}, {size}, i1 false)")
        k += 2
