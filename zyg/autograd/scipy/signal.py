"""autograd's convolution, along some axes of two arrays; the rest is `zyg.scipy.signal`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.autograd._absent import absent
from zyg.scipy import signal

Axes = tuple[Sequence[int], Sequence[int]]


def __getattr__(name: str) -> Any:
    try:
        return getattr(signal, name)
    except AttributeError:
        pass
    return absent(__name__, name)


def convolve(
    a: Any, b: Any, axes: Axes | None = None, dot_axes: Axes = ((), ()), mode: str = "full"
) -> Any:
    """The convolution of two arrays along pairs of their axes.

    Parameters
    ----------
    a, b : arrays
    axes : pair of sequences of int, optional
        The axes of a, and those of b, along which they are convolved; all others if None.
    dot_axes : pair of sequences of int
        The axes over which products are summed.
    mode : {"full", "valid", "same"}
        As for `scipy.signal.convolve`.

    Returns
    -------
    array
        Has the other axes of a, those of b, and then the axes of the convolution.
    """
    along_a, along_b = axes or (_others(a, dot_axes[0]), _others(b, dot_axes[1]))
    n, summed = len(along_a), len(along_a) + len(dot_axes[0])
    a = np.moveaxis(a, [*dot_axes[0], *along_a], [*range(-summed, 0)])
    b = np.moveaxis(b, [*dot_axes[1], *along_b], [*range(-summed, 0)])
    last = tuple(range(-summed, 0))
    if not n:
        return np.tensordot(a, b, (last, last))
    lengths = np.shape(b)[-n:]
    pads = [_padding(*pair, mode) for pair in zip(np.shape(a)[-n:], lengths, strict=True)]
    a = np.pad(a, [(0, 0)] * (np.ndim(a) - n) + pads)
    windows = np.lib.stride_tricks.sliding_window_view(a, lengths, tuple(range(-n, 0)))
    places = [*range(np.ndim(windows) - 2 * n, np.ndim(windows) - n)]
    windows = np.moveaxis(windows, places, [*range(n)])  # so that what is summed comes last
    y = np.tensordot(windows, np.flip(b, tuple(range(-n, 0))), (last, last))
    return np.moveaxis(y, [*range(n)], [*range(-n, 0)])


def _others(x: Any, axes: Sequence[int]) -> list[int]:
    return [k for k in range(np.ndim(x)) if k not in axes]


def _padding(a: int, b: int, mode: str) -> tuple[int, int]:
    """How many zeros are needed before and after a elements to be convolved with b others."""
    start, count = {
        "full": (0, a + b - 1),
        "valid": (min(a, b) - 1, abs(a - b) + 1),
        "same": ((b - 1) // 2, a),
    }[mode]
    before = b - 1 - start
    return before, count + b - 1 - a - before
