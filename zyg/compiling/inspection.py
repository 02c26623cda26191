"""What a compiled function does with arguments of a kind: in words, and as the text of a module."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.base.config import config, setting
from zyg.base.signatures import users_signature
from zyg.base.tables import preformatted, table
from zyg.compiler.autodiff import reverse
from zyg.compiler.back.native_function import Stopped
from zyg.compiler.back.python_signature import Signature, wrapped_text
from zyg.compiler.draws import drawn_of
from zyg.compiler.front.captures import follow, named
from zyg.compiler.ir import Alloc, For, Op, Program, Value, While, element_of, is_buffer, show
from zyg.compiling.operations import Operation
from zyg.compiling.specialize import Specialization
from zyg.core.strand import settle, strip
from zyg.errors import CompileError

_BYTES = {"float": 8, "float32": 4, "int": 8, "bool": 1}
_DERIVED = {"gradient": reverse.gradient, "pullback": reverse.vjp}
_OF = ("value", "pushforward", *_DERIVED)


class Inspection(dict[str, Any]):
    """What is known of a call, by name; it prints as a table, without the texts of programs."""

    def __repr__(self) -> str:
        rows = [_HEAD, *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table_of = ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*self._said(), *(table_of if len(rows) > 1 else [])])

    def _repr_html_(self) -> str:
        first, *rest = self._said()
        said = preformatted("\n".join(rest)) if rest else ""
        return table(first, _HEAD, self._rows()) + said

    def _said(self) -> list[str]:
        """What there is to say before the table."""
        head = "machine code" if self["native"] else "runs in Python"
        lines = [f"{self['name']}: {head}"]
        if self["reason"]:
            lines += [f"  {line}" for line in self["reason"].splitlines()]
        if called := self.get("called back"):
            lines.append(f"  called back: {', '.join(called)}")
        for why, count in self.get("stops", {}).items():
            lines.append(f"  run in Python at {why}: {count} times")
        return lines

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = []
        for form, row in self["forms"].items():
            seconds = f"{row['seconds']:.3f}" if "seconds" in row else ""
            rows.append((form, row["mode"], row.get("origin", ""), seconds, _kept(row)))
        return rows


_HEAD = ("form", "mode", "machine code", "seconds", "kept")


def _kept(row: dict[str, Any]) -> str:
    if "kept" not in row:
        return ""
    count = len(row["kept"])
    buffers = f"{count} buffer{'s' * (count != 1)}"
    size = "sizes are found in the call" if row["bytes"] is None else f"{row['bytes']:,} bytes"
    return f"{buffers}, {size}"


def known_call(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, str]:
    """A call with what is known for its arguments, or None, and why it runs in Python."""
    reason = "the arguments do not fit, or an int is beyond 64 bits"
    try:
        with config(fallback="error"):
            call = f.call(args, kwargs)
    except CompileError as error:
        reason = str(error)
        with config(fallback="silent"):
            call = f.call(args, kwargs)
    return call, reason if call is None else ""


def inspected(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inspection:
    """What `Compiled.inspect` returns."""
    call, why = known_call(f, args, kwargs)
    if call is None:
        return Inspection(name=f.__name__, native=False, reason=why, forms={})
    read, value = call.known, call.known.operation
    machine = _machine(value)
    found = Inspection(name=f.__name__, native=True, reason="", value=show(value.program),
                       **machine, forms={"value": {"mode": "", **machine}})  # fmt: skip
    found["stops"] = dict(f.stops)
    found["called back"] = {g: str(why or "by its rule") for g, why in read.called_back}
    active = None if read.refusal() else read.active(f.wrt)
    if active is None:
        reason = read.refusal() or "a derivative by an int is that of the traced engine"
        found |= {"gradient": None, "mode": "traced", "reason": str(reason)}
        found["forms"]["gradient"] = {"mode": "traced"}
        return found
    pullback, _ = value.pullback(active)
    buffers = _allocated(pullback.program, call.operands)
    kept = {
        "mode": "reverse",
        "kept": buffers,
        "bytes": None if None in buffers.values() else sum(buffers.values()),
    }
    found["forms"]["gradient"] = kept | _machine(pullback)
    found |= {"gradient": show(pullback.program), **kept}
    return found


def _machine(operation: Operation) -> dict[str, Any]:
    native = operation.compiled()
    return {"origin": native.origin, "seconds": native.seconds}


def _allocated(program: Program, operands: list[Any]) -> dict[str, Any]:
    """The buffers that a program makes outside of loops, and their bytes where they are known."""
    known = dict(zip(program.inputs, map(strip, operands), strict=False))
    found: dict[str, Any] = {}
    growing = {x for op in program.body.ops if isinstance(op, (For, While)) for x in op.init}
    for op in program.body.ops:
        if isinstance(op, Op) and op.out.type == "int":
            args = [known.get(x) if isinstance(x, Value) else x for x in op.args]
            function = getattr(np, op.name, None)
            if function is not None and None not in args:
                known[op.out] = int(function(*args))
        elif isinstance(op, Alloc) and not is_buffer(element := element_of(op.out.type)):
            size: Any = known.get(op.size) if isinstance(op.size, Value) else op.size
            name = f"{element}[] {len(found)}"
            known_size = size is not None and op.out not in growing
            found[name] = int(size) * _BYTES[element] if known_size else None
    return found


def stops(operation: Operation, operands: Sequence[Any]) -> bool:
    """Whether machine code leaves a call to Python; arrays that it writes to are copies."""
    plain = [strip(settle(x)) for x in operands]
    try:
        operation.run([x.copy() if isinstance(x, np.ndarray) else x for x in plain])
    except Stopped:
        return True
    for drawn in drawn_of(plain):
        drawn.undo()
    return False


def running(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What is known for arguments, of any sizes where it stops for those that are unusual."""
    call = f.call(args, kwargs)
    if call is not None and call.known.assumes and stops(call.known.plain, call.operands):
        return f.call(args, kwargs, assuming=False)
    return call


def text_of(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], of: str) -> str:
    """What `Compiled.source` returns."""
    if of not in _OF:
        raise ValueError(f"there is no source of {of!r}; use one of {', '.join(_OF)}")
    with config(fallback="error"):
        call = running(f, args, kwargs)
    active: Any = None if call is None or call.known.refusal() else call.known.active(f.wrt)
    if call is None or (active is None and of != "value"):
        raise CompileError(
            f"there is no source of the {of} of {f.__name__} for these arguments.",
            "for them it is not compiled, and runs in Python.",
            "pass floats, not ints, for arguments to differentiate.",
        )
    if of == "gradient" and call.known.loss is None:
        raise CompileError(
            f"there is no source of the gradient of {f.__name__} for these arguments.",
            "only one real number has a gradient, alone or as the first of a tuple.",
            'ask for of="pullback".',
        )
    operation, signature = call.known.operation, _signature(f, call.known, args, kwargs)
    if of == "value":
        return wrapped_text(signature, operation.program)
    strong = bool(setting("strong_zero"))
    if of == "pushforward":
        return wrapped_text(signature, operation.with_tangents(active, strong), of, active)
    derived: Any = operation.reversed(_DERIVED[of], active, strong)
    return wrapped_text(signature, derived[0], of, derived[1], operation.program)


def _signature(
    f: Any, read: Specialization, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Signature:
    bound = users_signature(f).bind(*args, **kwargs)
    names: list[str] = []
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{name}_{k}" for k in range(len(value))]
        elif kind is not inspect.Parameter.VAR_KEYWORD:
            names.append(name)
    positional = names[: len(args)]
    params = [*zip((*positional, *kwargs), (*read.kinds, *read.keywords.values()), strict=True)]
    captured: list[Any] = [
        (named(path), read.captures.kinds[path][0], strip(follow(f.__wrapped__, path)))
        for path in read.captures.operands
    ]
    return Signature(
        f.__name__ if f.__name__.isidentifier() else "f", params, read.result, captured
    )
