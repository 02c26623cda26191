"""What other differentiators ask of watched values."""

from __future__ import annotations

from typing import Any

from zyg.base.structure import Structure
from zyg.core.questions import is_traced
from zyg.core.strand import settle
from zyg.errors import ConversionError

_BRANCHES = (list, tuple, dict)


def refuse_torch(cls: Any, f: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Answer a function of PyTorch's, which asks what it was given: a watched value refuses."""
    parts = Structure((args, kwargs or {}), lambda x: type(x) not in _BRANCHES)
    if any(map(is_traced, parts.leaves)):
        raise ConversionError(
            f"a watched value was given to PyTorch's {f.__name__}.",
            "PyTorch computes with tensors, which know nothing of zyg's gradients.",
            "zyg.torch.wrap(f)(x) for f(x), around as much of PyTorch's code as there is.",
        )
    args, kwargs = parts.rebuild([*map(settle, parts.leaves)])
    return f(*args, **kwargs)
