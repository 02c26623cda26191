"""What a compiled function does with arguments of a kind: in words, and as the text of a module."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from zyg.base.config import config
from zyg.compiler.back.wrapped import Signature, wrapped_text
from zyg.compiler.derive import forward, reverse
from zyg.compiler.front.captures import follow, named
from zyg.compiler.ir import Alloc, Op, Program, Value, element_of, is_buffer, show
from zyg.compiling.operations import Operation
from zyg.compiling.reads import Read
from zyg.core.strand import strip
from zyg.errors import CompileError

_BYTES = {"float": 8, "float32": 4, "int": 8, "bool": 1}
_OF = ("value", "gradient", "pushforward", "pullback")


def inspected(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What `Compiled.inspect` returns."""
    try:
        with config(fallback="error"):
            call = f.call(args, kwargs)
    except CompileError as error:
        return {"native": False, "reason": str(error)}
    if call is None:
        return {"native": False, "reason": "the arguments do not fit, or an int is beyond 64 bits"}
    read, value = call.read, call.read.operation
    found = {"native": True, "reason": "", "value": show(value.program), **_machine(value)}
    active = None if read.refusal() else read.active(f.wrt)
    if active is None:
        reason = read.refusal() or "a derivative by an int is that of the traced engine"
        return {**found, "gradient": None, "mode": "traced", "reason": str(reason)}
    pullback, _ = value.pullback(active)
    buffers = _allocated(pullback.program, call.operands)
    return {
        **found,
        "gradient": show(pullback.program),
        "mode": "reverse",
        "kept": buffers,
        "bytes": None if None in buffers.values() else sum(buffers.values()),
    }


def _machine(operation: Operation) -> dict[str, Any]:
    native = operation.compiled()
    return {"origin": native.origin, "seconds": native.seconds}


def _allocated(program: Program, operands: list[Any]) -> dict[str, Any]:
    """The buffers that a program makes outside of loops, and their bytes where they are known."""
    known = dict(zip(program.inputs, map(strip, operands), strict=False))
    found: dict[str, Any] = {}
    for op in program.body.ops:
        if isinstance(op, Op) and op.out.type == "int":
            args = [known.get(x) if isinstance(x, Value) else x for x in op.args]
            function = getattr(np, op.name, None)
            if function is not None and None not in args:
                known[op.out] = int(function(*args))
        elif isinstance(op, Alloc) and not is_buffer(element := element_of(op.out.type)):
            size: Any = known.get(op.size) if isinstance(op.size, Value) else op.size
            name = f"{element}[] {len(found)}"
            found[name] = None if size is None else int(size) * _BYTES[element]
    return found


def text_of(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], of: str) -> str:
    """What `Compiled.source` returns."""
    if of not in _OF:
        raise ValueError(f"there is no source of {of!r}; there is that of {', '.join(_OF)}")
    with config(fallback="error"):
        call = f.call(args, kwargs)
    active: Any = None if call is None or call.read.refusal() else call.read.active(f.wrt)
    if call is None or (active is None and of != "value"):
        raise CompileError(
            f"{f.__name__} has no text of its {of} for these arguments.",
            "it is not compiled for them, and runs in Python.",
            "pass floats for ints by which derivatives are taken.",
        )
    program, signature = call.read.operation.program, _signature(f, call.read, args, kwargs)
    if of == "value":
        return wrapped_text(signature, program)
    if of == "pushforward":
        made = forward.pushforward(program, active)
        return wrapped_text(signature, made, of, active)
    derive = reverse.gradient if of == "gradient" else reverse.vjp
    derived = derive(program, active)
    return wrapped_text(signature, derived.program, of, derived.moving, program)


def _signature(f: Any, read: Read, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Signature:
    bound = inspect.signature(f).bind(*args, **kwargs)
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
        (
            named(path).replace(".", "_"),
            read.captures.kinds[path][0],
            strip(follow(f.__wrapped__, path)),
        )
        for path in read.captures.operands
    ]
    return Signature(
        f.__name__ if f.__name__.isidentifier() else "f", params, read.result, captured
    )
