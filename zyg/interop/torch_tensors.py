"""Functions of PyTorch's that are called with watched tensors: PyTorch differentiates them."""

from __future__ import annotations

from typing import Any

import torch

from zyg.base.structure import Structure
from zyg.interop.guests import Guest
from zyg.interop.libraries import libraries
from zyg.interop.operands import Operands
from zyg.interop.partner import call
from zyg.interop.torch import Call, TorchOfTensors, passes


class _OfGuests(TorchOfTensors):
    """Tensors as guests hold them."""

    def to(self, x: Any) -> Any:
        return x.raw.detach() if isinstance(x, Guest) else super().to(x)

    def back(self, t: torch.Tensor) -> Any:
        return libraries["torch"].guest(super().back(t))


class _CallOfGuests(Call):
    def tensors(self, xs: Any) -> list[torch.Tensor]:
        return [*map(OF_GUESTS.to, xs)]


OF_GUESTS = _OfGuests()


def answer(cls: Any, f: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A function of PyTorch's some of whose operands are guests, watched or not."""
    parts = Structure((args, kwargs or {}), lambda x: isinstance(x, Guest))
    if parts.leaves:
        args, kwargs = parts.rebuild([x.raw for x in parts.leaves])
    operands = Operands(tuple(args), kwargs or {}, passes)
    made = _CallOfGuests(f.__name__, f, operands)
    if operands.active:
        y = call(OF_GUESTS, made.name, made, operands.active, operands.rest)
    else:
        y = tuple(map(OF_GUESTS.back, made(made.tensors(operands.rest))))
        y = y[0] if len(y) == 1 else y
    return made.result.rebuild(y, OF_GUESTS.back)
