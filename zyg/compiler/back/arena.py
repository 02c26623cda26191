"""The memory of a call of a whole function: LLVM text of an arena.

Buffers are cut from chunks, one behind the other. The caller brings the first chunk: a row of
`BYTES` bytes whose start is a header. Others come from the C library, each twice as large as the
one before, and go back to it all at once when the caller releases the arena; but one of up to a
quarter of `tape_bytes` is kept for the next call of any program, so that the system need not clear
its pages each time. Before each buffer stands its size in bytes. Small ones lie close, as functions
that call themselves make many.

The header: where the next buffer starts, where the chunk ends, the chunk itself (at whose start are
the address of the one before, or null, and its size), its size; and what the caller sets: how deep
calls may go, how many bytes of chunks there may be, and 0, where it finds how many were asked for
beyond that.
The chunk that is the caller's is null.
"""

from __future__ import annotations

import ctypes
import re
import sys
from functools import cache

from zyg.base.config import least_tape
from zyg.compiler.back.c_abi import spelled_out
from zyg.compiler.back.compiled import functions

ALIGNMENT = 64  # of the arena, and of buffers that are large, or whole vectors of so many bytes
_SMALL = 16  # the least alignment, and the bytes before each
_LARGE = 512  # bytes of a large one
BYTES = 4096  # of an arena with its first chunk, which is aligned
DEPTH, LEFT, REFUSED = 32, 40, 48  # where in the header is what the caller sets
UNLIMITED = 2**62  # bytes of chunks
_WORD_BY_WORD = 128  # bytes, where a register of them would wait for the words being written
DEEPEST = 4000  # calls, so that a thread's stack has place for them
STOPPED, NO_MEMORY = 1, 2  # what a call returns besides 0
SLOW = 3  # it is time for other code: see `first_code`
REASONS = 4  # and from here on: that a check fails which has a reason
_HUGE = 1 << 21  # bytes of a huge page, of which Linux makes a chunk where it is told to
_ADVICE = "%_ = call i32 @madvise(ptr %page, i64 %pages, i32 14)"
_ADVISED = _ADVICE if sys.platform == "linux" else ""

_spare = ctypes.c_int64(0)  # the address of the chunk that is kept


def addresses(first: bool = False) -> dict[str, int]:
    """What texts know by name: the functions of one module, which is compiled and loaded once.

    Those for first code may themselves be `first`; both do the same with the same memory.
    """
    return _shared(first)[0]


@cache
def _shared(first: bool) -> tuple[dict[str, int], object]:
    """Its functions, and what keeps their code in memory."""
    least = ctypes.c_int64.from_buffer(least_tape)
    known = {"zyg_spare": _spare, "zyg_least_tape": least}
    at = {name: ctypes.addressof(x) for name, x in known.items()}
    return functions(_TYPE + _SHARED, at, first)


_TYPE = "%zyg_arena = type { ptr, ptr, ptr, i64, i64, i64, i64 }"
_SHARED = spelled_out(f"""
@zyg_spare = external global i64
@zyg_least_tape = external global i64
declare i32 @madvise(ptr, i64, i32)
declare i64 @llvm.usub.sat.i64(i64, i64)
declare noalias ptr @malloc(i64)
declare i64 @llvm.uadd.sat.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare void @free(ptr)
declare ptr @llvm.ptrmask.p0.i64(ptr, i64)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)

; Where a buffer of so many bytes is that comes next.
define internal ptr @zyg_place(ptr %start, i64 %bytes) alwaysinline nounwind {{
  %large = icmp uge i64 %bytes, {_LARGE}
  %negative = sub i64 0, %bytes
  %vectors = and i64 %bytes, %negative
  %most = call i64 @llvm.umin.i64(i64 %vectors, i64 {ALIGNMENT})
  %least = call i64 @llvm.umax.i64(i64 %most, i64 {_SMALL})
  %alignment = select i1 %large, i64 {ALIGNMENT}, i64 %least
  %room = add i64 %alignment, {_SMALL - 1}
  %mask = sub i64 0, %alignment
  %about = getelementptr i8, ptr %start, i64 %room
  %buffer = call ptr @llvm.ptrmask.p0.i64(ptr %about, i64 %mask)
  ret ptr %buffer
}}

; A buffer of so many bytes, or null.
define noalias align {_SMALL} ptr @zyg_allocate(ptr %arena, i64 %bytes) \
noinline nounwind allocsize(1) allockind("alloc,uninitialized,aligned") \
"alloc-family"="zyg" memory(inaccessiblemem: readwrite, argmem: readwrite) {{
  %next = load ptr, ptr %arena
  %end = load ptr, ptr %arena[1]
  %whole = call i64 @llvm.uadd.sat.i64(i64 %bytes, i64 {ALIGNMENT + 2 * _SMALL})
  %next.n = ptrtoint ptr %next to i64
  %end.n = ptrtoint ptr %end to i64
  %left = sub i64 %end.n, %next.n
  br icmp ule i64 %whole, %left, label %cut, label %full, !prof !0
full:
  %more = call i1 @zyg_grow(ptr %arena, i64 %whole)
  %fresh = load ptr, ptr %arena
  br i1 %more, label %cut, label %out
cut:
  %start = phi ptr [ %next, %0 ], [ %fresh, %full ]
  %buffer = call ptr @zyg_place(ptr %start, i64 %bytes)
  %padded = add i64 %bytes, {_SMALL - 1}
  %own = and i64 %padded, -{_SMALL}
  %after = getelementptr i8, ptr %buffer, i64 %own
  store ptr %after, ptr %arena
  store i64 %bytes, ptr %buffer-8
  ret ptr %buffer
out:
  ret ptr null
}}

; What follows a buffer in the arena is free, and so is that; unless it is in an earlier chunk.
define void @zyg_free(ptr %arena, ptr allocptr nocapture %buffer) noinline nounwind \
allockind("free") "alloc-family"="zyg" memory(inaccessiblemem: readwrite, argmem: readwrite) {{
  %start = getelementptr i8, ptr %buffer, i64 -{_SMALL}
  %same = call i1 @zyg_is_here(ptr %arena, ptr %start)
  br i1 %same, label %free, label %out
free:
  store ptr %start, ptr %arena
  ret void
out:
  ret void
}}

; A buffer is not used any more; its place is made free by what is said of others.
define void @zyg_forget(ptr %arena, ptr allocptr nocapture %buffer) noinline nounwind \
allockind("free") "alloc-family"="zyg" memory(inaccessiblemem: readwrite, argmem: readwrite) {{
  ret void
}}

; Whether a place is in the chunk from which buffers are cut.
define i1 @zyg_is_here(ptr %arena, ptr %place) {{
  %next = load ptr, ptr %arena
  %before = icmp ule ptr %place, %next
  %chunk = load ptr, ptr %arena[2]
  %own = icmp eq ptr %chunk, null
  %low = select i1 %own, ptr %arena, ptr %chunk
  %after = icmp uge ptr %place, %low
  %both = and i1 %before, %after
  ret i1 %both
}}

; The place to move to what a round carries on, if that was the end before the round; or null.
define ptr @zyg_back(ptr %arena, ptr %mark) noinline nounwind {{
  %here = call i1 @zyg_is_here(ptr %arena, ptr %mark)
  %to = select i1 %here, ptr %mark, ptr null
  ret ptr %to
}}

; A buffer moved down to a place, and the place behind it; as it was if there is none.
define {{ ptr, ptr }} @zyg_move(ptr %to, ptr %buffer) noinline nounwind {{
  br icmp eq ptr %to, null, label %stay, label %move
stay:
  %same = insertvalue {{ ptr, ptr }} zeroinitializer, ptr %buffer, 0
  ret {{ ptr, ptr }} %same
move:
  %size = load i64, ptr %buffer-8
  %padded = add i64 %size, {_SMALL - 1}
  %own = and i64 %padded, -{_SMALL}
  %moved = call ptr @zyg_place(ptr %to, i64 %size)
  br icmp ule i64 %size, {_WORD_BY_WORD}, label %word, label %all
all:
  call void @llvm.memmove.p0.p0.i64(ptr align 16 %moved, ptr align 16 %buffer, i64 %own, i1 false)
  br label %done
word:
  %k = phi i64 [ 0, %move ], [ %k.next, %copy ]
  br icmp slt i64 %k, %size, label %copy, label %done
copy:
  %x = load volatile i64, ptr %buffer+%k
  store volatile i64 %x, ptr %moved+%k
  %k.next = add i64 %k, 8
  br label %word
done:
  store i64 %size, ptr %moved-8
  %behind = getelementptr i8, ptr %moved, i64 %own
  %one = insertvalue {{ ptr, ptr }} poison, ptr %moved, 0
  %two = insertvalue {{ ptr, ptr }} %one, ptr %behind, 1
  ret {{ ptr, ptr }} %two
}}

; What is behind a place is free, if there is one; gives the end.
define ptr @zyg_rewind(ptr %arena, ptr %to) noinline nounwind {{
  %stays = icmp eq ptr %to, null
  %next = load ptr, ptr %arena
  %end = select i1 %stays, ptr %next, ptr %to
  store ptr %end, ptr %arena
  ret ptr %end
}}

; A further chunk, with place for so many bytes.
define i1 @zyg_grow(ptr %arena, i64 %bytes) noinline cold nounwind {{
  br icmp ugt i64 %bytes, {1 << 47}, label %out, label %get
get:
  %before = load i64, ptr %arena[3]
  %doubled = shl i64 %before, 1
  %needed = add i64 %bytes, {2 * ALIGNMENT}
  %small = icmp ult i64 %doubled, %needed
  %wanted = select i1 %small, i64 %needed, i64 %doubled
  %left = load i64, ptr %arena[5]
  br icmp ugt i64 %needed, %left, label %refuse, label %have
refuse:
  store i64 %needed, ptr %arena[6]
  br label %out
have:
  %usual = call i64 @llvm.umin.i64(i64 %wanted, i64 %left)
  %kept.n = atomicrmw xchg ptr @zyg_spare, i64 0 seq_cst
  %kept = inttoptr i64 %kept.n to ptr
  br icmp eq i64 %kept.n, 0, label %fresh, label %look
look:
  %kept.size = load i64, ptr %kept+8
  %enough = icmp uge i64 %kept.size, %usual
  %little = lshr i64 %left, 2
  %allowed = icmp ule i64 %kept.size, %little
  %fits = and i1 %enough, %allowed
  br i1 %fits, label %open, label %drop
drop:
  call void @free(ptr %kept)
  br label %fresh
fresh:
  %new = call ptr @malloc(i64 %usual)
  br icmp eq ptr %new, null, label %out, label %advise
advise:
  %page.behind = getelementptr i8, ptr %new, i64 {_HUGE - 1}
  %page = call ptr @llvm.ptrmask.p0.i64(ptr %page.behind, i64 -{_HUGE})
  %rest.of = call i64 @llvm.usub.sat.i64(i64 %usual, i64 {_HUGE})
  %pages = and i64 %rest.of, -{_HUGE}
  {_ADVISED}
  br label %open
open:
  %chunk = phi ptr [ %kept, %look ], [ %new, %advise ]
  %size = phi i64 [ %kept.size, %look ], [ %usual, %advise ]
  %rest = sub i64 %left, %size
  store i64 %rest, ptr %arena[5]
  %last = load ptr, ptr %arena[2]
  store ptr %last, ptr %chunk
  store i64 %size, ptr %chunk+8
  store ptr %chunk, ptr %arena[2]
  %behind = getelementptr i8, ptr %chunk, i64 {2 * _SMALL - 1}
  %first = call ptr @llvm.ptrmask.p0.i64(ptr %behind, i64 -{_SMALL})
  store ptr %first, ptr %arena
  %end = getelementptr i8, ptr %chunk, i64 %size
  store ptr %end, ptr %arena[1]
  store i64 %size, ptr %arena[3]
  ret i1 true
out:
  ret i1 false
}}

; The chunks go back to the C library, but for one that is kept.
define void @zyg_release_chunks(ptr %last) noinline nounwind {{
keep:
  %size = load i64, ptr %last+8
  %second = load ptr, ptr %last
  %least = load i64, ptr @zyg_least_tape
  %most = lshr i64 %least, 2
  br icmp ugt i64 %size, %most, label %next, label %swap
swap:
  %last.n = ptrtoint ptr %last to i64
  %other.n = atomicrmw xchg ptr @zyg_spare, i64 %last.n seq_cst
  %other = inttoptr i64 %other.n to ptr
  call void @free(ptr %other)
  br label %next
next:
  %chunk = phi ptr [ %last, %keep ], [ %second, %swap ], [ %before, %back ]
  br icmp eq ptr %chunk, null, label %done, label %back
back:
  %before = load ptr, ptr %chunk
  call void @free(ptr %chunk)
  br label %next
done:
  ret void
}}
""")
_HEADS = re.findall(r"^define (?!internal)(.*) \{$", _SHARED, re.MULTILINE)
_DECLARED = "\n".join(f"declare {head}" for head in _HEADS)
TEXT = spelled_out(f"""
{_TYPE}
{_DECLARED}
declare i64 @llvm.ushl.sat.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal void @zyg_open(ptr %arena) {{
  %first = getelementptr i8, ptr %arena, i64 {ALIGNMENT}
  %end = getelementptr i8, ptr %arena, i64 {BYTES}
  store ptr %first, ptr %arena
  store ptr %end, ptr %arena[1]
  store ptr null, ptr %arena[2]
  store i64 16384, ptr %arena[3]
  ret void
}}

define internal void @zyg_release(ptr %arena) nounwind {{
  %last = load ptr, ptr %arena[2]
  store ptr null, ptr %arena[2]
  br icmp eq ptr %last, null, label %done, label %release
release:
  call void @zyg_release_chunks(ptr %last)
  br label %done
done:
  ret void
}}
""")
