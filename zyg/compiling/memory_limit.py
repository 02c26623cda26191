"""Machine code of derivatives in no more memory than `tape_bytes`: else with loops in segments."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from zyg.base.config import setting
from zyg.compiler.back.native_function import Native, TapeFull
from zyg.compiler.ir import For, Program, While, operations
from zyg.errors import TapeError

_DEEPEST = 3  # loops inside each other that are run again

Again = Callable[[int], Program | None]  # the program, its loops in segments so many deep


class Tapes(Native):
    """The machine code of a program that keeps tapes; when these are too long, that of another."""

    def __init__(self, program: Program, again: Again, depth: int = 0) -> None:
        super().__init__(program, tapes=True)
        self._program, self._again, self._depth = program, again, depth
        self._other: Tapes | None = None
        self._lock = threading.Lock()

    def __call__(self, *operands: Any) -> list[Any]:
        try:
            return super().__call__(*operands)
        except TapeFull as full:
            if (other := self._segmented()) is None:
                raise _tape_error(self._program, full.args[0]) from None
        return other(*operands)

    def _segmented(self) -> Tapes | None:
        """The same in less memory, and in more time; None if there is nothing more to be saved."""
        with self._lock:
            if self._other is None and self._depth < _DEEPEST:
                program = self._again(self._depth + 1)
                if program is not None:
                    self._other = Tapes(program, self._again, self._depth + 1)
            return self._other


def _tape_error(program: Program, size: int) -> TapeError:
    """What is said where nothing helps: it names the loops."""
    loops = [op for op in operations(program.body) if isinstance(op, (For, While)) and op.line]
    return TapeError(
        f"the derivative of {program.name} needs more than {size:,} bytes of memory.",
        "the reverse pass needs what the loops compute, and "
        f"zyg.config(tape_bytes={setting('tape_bytes')}) allows no more.",
        "allow more with zyg.config(tape_bytes=...); or write the loop without growing lists and "
        "recursive calls, so that zyg can run it again in parts.",
        where="\n         ".join(dict.fromkeys(op.line for op in loops)),
    )
