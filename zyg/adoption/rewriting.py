"""Calls of ``float``, ``type`` and their like in adopted modules, which would make plain numbers.

Classes have no drop-ins, but calls of them can: ``f(x)`` becomes ``Calls.call(f, x)`` where f is
named so in the source of the module, and `call` looks at the class that it is given and at x;
``map(float, xs)`` calls it for each. So do ``x[..., k]`` and ``x[()]`` become ``Calls.item(x, (...,
k))``: NumPy's scalars answer them, watched numbers do not, as Python would take them for sequences;
and methods of compiled classes, such as ``rng.normal(x)`` and ``data.copy()``, are called as
``Calls.method(rng, "normal")(x)``.
A function whose code is not what its source says keeps its code.
"""

from __future__ import annotations

import ast
import functools
import linecache
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from zyg.adoption.originals import drop_in
from zyg.base.array_types import array_type
from zyg.cells import read_again
from zyg.core.handouts import hand_out, holds_nothing_watched
from zyg.core.objects import holds_watched_objects
from zyg.core.strand import ARRAYS, WATCHED, settle, strip, watched_leaves
from zyg.core.views import buffer
from zyg.functions.kit import with_value
from zyg.numpy.draws import METHODS as DRAWS
from zyg.numpy.draws import drawn
from zyg.watched.attributes import METHODS
from zyg.watched.dropins import drop_in as dropped_in
from zyg.watched.value import as_array

_NUMPYS = ("float16", "float32", "float64", "longdouble", "complex64", "complex128", "clongdouble")
# What may be variables of classes that are called, beside these themselves.
_NAMES = {"float", "complex", "type", "dtype", "memoryview", *_NUMPYS}
_COPIES = {"astype", "copy", "flatten", "toarray"}  # make arrays that are written to
_TAKING = {"choose", "clip", "dot"}  # take operands that may be watched
_MENTIONED = re.compile(
    rf"\b(?:{'|'.join(sorted(_NAMES))})\(|\bmap\((?:float|complex)\b|\[\.\.\.|\[\(\)\]"
    rf"|\.(?:{'|'.join(sorted(DRAWS | _COPIES | _TAKING))})\(|\bout="
)
_CALLS = "<zyg: calls of classes>"  # the constant in whose place `Calls` comes


def _as_float(x: Any) -> Any:
    plain = strip(x)
    if isinstance(plain, (np.ndarray, np.generic)):
        return x.item() if plain.ndim == 0 and plain.dtype.kind in "fiu" else None
    if array_type(plain).library:  # also what `vmap` has of many examples
        return np.astype(x, np.float64) if plain.shape == () and plain.dtype.kind in "fiu" else None
    return x if type(plain) is float else x * 1.0 if type(plain) is int else None


def _as_complex(x: Any) -> Any:
    plain = strip(x)
    if isinstance(plain, (np.ndarray, np.generic)):
        x, plain = (x.item(), plain.item()) if plain.ndim == 0 else (None, None)
    return x if type(plain) is complex else x + 0j if type(plain) in (int, float) else None


def _of_parts(*parts: Any) -> Any:
    found = [_as_complex(settle(x)) if type(x) in WATCHED else x for x in parts]
    if watched_leaves(found) and all(x is not None for x in found):
        real, imaginary = found
        return with_value(real + 1j * imaginary, (complex(*map(strip, parts)),))
    return complex(*parts)


def _as_memory(x: Any) -> Any:
    """The memory of a buffer that holds nothing watched, which Python 3.11 does not ask for."""
    return hand_out(x).data if type(x) in ARRAYS and holds_nothing_watched(x) else None


def _as_numpys(cls: type) -> Callable[[Any], Any]:
    return lambda x: np.astype(as_array(x), cls)[()]


_CONVERTED: dict[Any, Callable[[Any], Any]] = {
    float: _as_float,
    complex: _as_complex,
    type: lambda x: type(strip(x)),
    memoryview: _as_memory,
    **{cls: _as_numpys(cls) for cls in (getattr(np, name) for name in _NUMPYS)},
}


# The method of an object's own that answers a class, which Python asks for a plain number.
_ASKED = {float: "__float__", complex: "__complex__"}


def _asked(f: Any, x: Any) -> Any:
    """What an object's own method answers to ``float(x)`` or ``complex(x)``; None if it has none.

    Python would refuse a watched number, as it is none of the class.
    """
    method = getattr(type(x), _ASKED[f], None)
    value = method(x) if isinstance(method, FunctionType) else None
    if type(value) in WATCHED:
        return Calls.call(f, value)
    return value if type(value) is f else None


def _called(method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return method(*args, **kwargs)


def _inside(method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a method of an array makes in a gradient: copies are buffers, if they are of floats."""
    x, name = getattr(method, "__self__", None), getattr(method, "__name__", "")
    if type(x) is np.ndarray and name in METHODS and watched_leaves((args, kwargs)):
        return METHODS[name](x, *args, **kwargs)
    if name == "astype" and holds_watched_objects(x):
        cls = np.dtype(kwargs.get("dtype", *args[:1])).type
        return _converted(x, cls) if cls in _CONVERTED else method(*args, **kwargs)
    y = method(*args, **kwargs)
    new = name in _COPIES and y is not x and type(y) is np.ndarray and y.dtype.kind in "fc"
    return buffer(y) if new else y


def _converted(x: Any, cls: Any) -> Any:
    """An array of objects, of somebody's class perhaps, with its numbers converted."""
    y = x.copy()
    for k, number in enumerate(x.flat):
        y.flat[k] = Calls.call(cls, number)
    return y


_of_array = dropped_in(_called, _inside)


class Calls:
    """What calls of classes go through."""

    @staticmethod
    def call(f: Any, x: Any, *imaginary: Any) -> Any:
        """``f(x)``; for a watched x and some classes f what that is, watched.

        A type is what stands for it in the module, whose names it is compared with. A complex
        number may be given by its two parts.
        """
        if imaginary:
            return f(x, *imaginary) if f is not complex else _of_parts(x, *imaginary)
        if type(x) in WATCHED and type(f) is type and f in _CONVERTED:
            x = settle(x)
            value = _CONVERTED[f](x) if type(x) in WATCHED else None
            if value is not None:
                return value
        elif f is type:
            return drop_in(type(x))
        elif f is float or f is complex:
            value = _asked(f, x)
            if value is not None:
                return value
        return f(x)

    @staticmethod
    def caller(f: Any) -> Any:
        """A class, for map to call, by its calls here; any other function as it is."""
        return functools.partial(Calls.call, f) if f is float or f is complex else f

    @staticmethod
    def item(x: Any, index: Any) -> Any:
        """``x[index]``, where the index names no element; of a watched scalar of NumPy's, too."""
        scalar = type(x) in WATCHED and type(x) not in ARRAYS
        return (as_array(x) if scalar and isinstance(strip(x), np.generic) else x)[index]

    @staticmethod
    def method(x: Any, name: str) -> Any:
        """``x.name``; of a random generator, an array or a sparse matrix what takes its place."""
        method = getattr(x, name)
        if isinstance(x, (np.random.Generator, np.random.RandomState)):
            return lambda *args, **kwargs: drawn(method, args, kwargs)
        if type(x) not in WATCHED and (isinstance(x, np.ndarray) or name == "toarray"):
            return functools.partial(_of_array, method)
        return method


class _Rewriter(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if _of_compiled(node):
            f: Any = node.func
            method = ast.copy_location(ast.Constant(f.attr), f)
            node.func = _through("method", f, f.value, method)
            return node
        name = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
        if name == "map" and node.args and getattr(node.args[0], "id", "") in ("float", "complex"):
            node.args[0] = _through("caller", node.args[0], node.args[0])
            return node
        if (
            name not in _NAMES
            or node.keywords
            or len(node.args) not in (1, 1 + (name == "complex"))
        ):
            return node
        kinds = {*map(type, node.args)}
        if ast.Starred in kinds or kinds == {ast.Constant}:
            return node
        return _through("call", node, node.func, *node.args)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        first = parts[0] if parts else ast.Constant(...)
        if not isinstance(first, ast.Constant) or first.value is not ... or _has_slice(parts):
            return node
        return _through("item", node, node.value, node.slice)


def _of_compiled(node: ast.Call) -> bool:
    """Whether a call may be one of a random generator's, or an array's, that `Calls` answers."""
    f = node.func
    if not isinstance(f, ast.Attribute) or getattr(f.value, "id", "") in ("np", "numpy"):
        return False
    if f.attr in _COPIES or (f.attr in METHODS and any(k.arg == "out" for k in node.keywords)):
        return True
    return f.attr in DRAWS | _TAKING and bool(node.args or node.keywords)


def _has_slice(parts: list[ast.expr]) -> bool:
    """Whether a subscript is none of a scalar, or is in a syntax that calls do not have."""
    return any(isinstance(part, (ast.Slice, ast.Starred)) for part in parts)


def _through(method: str, node: ast.expr, *given: ast.expr) -> ast.Call:
    """The call of a method of `Calls` in the place of a node, with its line numbers."""
    calls = ast.copy_location(ast.Constant(_CALLS), given[0])
    call = ast.copy_location(ast.Attribute(calls, method, ast.Load()), given[0])
    return ast.copy_location(ast.Call(call, [*given], []), node)


def rewritten(source: str, file: str) -> dict[CodeType, CodeType]:
    """The codes of a text's functions in which there are such calls, and what to run instead."""
    if not _MENTIONED.search(source):
        return {}
    with suppress(SyntaxError, ValueError, RecursionError), read_again():
        tree = ast.parse(source, file)
        plain = compile(tree, file, "exec", dont_inherit=True)
        ours = compile(_Rewriter().visit(tree), file, "exec", dont_inherit=True)
        return {a: _with_calls(b) for a, b in _pairs(plain, ours) if a != b}
    return {}


def source_of(names: dict[str, Any]) -> str:
    """The text of a module, as far as there is one."""
    get, name = getattr(names.get("__loader__"), "get_source", None), names.get("__name__")
    with suppress(ImportError, OSError, ValueError):
        if get is not None and (source := get(name)) is not None:
            return str(source)
    return "".join(linecache.getlines(str(names.get("__file__")), names))


def _pairs(plain: CodeType, ours: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The functions in two versions of a code, each with its like."""
    inner, others = (
        [c for c in code.co_consts if isinstance(c, CodeType)] for code in (plain, ours)
    )
    for a, b in zip(inner, others, strict=True):
        yield a, b
        yield from _pairs(a, b)


def _with_calls(code: CodeType) -> CodeType:
    consts = (
        Calls if c == _CALLS else _with_calls(c) if isinstance(c, CodeType) else c
        for c in code.co_consts
    )  # fmt: skip
    return code.replace(co_consts=tuple(consts))
