"""Calls out of PyTorch: a program that zyg differentiates, as a function of tensors or a module.

A call is one node of PyTorch's tape. What it keeps belongs to the call, so calls may overlap. Where
PyTorch differentiates the way back, or transforms the call, that is such a function again, of the
pullback.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.autograd import forward_ad

from zyg.base.signatures import P
from zyg.base.structure import Structure, is_leaf
from zyg.core.entries import is_result
from zyg.core.trace import Trace, copy_out
from zyg.interop.torch import array_of, tensor_of
from zyg.verbs.gradients import pullback
from zyg.verbs.pushforward import pushforward

Program = Callable[..., Any]


def function(f: Callable[P, Any]) -> Callable[P, Any]:
    """`f`, a program of numbers and arrays, as a function of tensors that PyTorch differentiates.

    Derivatives have any order; ``torch.func`` works, `vmap` by one call for each.

    Parameters
    ----------
    f : callable
        It gets arrays in the memory of the tensors, numbers for tensors of no axes.

    Returns
    -------
    callable
        Tensors may be anywhere in its arguments, and the result may have any structure: its numbers
        and arrays are tensors on the device of the arguments, Python's numbers in their dtype.

    Raises
    ------
    ConversionError
        When it is called: NumPy has no dtype for a tensor's. What f raises passes through.

    Examples
    --------
    >>> import numpy as np, torch, zyg
    >>> x = torch.tensor([0.0, 1.0], dtype=torch.double, requires_grad=True)
    >>> y = zyg.torch.function(lambda x: np.sum(x * np.exp(x)))(x)
    >>> y.backward()
    >>> x.grad
    tensor([1.0000, 5.4366], dtype=torch.float64)
    """

    @functools.wraps(f)
    def of_tensors(*args: Any, **kwargs: Any) -> Any:
        run = _Run(f, args, kwargs)
        ys = _Node.apply(run, *run.tensors)
        return run.result.rebuild([*ys])

    return of_tensors


class _Run:
    """One call of a program: what is differentiated, its tape, the form of its result."""

    def __init__(self, f: Program, args: Any, kwargs: Any) -> None:
        self.f = f
        self.is_row = not kwargs and all(isinstance(x, torch.Tensor) for x in args)
        if self.is_row:
            self.tensors: list[torch.Tensor] = [*args]
        else:
            self.whole = Structure((args, kwargs), lambda x: isinstance(x, torch.Tensor))
            self.tensors = self.whole.leaves
        in_forward_mode = forward_ad._current_level >= 0
        self.transformed = in_forward_mode or torch._C._are_functorch_transforms_active()
        self.moving = [
            k
            for k, t in enumerate(self.tensors)
            if (self.transformed or t.requires_grad) and (t.is_floating_point() or t.is_complex())
        ]
        self.taped = bool(self.moving) and torch.is_grad_enabled() and not self.transformed

    def forward(self, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        arrays = [*map(_array_on_host, tensors)]
        if self.taped:
            # Who writes to a tensor that is saved for the way back is told by PyTorch.
            moving = tuple([arrays[k] for k in self.moving])
            run = functools.partial(self.value, arrays)
            self.trace = Trace(run, moving, {}, arguments="shared")
            y = self.trace.hand_over()
        else:
            y = self.called([x.copy() for x in arrays])  # to which f may write
        self.result = Structure(y, is_result)
        # Untaped, it is as f returned it, which may be the same buffer each time.
        leaves = self.result.leaves if self.taped else map(copy_out, self.result.leaves)
        return tuple([_tensor_like(x, tensors) for x in leaves])

    def value(self, arrays: Sequence[Any], *moving: Any) -> Any:
        """The value of f with others in place of the arrays that are differentiated."""
        leaves = [*arrays]
        for k, x in zip(self.moving, moving, strict=True):
            leaves[k] = x
        return self.called(leaves)

    def called(self, leaves: list[Any]) -> Any:
        args, kwargs = (leaves, {}) if self.is_row else self.whole.rebuild(leaves)
        return self.f(*args, **kwargs)

    def backward(self, tensors: Sequence[Any], bars: Sequence[Any]) -> list[Any]:
        """The cotangents of the tensors, for those of the result, None for zeros."""
        full: list[Any] = [None] * len(tensors)
        if torch.is_grad_enabled() or not self.taped:
            found = function(self.pulled)(list(tensors), list(bars))
        else:
            y_bar = self.result.tangent([None if c is None else _array_on_host(c) for c in bars])
            found = [
                None if c is None else _tensor_like(c, (tensors[k],))
                for k, c in zip(self.moving, self.trace.back(y_bar, False), strict=True)
            ]
        for k, c in zip(self.moving, found, strict=True):
            full[k] = c
        return full

    def pulled(self, arrays: list[Any], bars: list[Any]) -> list[Any]:
        """The same as a program."""
        run = functools.partial(self.value, arrays)
        y, back = pullback(run, *[arrays[k] for k in self.moving])
        return [*back(Structure(y, is_result).tangent(bars), zeros=True)]

    def forward_mode(self, tensors: Sequence[Any], dots: Sequence[Any]) -> list[Any]:
        """The tangents of the result's tensors, for those of the arguments, None for zeros."""
        moving = [torch.zeros_like(tensors[k]) if dots[k] is None else dots[k] for k in self.moving]
        found: list[Any] = function(self.pushed)(list(tensors), moving)
        return found

    def pushed(self, arrays: list[Any], dots: list[Any]) -> list[Any]:
        """The same as a program."""
        run = functools.partial(self.value, arrays)
        _, y_dot = pushforward(run, tuple([arrays[k] for k in self.moving]), tuple(dots))
        return Structure(y_dot, is_result).leaves


def _tensor_like(x: Any, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """A tensor of `x`, where the first of the tensors is; a number of Python's in its dtype."""
    t = tensor_of(x)
    for like in tensors[:1]:
        if not like.is_cpu:
            t = t.to(like.device)
        if type(x) in (float, complex) and like.is_floating_point():
            dtype = like.dtype
            t = t.to(torch.promote_types(dtype, torch.complex32) if t.is_complex() else dtype)
    return t


def _array_on_host(t: torch.Tensor) -> Any:
    return array_of(t if t.is_cpu else t.cpu())


class _Node(torch.autograd.Function):
    """A call on PyTorch's tape."""

    @staticmethod
    def forward(run: _Run, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return run.forward(tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        run, *tensors = inputs
        ctx.run = run
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        if run.transformed:
            ctx.save_for_forward(*tensors)
        whole = [t for t in output if not (t.is_floating_point() or t.is_complex())]
        if whole:
            ctx.mark_non_differentiable(*whole)

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> Any:
        return None, *ctx.run.backward(ctx.saved_tensors, bars)

    @staticmethod
    def jvp(ctx: Any, _: Any, *dots: Any) -> Any:
        return tuple(ctx.run.forward_mode(ctx.saved_tensors, dots))

    @staticmethod
    def vmap(info: Any, in_dims: Any, run: _Run, *tensors: torch.Tensor) -> Any:
        """One call for each element of the batch."""
        rows = []
        for k in range(info.batch_size):
            one = [
                t if axis is None else t.select(axis, k)
                for t, axis in zip(tensors, in_dims[1:], strict=True)
            ]
            rows.append(_Node.apply(run, *one))
        return tuple([torch.stack(ys) for ys in zip(*rows, strict=True)]), 0


# PyTorch asks for it at each call, and it is told faster than found out.
_Node.forward.__signature__ = inspect.signature(_Node.forward)  # type: ignore[attr-defined]


class Module(torch.nn.Module):
    """A program ``f(parameters, *args)`` as a module with these parameters.

    The floats in `parameters`, any structure of numbers and arrays, become parameters of the
    module, named by where they are.

    >>> import numpy as np, torch, zyg
    >>> line = zyg.torch.Module(lambda p, x: p["w"] * x + p["b"], {"w": 2.0, "b": 1.0})
    >>> line(torch.ones(1, dtype=torch.double)).item()
    3.0
    >>> sorted(dict(line.named_parameters()))
    ['b', 'w']

    """

    def __init__(self, f: Program, parameters: Any) -> None:
        super().__init__()
        self._of = function(f)
        self._whole = Structure(parameters, _is_parameter)
        self._names = [
            "_".join(re.findall(r"\w+", path)) or "parameter" for path in self._whole.paths()
        ]
        for name, x in zip(self._names, self._whole.leaves, strict=True):
            self.register_parameter(name, torch.nn.Parameter(tensor_of(x).clone()))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The program's value, with the module's parameters as they are."""
        values = [self.get_parameter(name) for name in self._names]
        return self._of(self._whole.rebuild(values), *args, **kwargs)


def _is_parameter(x: Any) -> bool:
    return is_leaf(x) and np.asarray(x).dtype.kind in "fc"
