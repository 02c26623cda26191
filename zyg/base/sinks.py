"""Calls of other libraries that only look at values: they draw, format, test, write to files.

Where code of these calls converts a watched value, it is given the plain one. That is decided where
the conversion would be refused, from the frames that run: nothing is patched, nothing is imported,
and what is not refused costs nothing.

What such a call returns may hold numbers, as that of plt.hist does, which would have lost their
derivatives. So the result must be an object of the library's, as that of the functions listed here
is, or nobody's: the call is a statement of its own.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import re
import sys
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

from zyg.base.caches import Cache
from zyg.cells import read_again
from zyg.errors import is_installed, is_ours, is_users

_ARTISTS = frozenset({
    "__init__", "annotate", "add_artist", "add_collection", "add_line", "add_patch", "arrow",
    "axhline", "axhspan", "axline", "axvline", "axvspan", "bar", "bar3d", "bar_label", "barbs",
    "barh", "boxplot", "broken_barh", "bxp", "clabel", "colorbar", "contour", "contour3D",
    "contourf", "ecdf", "errorbar", "eventplot", "figimage", "figtext", "fill", "fill_between",
    "fill_betweenx", "hexbin", "hlines", "imshow", "legend", "loglog", "matshow", "pcolor",
    "pcolorfast", "pcolormesh", "pie", "plot", "plot3D", "plot_surface", "plot_trisurf",
    "plot_wireframe", "quiver", "quiverkey", "scatter", "scatter3D", "semilogx", "semilogy", "spy",
    "stackplot", "stairs", "stem", "step", "streamplot", "suptitle", "table", "text", "title",
    "tricontour", "tricontourf", "tripcolor", "triplot", "violin", "violinplot", "vlines", "xlabel",
    "ylabel",
})  # fmt: skip
_TESTS = frozenset({
    "assert_allclose", "assert_almost_equal", "assert_approx_equal", "assert_array_almost_equal",
    "assert_array_almost_equal_nulp", "assert_array_equal", "assert_array_less", "assert_equal",
})  # fmt: skip

_TEXT = frozenset({
    "dump", "dumps", "encode", "format_float_positional", "format_float_scientific", "iterencode",
    "save", "savetxt", "savez", "savez_compressed",
})  # fmt: skip

_MASKS = frozenset({"isna", "notna"})

# Modules whose calls only look -> those of their functions whose results hold no numbers.
_MODULES: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        (
            "matplotlib.animation", "matplotlib.artist", "matplotlib.axes", "matplotlib.axis",
            "matplotlib.backend_bases", "matplotlib.backends", "matplotlib.cm",
            "matplotlib.collections", "matplotlib.colorbar", "matplotlib.colorizer",
            "matplotlib.container", "matplotlib.contour", "matplotlib.figure", "matplotlib.image",
            "matplotlib.lines", "matplotlib.patches", "matplotlib.projections",
            "matplotlib.pyplot", "matplotlib.quiver", "matplotlib.spines", "matplotlib.table",
            "matplotlib.text", "mpl_toolkits.mplot3d",
        ),
        _ARTISTS,
    ),
    "numpy.testing": _TESTS,
    "pandas.core.dtypes.missing": _MASKS,
    **dict.fromkeys(("json", "numpy._core.arrayprint", "numpy.lib._npyio_impl"), _TEXT),
}  # fmt: skip

# What somebody has declared to look only, by its dotted name: all of it, results too.
declared: dict[str, None] = {}

_begins: set[CodeType] = set()  # of functions that call what is being differentiated


class Look(NamedTuple):
    """A call that only looks: its name, and the frame of whoever calls it."""

    how: str
    frame: FrameType | None


def begins(function: Any) -> None:
    """What is around a frame of this function is not part of what is being differentiated."""
    _begins.add(function.__code__)


def looking() -> Look | None:
    """The call that only looks at values in which this line runs, if there is one.

    Between the two is code of installed packages only: what a function of the user's own makes of
    a number, another library cannot promise.
    """
    names = [*map(_home, declared)]
    frame: FrameType | None = sys._getframe(1)
    outermost = None
    while frame is not None and frame.f_code not in _begins:
        module, code = frame.f_globals.get("__name__", ""), frame.f_code
        name = f"{module}.{code.co_qualname}"
        if any(_is_within(name, one) for one in names):
            return Look(name, _caller(frame))
        if one := next((m for m in _MODULES if _is_within(module, m)), ""):
            outermost = name, frame, code.co_name in _MODULES[one]
        elif is_users(code.co_filename) and not is_installed(code.co_filename):
            break
        frame = frame.f_back
    if outermost is None:
        return None
    name, called, harmless = outermost
    look = Look(name, _caller(called))
    return look if harmless or _is_statement(look.frame, called) else None


_SHOWING = (
    r"(^|\.)(print|pprint|log|debug|info|warn|warning|error|exception|critical|add_note"
    r"|set_description(_str)?|set_postfix(_str)?|\w*(Error|Exception|Warning|Interrupt|Exit))$"
    r"|(stdout|stderr|tqdm|bar|console)\.\w+$"
)
_SHOWING_PACKAGES = {"IPython", "loguru", "rich", "tqdm"}
_displays: Cache[tuple[CodeType, int], bool] = Cache(1024)  # code, and where it is


def is_displayed() -> bool:
    """Whether text that is made now is to be looked at: a line prints, logs or raises it.

    Or Python's own library makes it, as pdb and pprint do, or a call that only looks.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or not (is_users(frame.f_code.co_filename) and looking() is None):
        return True
    while frame is not None and frame.f_code not in _begins:
        at = frame.f_code, frame.f_lasti
        shows = _displays.get(at)
        if shows is None:
            shows = _displays.put(at, _shows(frame))
        if shows or frame.f_globals.get("__name__", "").partition(".")[0] in _SHOWING_PACKAGES:
            return True
        frame = frame.f_back
    return False


def _shows(frame: FrameType) -> bool:
    """Whether the instruction of a frame is within a call that shows its arguments, or a raise."""
    first, last, start, end = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    if None in (first, last, start, end):
        return False
    try:
        with read_again():
            tree = ast.parse("".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals)))
    except (SyntaxError, ValueError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, (ast.Call, ast.Raise, ast.Assert)):
            begins, ends = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
            if not begins <= (first, start) <= (last, end) <= ends:
                continue
            if not isinstance(node, ast.Call) or re.search(_SHOWING, ast.unparse(node.func)):
                return True
    return False


def is_known(frame: FrameType) -> bool:
    """Whether a frame is of a package of which there are calls that only look."""
    package = frame.f_globals.get("__name__", "").partition(".")[0]
    return any(_is_within(module, package) for module in _MODULES)


def _caller(frame: FrameType) -> FrameType | None:
    """The first frame around this one that is not of its package."""
    package, caller = frame.f_globals.get("__name__", "").partition(".")[0], frame.f_back
    while caller is not None and _is_within(caller.f_globals.get("__name__", ""), package):
        caller = caller.f_back
    return caller


def _is_within(name: str, one: str) -> bool:
    return name == one or name.startswith(one + ".")


def _home(name: str) -> str:
    """A dotted name, of what is imported to where it stands, as frames tell where that is."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        if (found := sys.modules.get(".".join(parts[:k]))) is not None:
            for part in parts[k:]:
                found = getattr(found, part, None)
            found = inspect.unwrap(found) if callable(found) else found
            if isinstance(found, FunctionType):
                return f"{found.__globals__['__name__']}.{found.__code__.co_qualname}"
            return f"{found.__module__}.{found.__qualname__}" if isinstance(found, type) else name
    return name


def _is_statement(frame: FrameType | None, called: FrameType) -> bool:
    """Whether a frame is at a call, by name, of the function of another, and drops the result."""
    if frame is None:
        return False
    name, dropped = call_at(frame.f_code, frame.f_lasti)
    return dropped and _is_named(name, called)


_called: Cache[tuple[int, int], tuple[CodeType, tuple[Any, bool]]] = Cache(4096)


def call_at(code: CodeType, at: int) -> tuple[Any, bool]:
    """The name by which an instruction calls a function, and whether the result is dropped."""
    known = _called.get((id(code), at))  # by its identity: the hash of a code takes its time
    if known is None or known[0] is not code:
        known = _called.put((id(code), at), (code, _call_at(code, at)))
    return known[1]


def _call_at(code: CodeType, at: int) -> tuple[Any, bool]:
    instructions = [*dis.get_instructions(code)]
    k = sum(i.offset <= at for i in instructions) - 1
    k += instructions[k].opname == "PRECALL"  # of 3.11, which calls C functions that it knows
    start, before = _start(instructions[k]), reversed(instructions[:k])
    if start[0] is None or not instructions[k].opname.startswith("CALL"):
        return None, False
    named = (i for i in before if i.opname[:5] == "LOAD_" and i.opname != "LOAD_CONST")
    loads = (i.argval for i in named if _start(i) == start)
    return next(loads, None), instructions[k + 1].opname == "POP_TOP"


def names_at(code: CodeType, at: int) -> list[str]:
    """The dotted name by which an instruction calls a function; empty if that is no name's."""
    *before, call = (i for i in dis.get_instructions(code) if i.offset <= at)
    parts = [i for i in before if _start(i) == _start(call) and i.opname != "PRECALL"]
    loads = all(i.opname.startswith(("LOAD_", "PUSH_NULL")) for i in parts)
    named = loads and call.opname.startswith(("CALL", "PRECALL"))
    return [i.argval for i in parts if isinstance(i.argval, str)] if named else []


def _is_named(name: Any, called: FrameType) -> bool:
    """Whether a frame's function has a name, by itself or as a method of its first argument."""
    code = called.f_code
    owner = type(called.f_locals.get(code.co_varnames[0])) if code.co_argcount else None
    found = getattr(owner, name, None) if isinstance(name, str) else None
    return name == code.co_name or getattr(found, "__code__", None) is code


def _start(instruction: dis.Instruction) -> tuple[int | None, int | None]:
    at = instruction.positions
    return (at.lineno, at.col_offset) if at else (None, None)
