"""Programs carried out operation by operation: an oracle that knows no printer.

A buffer is a list. What it checks besides: every index is within its buffer, nothing is read before
it is written, no value is made twice or used where it is not seen.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.compiler import libraries
from zyg.compiler.ir import (
    Alloc,
    Block,
    Call,
    Check,
    For,
    If,
    Load,
    Op,
    Program,
    Routine,
    Store,
    Value,
    While,
    element_of,
    is_buffer,
)
from zyg.functions.operations import OVERFLOW

_ZEROS = {"float": 0.0, "float32": np.float32(0), "int": 0, "uint": 0, "bool": False}
_OTHERS: dict[str, Callable[..., Any]] = {
    "float": float, "float32": np.float32, "int": int, "bool": bool, "constant": lambda x: x,
    "select": lambda c, x, y: x if c else y, "erf": math.erf, "erfc": math.erfc,
    "lgamma": math.lgamma, "gamma": math.gamma, "int_power": pow,
}  # fmt: skip


class Stopped(Exception):  # noqa: N818
    """A check has failed."""


class _Memory(list):  # type: ignore[type-arg]
    def __getitem__(self, k: Any) -> Any:
        assert k in range(len(self)), f"index {k} of {len(self)}"
        found = super().__getitem__(k)
        assert found is not None, f"element {k} is read before it is written"
        return found

    def __setitem__(self, k: Any, x: Any) -> None:
        assert k in range(len(self)), f"index {k} of {len(self)}"
        super().__setitem__(k, x)


def interpreted(program: Program, *args: Any) -> list[Any]:
    """What a program yields; arrays and lists among the arguments are buffers, in which it writes.

    Buffers come back as arrays.
    """
    given = [
        _Memory(x if x.dtype == np.float32 else x.tolist()) if isinstance(x, np.ndarray) else x
        for x in args
    ]
    with np.errstate(all="ignore"):
        outs = _program(program, given)
    for x, memory in zip(args, given, strict=True):
        if isinstance(x, np.ndarray):
            x[:] = memory
    return [np.array([0 if v is None else v for v in x]) if isinstance(x, list) else x
            for x in outs]  # fmt: skip


def _program(program: Program, args: Sequence[Any]) -> list[Any]:
    env = dict(zip(program.inputs, args, strict=True))
    _block(program.body, env)
    return [_atom(x, env) for x in program.outputs]


def _atom(x: Any, env: dict[Value, Any]) -> Any:
    return env[x] if isinstance(x, Value) else x


def _block(block: Block, env: dict[Value, Any]) -> list[Any]:
    for op in block.ops:
        _WAYS[type(op)](op, env)
    return [_atom(x, env) for x in block.yields]


def _op(op: Op, env: dict[Value, Any]) -> None:
    args = [env[x] if isinstance(x, Value) else x for x in op.args]
    if op.callee is not None:
        (env[op.out],) = _program(op.callee, args)
        return
    if op.row.types == OVERFLOW:
        env[op.out] = op.row.exact(*args)
        return
    function: Any = _OTHERS[op.name] if op.name in _OTHERS else getattr(np, op.name)
    if op.name == "power" and op.out.type == "float":
        function, args = np.float_power, [float(x) for x in args]
    y = function(*args)
    y = y.item() if isinstance(y, np.generic) and op.out.type != "float32" else y
    env[op.out] = np.float32(y) if op.out.type == "float32" else y
    assert type(env[op.out]) is _TYPES[op.out.type], f"{op.name} made {y!r}, no {op.out.type}"


_TYPES = {"float": float, "float32": np.float32, "int": int, "bool": bool}


def _alloc(op: Alloc, env: dict[Value, Any]) -> None:
    kind, size = element_of(op.out.type), _atom(op.size, env)
    assert size >= 0
    start = _ZEROS[kind] if op.zeroed and not is_buffer(kind) else None
    env[op.out] = _Memory([start] * size)


def _load(op: Load, env: dict[Value, Any]) -> None:
    env[op.out] = env[op.buffer][_atom(op.index, env)]


def _store(op: Store, env: dict[Value, Any]) -> None:
    env[op.buffer][_atom(op.index, env)] = _atom(op.value, env)


def _check(op: Check, env: dict[Value, Any]) -> None:
    if not op.of_slopes and not _atom(op.condition, env):
        raise Stopped(op.why)


def _call(op: Call, env: dict[Value, Any]) -> None:
    env.update(zip(op.outs, _program(op.callee, [_atom(x, env) for x in op.args]), strict=True))


def _product(m: int, n: int, k: int, a: Any, a0: int, ar: int, ac: int, b: Any, b0: int, br: int,
             bc: int, c: Any, c0: int, cr: int, cc: int) -> None:  # fmt: skip
    for i in range(m):
        for j in range(n):
            total = c[c0 + i * cr + j * cc]
            for q in range(k):
                total += a[a0 + i * ar + q * ac] * b[b0 + q * br + j * bc]
            c[c0 + i * cr + j * cc] = total


def _sort(n: int, a: Any, first: int) -> tuple[bool]:
    row = np.sort([a[first + k] for k in range(n)]).tolist()
    for k in range(n):
        a[first + k] = row[k]
    return (True,)


def _argsort(kind: Any, n: int, a: Any, first: int, order: Any, start: int) -> tuple[bool]:
    row = np.argsort(np.array([a[first + k] for k in range(n)]), kind=kind).tolist()
    for k in range(n):
        order[start + k] = row[k]
    return (True,)


def _loop(row: Any, count: int, *args: Any) -> None:
    """An inner loop of NumPy's over matrices, as its ufunc."""
    known, given = dict(zip(row.names, args, strict=False)), list[Any]()
    operands = args[len(row.names) :]
    for x, axes, element in zip(operands, row.axes[: row.inputs], row.elements, strict=False):
        if not axes:
            given.append(x)
            continue
        parts = np.array([x[k] for k in range(count * math.prod(known[n] for n in axes) * (
            1 + (element == "D")))])  # fmt: skip
        whole = parts.view(complex) if element == "D" else parts
        given.append(whole.reshape(count, *(known[n] for n in axes)))
    with np.errstate(all="ignore"):
        made = getattr(np.linalg._umath_linalg, row.ufunc)(*given)  # type: ignore[attr-defined]
    found = [*(made if isinstance(made, tuple) else (made,))]
    pairs = [*zip(operands[row.inputs :], found, strict=True)]
    pairs += [(operands[0], given[0])] * (row.ufunc == "qr_r_raw")  # which writes over it
    for x, y in pairs:
        flat = np.ascontiguousarray(y).reshape(-1)
        numbers = (flat.view(float) if flat.dtype == complex else flat).tolist()
        for k, number in enumerate(numbers):
            x[k] = number


_ROUTINES = {
    **{name: functools.partial(_loop, row) for name, row in libraries.LOOPS.items()
       if row.module == libraries.LINALG},
    "product": _product, "sort": _sort, "argsort": functools.partial(_argsort, None),
    "argsort, stable": functools.partial(_argsort, "stable"),
}  # fmt: skip


def _routine(op: Routine, env: dict[Value, Any]) -> None:
    made = _ROUTINES[op.name](*(_atom(x, env) for x in op.args))
    env.update(zip(op.outs, made or (), strict=True))


def _if(op: If, env: dict[Value, Any]) -> None:
    made = _block(op.then if _atom(op.condition, env) else op.orelse, env)
    env.update(zip(op.outs, made, strict=True))


def _for(op: For, env: dict[Value, Any]) -> None:
    carried = [_atom(x, env) for x in op.init]
    for k in range(*(_atom(x, env) for x in op.span)):
        env.update(zip([op.index, *op.params], [k, *carried], strict=True))
        carried = _block(op.body, env)
    env.update(zip(op.outs, carried, strict=True))


def _while(op: While, env: dict[Value, Any]) -> None:
    carried = [_atom(x, env) for x in op.init]
    while True:
        env.update(zip(op.params, carried, strict=True))
        if not operator.truth(_block(op.test, env)[0]):
            break
        carried = _block(op.body, env)
    env.update(zip(op.outs, carried, strict=True))


_WAYS: dict[type, Callable[[Any, dict[Value, Any]], None]] = {
    Op: _op, Alloc: _alloc, Load: _load, Store: _store, Check: _check, Call: _call,
    Routine: _routine, If: _if, For: _for, While: _while,
}  # fmt: skip
