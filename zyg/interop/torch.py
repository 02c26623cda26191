"""Calls into PyTorch: `wrap` of functions and of modules, whose parameters are data."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from zyg.base.containers import Engine
from zyg.base.extras import demand_version
from zyg.base.marks import Named
from zyg.base.references import has_lock
from zyg.errors import ConversionError, MutationError
from zyg.interop.operands import Operands, Result
from zyg.interop.partner import Partner, call, over
from zyg.verbs.checkpoints import GENERATORS, GLOBAL_GENERATORS

demand_version("PyTorch", torch.__version__, "2.4")

SMALL = 4096  # bytes; to copy more takes longer than to hand over
GENERATORS[torch.Generator] = torch.Generator.get_state, torch.Generator.set_state
GLOBAL_GENERATORS.append(torch.default_generator)
_TRACING = torch._C._TorchDispatchModeKey.PROXY
_storage_users = getattr(torch._C, "_storage_Use_Count", None)


# Arrays and tensors


def tensor_of(x: Any, *, shared: bool = True) -> torch.Tensor:
    """The tensor of a plain number or array, in its memory where it can be.

    Memory that is read-only is `shared` where nobody writes to the tensor, and else copied.
    """
    if isinstance(x, torch.Tensor):
        return x.detach()
    if type(x) is not np.ndarray:
        if not isinstance(x, (bool, int, float, complex, np.generic, np.ndarray)):
            raise _without_dtype(type(x).__name__)
        x = np.asarray(x)
    if not x.flags.writeable:
        x = over(x, x) if shared and x.nbytes > SMALL else x.copy()
    try:
        return torch.from_numpy(x)
    except ValueError:  # its order of bytes or of elements
        return torch.from_numpy(x.astype(x.dtype.newbyteorder("="), "C"))
    except TypeError:
        raise _without_dtype(str(x.dtype)) from None


def _without_dtype(name: str) -> ConversionError:
    return ConversionError(
        f"PyTorch has no numbers of type {name}.",
        "they would be rounded, or change their meaning.",
        "pass x.astype(np.float64), or compute this part in NumPy.",
        tag="partner-dtype",
    )


def array_of(t: torch.Tensor) -> Any:
    """The array of a tensor, in its memory; a number if it has no axes."""
    if torch._C._get_dispatch_mode(_TRACING) is not None:
        raise _unseen("it records what is computed, and zyg's part would enter as a constant")
    try:
        x = t.detach().numpy()
    except (TypeError, RuntimeError):
        x = _array_of_any(t)
    return x if x.ndim else x[()]


def _array_of_any(t: torch.Tensor) -> Any:
    """The same of what does not have its numbers there as they are, or has others than NumPy."""
    if torch._C._functorch.is_legacy_batchedtensor(t):
        raise _unseen("PyTorch's older vmap has no way into a function of Python's")
    if t.layout is not torch.strided or not t.is_cpu:
        where = t.device.type if t.layout is torch.strided else "sparse"
        raise not_on_host(f"a result is a {where} tensor", "return y.cpu(), or y.to_dense()")
    try:
        return t.detach().resolve_conj().resolve_neg().numpy()
    except TypeError:
        raise ConversionError(
            f"NumPy has no dtype for {t.dtype}.",
            "NumPy cannot hold them without a conversion.",
            "return y.float(), or y.double().",
            tag="partner-dtype",
        ) from None


def _unseen(why: str) -> ConversionError:
    return ConversionError(
        "a transform of PyTorch's meets a program of zyg's that it cannot see into.",
        f"{why}: so with linearize and make_fx, is_grads_batched=True and vectorize=True.",
        "take torch.func.jvp, vjp, jacrev, jacfwd, hessian or vmap.",
        tag="partner-transform",
    )


def not_on_host(what: str, fix: str) -> ConversionError:
    return ConversionError(
        f"zyg.torch.wrap cannot share memory with PyTorch: {what}.",
        "it calls with arrays of NumPy's, which are dense and in the memory of the host.",
        f"{fix}; or keep the whole program in PyTorch, with zyg.torch.function around the rest.",
        tag="partner-memory",
    )


def _handed(found: Sequence[Any], others: Sequence[torch.Tensor]) -> list[Any]:
    """The arrays of tensors that PyTorch is done with; None for None.

    They are their arrays' own where nobody has the memory: no tensor, and none of `others`.
    """
    if all(c is None or c.numel() * c.itemsize <= SMALL for c in found):
        return [None if c is None else array_of(c) for c in found]
    places = [t.data_ptr() for t in (*found, *others) if t is not None]
    users = [() if c is None else _users(c) for c in found]  # before there are more
    arrays: list[Any] = [None if c is None else array_of(c) for c in found]
    return [
        over(x, c) if alone in _ALONE and places.count(c.data_ptr()) == 1 and c.ndim else x
        for c, x, alone in zip(found, arrays, users, strict=True)
    ]


def _users(t: torch.Tensor) -> tuple[int, ...]:
    """How many have a tensor, and its memory, what PyTorch saved for its way back too; and, of a
    view, how many have what it is a view of."""
    if _storage_users is None:
        return ()
    storage, base = t.untyped_storage(), t._base
    count = int(_storage_users(storage._cdata)), sys.getrefcount(t)
    return count if base is None else (*count, base._use_count(), sys.getrefcount(base))


# What that is of a tensor and of a view in a list that nobody else has: it is measured, as it is a
# matter of how PyTorch and Python count.
_MADE = [torch.empty(1)], [torch.empty(1)[:]]
_ALONE = {users for found in _MADE for users in [_users(c) for c in found]} - {()}
if not has_lock():
    _ALONE.clear()


# PyTorch as a partner


class Torch(Partner):
    """Functions of tensors; those that are called again get the random state of their first run."""

    def to(self, x: Any) -> torch.Tensor:
        return tensor_of(x)

    def back(self, t: torch.Tensor) -> Any:
        return array_of(t)

    def results(self, own: Back, ys: list[torch.Tensor]) -> list[Any]:
        return _handed(ys, own.tensors)

    def pulled(self, own: Back, bars: list[torch.Tensor]) -> list[Any]:
        return _handed(own(bars), [*bars, *own.tensors])

    def value_and_pullback(
        self, f: Any, xs: Sequence[Any], n: int
    ) -> tuple[list[torch.Tensor], Back]:
        tensors = f.tensors(xs) if isinstance(f, Call) else [*map(self.to, xs)]
        before = [t._version for t in tensors]
        active = tensors[:n]
        for t in active:
            t.requires_grad_()
        if torch.is_grad_enabled():
            ys = f(tensors)
        else:
            with torch.enable_grad():
                ys = f(tensors)
        if before != [t._version for t in tensors]:
            raise _written(f.name, "its argument")
        return ys, Back(f, xs, ys, tensors, n)

    def vjp(self, f: Any, n: int, m: int) -> Vjp:
        return Vjp(f, n, m)


OF_ARRAYS = Torch()


def _written(name: str, what: str) -> MutationError:
    return MutationError(
        f"{name} wrote to {what}.",
        "its memory is shared with NumPy and PyTorch's derivatives, which see the new contents.",
        "write to a clone: x = x.clone().",
    )


class Back:
    """The pullback of one run, by the tape that PyTorch has of it."""

    def __init__(
        self, f: Any, plain: Sequence[Any], ys: list[Any], tensors: list[Any], n: int
    ) -> None:
        self.f, self.name, self.plain, self.ys = f, f.name, plain, ys
        self.tensors, self.xs = tensors, tensors[:n]
        self.versions = [y._version for y in ys]

    def __call__(self, bars: list[Any]) -> list[Any]:
        if self.versions != [y._version for y in self.ys]:
            raise _written(self.name, "its result after it had returned it")
        again = any(c.requires_grad for c in bars)
        if isinstance(self.f, Call) and self.f.has_changed(self.plain):
            tensors = [tensor_of(x) for x in self.plain]
            active = [t.requires_grad_() for t in tensors[: len(self.xs)]]
            with torch.enable_grad():
                return _gradients(self.f.again(tensors), active, bars, again)
        return _gradients(self.ys, self.xs, bars, again)

    again = __call__


def _gradients(ys: list[Any], xs: list[Any], bars: list[Any], again: bool) -> list[Any]:
    """PyTorch's; zeros for None where they are differentiated `again`."""
    moving = [k for k, y in enumerate(ys) if y.requires_grad]
    if not moving:
        return [torch.zeros_like(x) for x in xs] if again else [None] * len(xs)
    if len(moving) < len(ys):
        ys, bars = [ys[k] for k in moving], [bars[k] for k in moving]
    found = torch.autograd.grad(
        ys,
        xs,
        bars,
        retain_graph=True,
        create_graph=again,
        allow_unused=True,
        materialize_grads=again,
    )
    return [*found]


class Vjp:
    """The pullback of a function, as a function of its operands and the cotangents."""

    def __init__(self, f: Any, n: int, m: int) -> None:
        self.f, self.n, self.m, self.name = f, n, m, f.name

    def __call__(self, tensors: list[Any]) -> list[Any]:
        n, m = self.n, self.m
        xs, bars, rest = tensors[:n], tensors[n : n + m], tensors[n + m :]
        return _gradients(self.f.again([*xs, *rest]), xs, bars, again=True)

    again = __call__


# Calls


def passes(x: Any) -> bool:
    return isinstance(x, (torch.Tensor, torch.nn.Module))


def _moves(t: torch.Tensor) -> bool:
    return bool(t.requires_grad)


def _result(y: Any) -> Result:
    return Result(y, torch.is_tensor, _moves)


def constant(t: torch.Tensor) -> Any:
    """The array of a tensor that has no derivative, in memory of its own."""
    x = array_of(t)
    return x.copy() if isinstance(x, np.ndarray) else x


class Call:
    """A call, as a function of those tensors in it that are arrays to zyg."""

    def __init__(self, name: str, f: Callable[..., Any], operands: Operands) -> None:
        self.name, self.f, self.operands = name, f, operands
        self.state = torch.get_rng_state()

    def tensors(self, xs: Sequence[Any]) -> list[torch.Tensor]:
        return [*map(tensor_of, xs)]

    def __call__(self, tensors: list[Any]) -> list[torch.Tensor]:
        """The tensors of the result that have a derivative; the result itself is remembered."""
        self.result = _result(self.run(tensors))
        return self.result.moving

    def run(self, tensors: list[Any]) -> Any:
        args, kwargs = self.operands.rebuild(tensors)
        return self.f(*args, **kwargs)

    def run_again(self, tensors: list[Any]) -> Any:
        return self.run(tensors)

    def has_changed(self, xs: Sequence[Any]) -> bool:
        """Whether memory that the first run used was written since, and no one else would tell."""
        return False

    def plainly(self, tensors: list[Any]) -> Any:
        """The result where no gradient runs, with arrays in memory of its own."""
        before = [t._version for t in tensors]
        result = _result(self.run(tensors))
        if before != [t._version for t in tensors]:
            raise _written(self.name, "its argument")
        moving = [constant(t) for t in result.moving]
        return result.rebuild(moving[0] if len(moving) == 1 else moving, constant)

    def again(self, tensors: list[Any]) -> list[torch.Tensor]:
        """The same, as it ran at first."""
        now = torch.get_rng_state()
        torch.set_rng_state(self.state)
        try:
            return _result(self.run_again(tensors)).moving
        finally:
            torch.set_rng_state(now)


class Wrapped(Named, Engine):
    """A function of PyTorch's, called with arrays; in arguments it passes through whole."""

    made_by = "zyg.torch.wrap"

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self.f = f
        self.name = getattr(f, "__name__", type(f).__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        operands = Operands(args, kwargs, passes)
        made = Call(self.name, self.f, operands)
        if operands.active:
            y = call(OF_ARRAYS, self.name, made, operands.active, operands.rest)
            return made.result.rebuild(y, constant)
        if operands.has_numbers_only:  # tensors, as they are if they are watched
            return self(*map(np.asarray, args))
        return made.plainly([tensor_of(x, shared=False) for x in operands.rest])
