"""The module of a whole function or of its derivative, with the arguments that the function has.

The functions of `python_module` take flat arrays and numbers. Here are functions around them that
take the user's arguments apart, and put results, gradients and tangents together as those are:
tuples, lists, dicts, copies of objects. A float of an object that no result depends on is None in
them.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zyg.compiler.aliases import Aliases
from zyg.compiler.autodiff.dependence import is_real
from zyg.compiler.back.python_module import Module
from zyg.compiler.ir import Program, type_of
from zyg.compiler.kinds import NARROW, Array, Kind, Many, Scalar, Static, Struct
from zyg.errors import KernelError

_FLAT = '''
def flat(x):
    """The elements of an array, in order."""
    return np.ascontiguousarray(x).reshape(-1)
'''
_CHANGED = '''
def changed(x, /, **parts):
    """An object like x, of other parts."""
    y = object.__new__(type(x))
    for name, part in {**vars(x), **parts}.items():
        object.__setattr__(y, name, part)
    return y
'''
_PARTS = '''
class Parts:
    """An object that was made inside."""

    def __init__(self, /, **parts):
        vars(self).update(parts)
'''
_DTYPES = {"float": "float64", "float32": "float32", "int": "int64", "bool": "bool_",
           "complex": "complex128"}  # fmt: skip


@dataclass(eq=False, repr=False)
class Signature:
    """What a user calls: a function's name, its parameters, what it returns, what it captured."""

    name: str
    params: Sequence[tuple[str, Kind]]
    result: Kind
    captured: Sequence[tuple[str, Kind, Any]] = ()


@dataclass(eq=False, repr=False)
class _Leaf:
    """A number or an array of the user's, where it is found, and which operand is its first."""

    kind: Scalar | Array
    path: str
    first: int

    @property
    def dims(self) -> str:
        return f", *{self.path}.shape" if isinstance(self.kind, Array) and self.kind.ndim else ""

    @property
    def elements(self) -> str:
        """The operands without dims."""
        if isinstance(self.kind, Array):
            x = f"{self.path}{_transposed(self.kind.order)}"
            wide = ".astype(np.int64)" * (self.kind.element in NARROW)
            return f"flat({x}){wide}{'.view(np.float64)' * _is_complex(self.kind)}"
        if self.kind.type in NARROW:
            return f"np.int64({self.path})"
        return f"{self.path}.real, {self.path}.imag" if _is_complex(self.kind) else self.path


class _Wrapper:
    """What the functions around the flat ones share."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        params = [name for name, _ in signature.params]
        self.taken = {*params, "flat", "changed", "Parts", "np", "math", "value", "kept"}
        self.captured = [
            (self.fresh(_identifier(name)), kind, x) for name, kind, x in signature.captured
        ]
        self.leaves: list[_Leaf] = []
        self.names: list[str] = []  # of all operands, in the flat functions
        flat = {"np", "math", "range", "abs", "float", "int", "matrix", "gamma", "lgamma"}
        named = [*signature.params, *((name, kind) for name, kind, _ in self.captured)]
        for name, kind in named:
            for path, leaf in _leaves(kind, name):
                self.leaves.append(_Leaf(leaf, path, len(self.names)))
                self.names += [_free(_identifier(path) + end, flat) for end in _ends(leaf)]
        self.module = Module()
        self.module.taken |= self.taken
        self.params, self.tuple = ", ".join(params), _tuple(params)
        self.used = {"flat"}
        self.same: dict[int | None, str] = {}  # arguments that may be results, by first operand

    def fresh(self, name: str) -> str:
        """A name that nothing else has."""
        return _free(name, self.taken)

    def operands(self) -> str:
        return ", ".join(leaf.elements + leaf.dims for leaf in self.leaves)

    def define(self, program: Program, name: str, names: Sequence[str]) -> str:
        self.module.add(program, name, names, quiet=True)
        return self.module.names[program]

    # What is put together

    def made(self, kind: Kind, outs: Iterator[str], dots: Mapping[str, str] | None = None) -> str:
        """A result, of the names of its operands; or its tangent, of those of their tangents."""
        if isinstance(kind, Static):
            return _known(kind.value) if dots is None else "None"
        if isinstance(kind, Struct):
            return self.together(kind, [self.made(part, outs, dots) for part in kind.parts])
        if isinstance(kind, Many):
            raise _growing()
        names = [next(outs) for _ in _ends(kind)]
        if dots is not None and names[0] not in dots:
            return "None"
        names = [name if dots is None else dots.get(name, name) for name in names]
        if isinstance(kind, Array) and kind.same in self.same:
            return self.same[kind.same]
        if isinstance(kind, Array):
            size = " * ".join(names[1:]) or "1"
            return _shaped(f"{names[0]}{_view(kind)}[:{size}]", names[1:], kind)
        number = f"complex({', '.join(names[:2])})" if _is_complex(kind) else names[0]
        made = _of_kind(kind, number)
        if dots is not None:
            return made
        for way, flag in reversed([*zip(kind.ways, names[1 + _is_pair(kind) :], strict=True)]):
            real = ".real" * (_is_complex(kind) and way.type != "complex")
            made = f"({_of_kind(way, number + real)} if {flag} else {made})"
        return made

    def together(self, kind: Struct, parts: Sequence[str], given: str = "") -> str:
        """An object of its parts; `given` is one of its kind."""
        row = ", ".join(parts)
        if kind.type is dict:
            pairs = zip(kind.keys, parts, strict=True)
            return f"{{{', '.join(f'{key!r}: {part}' for key, part in pairs)}}}"
        if issubclass(kind.type, list):
            return f"[{row}]"
        if issubclass(kind.type, tuple):
            named = given and hasattr(kind.type, "_make")
            return f"type({given})({row})" if named else _tuple(parts)
        named_parts = ", ".join(f"{key}={part}" for key, part in zip(kind.keys, parts, strict=True))
        if given:
            self.used.add("changed")
            return f"changed({given}, {named_parts})"
        self.used.add("Parts")
        return f"Parts({named_parts})"

    def along(self, path: str, kind: Kind, bars: Mapping[str, str]) -> str:
        """The gradient of an argument, of the cotangents of what is in it."""
        if isinstance(kind, Struct):
            parts = [self.along(path + _step(kind, k), part, bars)
                     for k, part in enumerate(kind.parts)]  # fmt: skip
            return "None" if {*parts} <= {"None"} else self.together(kind, parts, path)
        if path not in bars:
            return "None"
        if isinstance(kind, Array):
            return _like(f"{bars[path]}{_view(kind)}", path, kind)
        return f"complex({bars[path]})" if _is_complex(kind) else bars[path]

    def gradients(self, active: Sequence[int]) -> tuple[list[str], str]:
        """The names of the cotangents, and the gradients, as a tuple, of those."""
        names = {k: self.fresh(f"{self.names[k]}_bar") for k in active}
        bars = {}
        for leaf in self.leaves:
            own = [names.get(leaf.first + k) for k in range(1 + _is_pair(leaf.kind))]
            if any(own):
                bars[leaf.path] = ", ".join(name or "0.0" for name in own)
        parts = [self.along(name, kind, bars) for name, kind in self.signature.params]
        return [*names.values()], _tuple(parts)

    def outs(self, program: Program) -> list[str]:
        """The names of the operands of the result."""
        count = sum(len(_ends(leaf)) for _, leaf in _leaves(self.signature.result, ""))
        return [self.fresh(f"y{k}") for k in range(count)]

    def text(self, of: str) -> str:
        parts = {"flat": _FLAT, "changed": _CHANGED, "Parts": _PARTS}
        self.module.functions[:0] = [parts[name].lstrip("\n") for name in sorted(self.used)]
        if self.captured:
            lines = [f"{name} = {_number(x)}" for name, _, x in self.captured]
            self.module.functions.insert(0, "\n".join(lines) + "\n")
        return self.module.text(f"{self.signature.name}: its {of}, as zyg read and derived it.")


def wrapped_text(
    signature: Signature,
    program: Program,
    of: str = "value",
    active: Sequence[int] = (),
    value: Program | None = None,
) -> str:
    """The text of a module that computes a function or its derivative, without zyg.

    `of` says of what: the "value", by the function's own name; the "gradient", by
    ``name_gradient(*args) -> (value, gradients)``; the "pushforward", by
    ``name_pushforward(primals, tangents) -> (value, tangent)``; the "pullback", by
    ``name_forward(*args) -> (value, kept)`` and ``name_reverse(kept, cotangent) -> gradients``.
    `program` is of that: it takes tangents before the operands, or cotangents after them, and
    yields tangents or cotangents after the outputs; `active` are the operands that have them.
    Of a pullback, `value` is the program of the function itself.
    """
    wrapper = _Wrapper(signature)
    lines = _WAYS[of](wrapper, program, active, value)
    wrapper.module.functions.append("\n".join(lines) + "\n")
    return wrapper.text(of)


def _value(wrapper: _Wrapper, program: Program, active: Any, value: Any) -> Iterator[str]:
    """What is written into an argument that is not contiguous is written back."""
    name, memory = wrapper.signature.name, Aliases(program)
    flat, operands = wrapper.define(program, f"flat_{name}", wrapper.names), wrapper.operands()
    wrapper.same = {leaf.first: leaf.path for leaf in wrapper.leaves}
    outs, back = wrapper.outs(program), []
    yield f"def {name}({wrapper.params}):"
    for leaf in wrapper.leaves:
        if isinstance(leaf.kind, Array) and memory.is_changed(program.inputs[leaf.first]):
            own = wrapper.fresh(f"{wrapper.names[leaf.first]}_flat")
            x = f"{leaf.path}{_transposed(leaf.kind.order)}"
            yield f"    {own} = flat({x})"
            operands = operands.replace(f"flat({x})", own)
            back.append(f"    {leaf.path}[...] = {_like(own, leaf.path, leaf.kind)}")
    yield f"    {_targets(outs)}{flat}({operands})"
    yield from back
    yield f"    return {wrapper.made(wrapper.signature.result, iter(outs))}"


def _gradient(
    wrapper: _Wrapper, program: Program, active: Sequence[int], value: Any
) -> Iterator[str]:
    name = wrapper.signature.name
    flat = wrapper.define(program, f"flat_{name}_gradient", wrapper.names)
    outs = wrapper.outs(program)
    bars, gradients = wrapper.gradients(active)
    yield f"def {name}_gradient({wrapper.params}):"
    yield f"    {_targets([*outs, *bars])}{flat}({wrapper.operands()})"
    yield f"    return {wrapper.made(wrapper.signature.result, iter(outs))}, {gradients}"


def _pushforward(
    wrapper: _Wrapper, program: Program, active: Sequence[int], value: Any
) -> Iterator[str]:
    """The tangents have the structure of the arguments; what is not a float has none."""
    name, params = wrapper.signature.name, wrapper.signature.params
    flat = wrapper.define(
        program,
        f"flat_{name}_pushforward",
        [*(wrapper.fresh(f"{wrapper.names[k]}_dot") for k in active), *wrapper.names],
    )
    outs = wrapper.outs(program)
    moving = [out for out, y in zip(outs, program.outputs, strict=False) if is_real(type_of(y))]
    dots = {out: wrapper.fresh(f"{out}_dot") for out in moving}
    along = [(wrapper.fresh(f"{p}_tangent"), kind) for p, kind in params]
    tangents = _Wrapper(Signature(name, along, Static(None))).leaves
    given = [leaf.elements for leaf in tangents if leaf.first in active]
    yield f"def {name}_pushforward(primals, tangents):"
    yield f"    {wrapper.tuple} = primals"
    yield f"    {_tuple([p for p, _ in along])} = tangents"
    row = ", ".join([*given, wrapper.operands()])
    yield f"    {_targets([*outs, *dots.values()])}{flat}({row})"
    result = wrapper.signature.result
    yield f"    value = {wrapper.made(result, iter(outs))}"
    yield f"    return value, {wrapper.made(result, iter(outs), dots)}"


def _pullback(
    wrapper: _Wrapper, program: Program, active: Sequence[int], value: Program
) -> Iterator[str]:
    """The arguments are kept, as copies, and all is computed again."""
    name, result = wrapper.signature.name, wrapper.signature.result
    forward = wrapper.define(value, f"flat_{name}", wrapper.names)
    outs = wrapper.outs(value)
    given = [wrapper.fresh(f"{out}_bar") for out, y in zip(outs, value.outputs, strict=True)
             if is_real(type_of(y))]  # fmt: skip
    reverse = wrapper.define(program, f"flat_{name}_reverse", [*wrapper.names, *given])
    bars, gradients = wrapper.gradients(active)
    copies = re.sub(r"(flat\([^)]*\))", r"\1.copy()", wrapper.operands())
    yield f"def {name}_forward({wrapper.params}):"
    yield f"    kept = {wrapper.tuple}, ({copies},)"
    yield f"    {_targets(outs)}{forward}({copies})"
    yield f"    return {wrapper.made(result, iter(outs))}, kept"
    yield "\n"
    yield f"def {name}_reverse(kept, cotangent):"
    yield f"    {wrapper.tuple}, operands = kept"
    along = [_Leaf(leaf, path, 0).elements for path, leaf in _leaves(result, "cotangent")
             if _element(leaf) not in ("int", "bool", *NARROW)]  # fmt: skip
    row = ", ".join(["*operands", *along])
    yield f"    {_targets(['_'] * len(outs) + bars)}{reverse}({row})"
    yield f"    return {gradients}"


_WAYS: dict[str, Callable[[_Wrapper, Program, Sequence[int], Any], Iterator[str]]] = {
    "value": _value, "gradient": _gradient, "pushforward": _pushforward, "pullback": _pullback,
}  # fmt: skip


def _leaves(kind: Kind, path: str) -> Iterator[tuple[str, Scalar | Array]]:
    """The numbers and arrays in an object, and where they are."""
    if isinstance(kind, Struct):
        for k, part in enumerate(kind.parts):
            yield from _leaves(part, path + _step(kind, k))
    elif isinstance(kind, Many):
        raise _growing()
    elif not isinstance(kind, Static):
        yield path, kind


def _growing() -> KernelError:
    return KernelError(
        "a list of unknown length as the result cannot be written as text.",
        "zyg keeps its numbers in columns of memory.",
        "return np.array of it.",
    )


def _ends(kind: Scalar | Array) -> list[str]:
    """What the names of its operands end in."""
    if isinstance(kind, Array):
        return ["", *(f"_n{k}" if kind.ndim > 1 else "_n" for k in range(kind.ndim))]
    flags = [f"_is{k}" for k in range(len(kind.ways))]
    return [*(["_re", "_im"] if _is_pair(kind) else [""]), *flags]


def _of_kind(kind: Scalar, number: str) -> str:
    """A number as one of a kind."""
    if kind.type == "complex" and kind.python:
        return number
    return f"{kind.type if kind.python else f'np.{_DTYPES.get(kind.type, kind.type)}'}({number})"


def _is_complex(kind: Kind) -> bool:
    return isinstance(kind, (Scalar, Array)) and _element(kind) == "complex"


def _element(kind: Scalar | Array) -> str:
    return kind.element if isinstance(kind, Array) else kind.type


def _is_pair(kind: Kind) -> bool:
    """Whether it is a number of two operands."""
    return isinstance(kind, Scalar) and kind.type == "complex"


def _view(kind: Array) -> str:
    if kind.element in NARROW:
        return f".astype(np.{kind.element})"
    return ".view(np.complex128)" if _is_complex(kind) else ""


def _step(kind: Struct, k: int) -> str:
    if issubclass(kind.type, (tuple, list)):
        return f"[{k}]"
    return f"[{kind.keys[k]!r}]" if kind.type is dict else f".{kind.keys[k]}"


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _identifier(path: str) -> str:
    name = re.sub(r"\W+", "_", path).strip("_")
    return name + "_" if keyword.iskeyword(name) else name


def _tuple(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"


def _targets(outs: Sequence[str]) -> str:
    return f"{', '.join(outs)} = " if outs else ""


def _shaped(flat: str, dims: Sequence[str], kind: Array) -> str:
    """The text of an array, of that of its elements in order."""
    if len(dims) == 1:
        return flat
    made = f"{flat}.reshape({', '.join(dims[k] for k in kind.order) or '()'})"
    return made + _transposed(_back(kind.order))


def _like(flat: str, path: str, kind: Array) -> str:
    """The same of an array like another one."""
    shape = f"{path}{_transposed(kind.order)}.shape"
    return f"{flat}.reshape({shape}){_transposed(_back(kind.order))}"


def _transposed(order: Sequence[int]) -> str:
    return "" if [*order] == sorted(order) else f".transpose({', '.join(map(str, order))})"


def _back(order: Sequence[int]) -> list[int]:
    return sorted(order, key=order.__getitem__)


def _known(x: Any) -> str:
    if x is None or isinstance(x, (str, bytes, int, float, bool)):
        return repr(x)
    raise KernelError(
        f"{x!r} cannot be written as text.", "source() supports numbers, arrays and structures of "
        "those.",
        "return something else.",
    )  # fmt: skip


def _number(x: Any) -> str:
    """A captured number or array, as text."""
    if not isinstance(x, np.ndarray):
        return repr(x.item() if isinstance(x, np.generic) else x)
    text = re.sub(r"\b(inf|nan)\b", r"math.\1", repr(x.ravel().tolist()))
    return f"np.array({text}, np.{x.dtype}).reshape({x.shape})"
