"""Functions of PyTorch's that are called with watched tensors: PyTorch differentiates them."""

from __future__ import annotations

from typing import Any

import torch

from zyg.base.structure import Structure
from zyg.interop.guests import Guest
from zyg.interop.libraries import libraries
from zyg.interop.operands import Operands
from zyg.interop.partner import call
from zyg.interop.torch import Call, Torch, passes, tensor_of


class _OfGuests(Torch):
    """Tensors as guests hold them."""

    def to(self, x: Any) -> torch.Tensor:
        return x.raw.detach() if isinstance(x, Guest) else tensor_of(x)

    def results(self, own: Any, ys: list[torch.Tensor]) -> list[Any]:
        return [*map(guest_of, ys)]

    def pulled(self, own: Any, bars: list[torch.Tensor]) -> list[Any]:
        return [None if c is None else guest_of(c) for c in own(bars)]


def guest_of(t: torch.Tensor) -> Any:
    return libraries["torch"].guest(t.detach())


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
        y = tuple(map(guest_of, made(made.tensors(operands.rest))))
        y = y[0] if len(y) == 1 else y
    return made.result.rebuild(y, guest_of)
