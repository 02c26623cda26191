"""Modules of PyTorch's, whose parameters are data; `wrap`, for them and for functions."""

from __future__ import annotations

from _thread import RLock
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from zyg.base.containers import Engine
from zyg.core.strand import WATCHED, settle
from zyg.interop.operands import Operands
from zyg.interop.partner import call, over
from zyg.interop.torch import (
    OF_ARRAYS,
    SMALL,
    Call,
    Wrapped,
    constant,
    not_on_host,
    passes,
    tensor_of,
)


class Net(Engine):
    """A module, its parameters, and arrays in their memory."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module
        self.own = {n: p for n, p in module.named_parameters() if p.requires_grad}
        for name, p in self.own.items():
            if p.device.type != "cpu":
                raise not_on_host(f"{name} is on {p.device}", "wrap(module.cpu())")
        self.views = {name: over(p.detach().numpy(), p) for name, p in self.own.items()}
        # Where a parameter or a buffer is: in several places, if modules share it.
        self.places = _places(module)
        self.has_buffers = next(module.buffers(), None) is not None
        self.turn = RLock()  # a run with other parameters puts them into the module meanwhile

    def tensor_of(self, name: str, x: Any) -> torch.Tensor:
        """The tensor of a parameter's value: the module's own where that is the same."""
        own = self.views[name]
        same = x is own or (_is_same(x, own) if x.nbytes <= SMALL else _is_whole(x, own))
        return self.own[name] if same else tensor_of(x)

    def run(self, args: Any, kwargs: Any, values: dict[str, Any]) -> Any:
        """The module called with these parameters and buffers."""
        others = {name: t for name, t in values.items() if t is not self.own.get(name)}
        with self.turn:
            before = [(d, k, d[k]) for name in others for d, k in self.places[name]]
            try:
                for name, t in others.items():
                    for d, k in self.places[name]:
                        d[k] = t
                self.refresh(bool(others))
                return self.module(*args, **kwargs)
            finally:
                for d, k, t in before:
                    d[k] = t
                self.refresh(bool(others))

    def refresh(self, changed: bool) -> None:
        """Have modules that keep a list of their own of their weights make it anew."""
        for m in self.module.modules() if changed else ():
            if hasattr(m, "_flat_weights_names"):
                m._flat_weights = [getattr(m, name) for name in m._flat_weights_names]


def _places(module: torch.nn.Module) -> dict[str, list[tuple[Any, str]]]:
    """Of the name of each parameter and buffer, the dicts of modules that have it, with its key.

    ``torch.func.functional_call`` leaves a module changed that is in another one twice.
    """
    every = [(d, k, t) for m in module.modules() for d in (m._parameters, m._buffers)
             for k, t in d.items() if t is not None]  # fmt: skip
    named = [*module.named_parameters(), *module.named_buffers()]
    return {name: [(d, k) for d, k, t in every if t is own] for name, own in named}


def _is_same(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bool:
    return x.shape == y.shape and x.dtype == y.dtype and x.tobytes() == y.tobytes()


def _is_whole(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bool:
    """Whether `x` is a view of all that `y`, an array of `over`, is."""
    layouts = [(a.shape, a.strides, a.dtype) for a in (x, y)]
    return x.base is y.base and layouts[0] == layouts[1]


class ModuleCall(Call):
    """A call of a module: its parameters are operands, too."""

    def __init__(self, net: Net, operands: Operands, parameters: dict[str, Any]) -> None:
        super().__init__(type(net.module).__name__, net.module, operands)
        self.net = net
        moving = {name: x for name, x in parameters.items() if type(x) in WATCHED}
        others = {name: x for name, x in parameters.items() if name not in moving}
        self.active = [*operands.active, *moving.values()]
        self.rest = [*operands.rest, *others.values()]
        # The names of the operands that are parameters, by their places.
        first, second = len(operands.active), len(self.active) + len(operands.rest)
        self.names = dict(enumerate(moving, first)) | dict(enumerate(others, second))
        changing = net.has_buffers and net.module.training
        self.buffers = {n: b.clone() for n, b in net.module.named_buffers()} if changing else {}

    def tensors(self, xs: Sequence[Any]) -> list[torch.Tensor]:
        names, net = self.names, self.net
        return [
            net.tensor_of(names[k], x) if k in names else tensor_of(x) for k, x in enumerate(xs)
        ]

    def run(self, tensors: list[Any], **buffers: Any) -> Any:
        names = self.names
        args, kwargs = self.operands.rebuild([t for k, t in enumerate(tensors) if k not in names])
        return self.net.run(args, kwargs, {**{names[k]: tensors[k] for k in names}, **buffers})

    def run_again(self, tensors: list[Any]) -> Any:
        return self.run(tensors, **{n: b.clone() for n, b in self.buffers.items()})

    def has_changed(self, xs: Sequence[Any]) -> bool:
        """Whether a parameter that the module's own tensor stood for was written meanwhile.

        Those that are large are guarded by the engine.
        """
        views = self.net.views
        return any(
            xs[k].nbytes <= SMALL and not _is_same(xs[k], views[name])
            for k, name in self.names.items()
        )


class WrappedModule:
    """A module whose parameters are data: `parameters`, arrays in the module's own memory.

    Each has a class of its own, which knows the module: the parameters are all that there is to
    take apart.
    """

    net: Net

    def __init__(self) -> None:
        self.parameters: dict[str, Any] = dict(self.net.views)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        operands = Operands(args, kwargs, passes)
        parameters = {name: settle(x) for name, x in self.parameters.items()}
        made = ModuleCall(self.net, operands, parameters)
        if made.active:
            y = call(OF_ARRAYS, made.name, made, made.active, made.rest)
            return made.result.rebuild(y, constant)
        return made.plainly(made.tensors(made.rest))

    def accumulate(self, tangent: Any) -> None:
        """Add a gradient by this module to the ``.grad`` of its parameters, for an optimiser."""
        found = {} if tangent is None else tangent.parameters
        for name, c in found.items():
            if c is None:
                continue
            p = self.net.own[name]
            if p.grad is None:
                p.grad = torch.tensor(c)
            else:
                p.grad += tensor_of(c)

    def __repr__(self) -> str:
        return f"<zyg.torch.wrap {type(self.net.module).__name__}>"

    def __reduce__(self) -> Any:
        return wrap, (self.net.module,)


def wrap(f: Any) -> Any:
    """`f`, a function of tensors or an `nn.Module`, as one of arrays that zyg differentiates.

    PyTorch differentiates, to any order. f runs once for each call, and again under an outer
    gradient, with the random numbers and the buffers that it saw at first.

    Parameters
    ----------
    f : callable or torch.nn.Module
        Arrays in its arguments, in any structure, come to it as tensors that share their memory,
        and so do watched numbers; other numbers stay what they are. Integers are constants.

    Returns
    -------
    callable
        Tensors of the result come back as arrays. Of a module, the parameters that require a
        gradient are data: ``net.parameters``, a dict of arrays in the module's memory, so that
        zyg.gradient gives a `Tangent` with their gradients, and ``net.accumulate(tangent)`` adds it
        to their ``.grad`` for an optimiser.

    Raises
    ------
    ConversionError
        When it is called: memory cannot be shared, or PyTorch lacks a dtype.
    MutationError
        When it is called: f writes to an array that it was given.

    Examples
    --------
    >>> import numpy as np, torch, zyg
    >>> sine = zyg.torch.wrap(torch.sin)
    >>> zyg.gradient(lambda x: np.sum(x * sine(x)), np.zeros(2))
    (array([0., 0.]),)
    >>> net = zyg.torch.wrap(torch.nn.Linear(2, 1, bias=False))
    >>> zyg.gradient(lambda net, x: net(x).sum(), net, np.ones(2, np.float32))[0]
    Tangent(Module, parameters={'weight': array([[1., 1.]], dtype=float32)})
    """
    if isinstance(f, torch.nn.Module):
        return type("Module", (WrappedModule,), {"net": Net(f)})()
    return Wrapped(f)
