"""``r_`` and ``c_`` of watched values: NumPy's, of the places of the elements."""

from __future__ import annotations

from typing import Any

import numpy

from zyg.core.strand import strip, watched_leaves
from zyg.watched.value import as_array


class Concatenator:
    """numpy.r_ or numpy.c_, whose parts may be watched; of plain parts it is NumPy's own."""

    def __init__(self, numpys: Any) -> None:
        self._numpys = numpys

    def __getattr__(self, name: str) -> Any:
        return getattr(self._numpys, name)

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        key = key if type(key) is tuple else (key,)
        if not any(map(_watched_in, key)):
            return self._numpys[key]
        parts: list[Any] = []
        places: list[Any] = []
        start = 0
        for part in key:
            if isinstance(part, str):  # along which axis
                places.append(part)
                continue
            parts.append(_range(part) if type(part) is slice else as_array(part))
            size, shape = numpy.size(parts[-1]), numpy.shape(parts[-1])
            places.append(numpy.arange(start, start + size).reshape(shape))
            start += size
        plain = self._numpys[tuple(map(_plain, key))]
        flat = numpy.concatenate([numpy.ravel(part) for part in parts])
        return numpy.astype(flat[self._numpys[tuple(places)]], plain.dtype)


def _watched_in(part: Any) -> bool:
    of_slice = type(part) is slice
    return bool(watched_leaves((part.start, part.stop, part.step) if of_slice else part))


def _range(part: slice) -> Any:
    plain = numpy.r_[_plain(part)]
    start, step = 0 if part.start is None else part.start, part.step
    if not _watched_in(part):
        return plain
    if isinstance(strip(step), complex):
        return numpy.linspace(start, part.stop, numpy.size(plain))
    return start + (1 if step is None else step) * numpy.arange(numpy.size(plain))


def _plain(part: Any) -> Any:
    if type(part) is slice:
        return slice(*map(strip, (part.start, part.stop, part.step)))
    return strip(as_array(part)) if type(part) in (list, tuple) else strip(part)


r_, c_ = Concatenator(numpy.r_), Concatenator(numpy.c_)
