"""SciPy's sparse matrices: f sees one of watched elements; a gradient is at the stored places."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from zyg.base.labelled import labelled
from zyg.errors import StructureError
from zyg.functions.kit import is_watched
from zyg.interop.labels import Labelled
from zyg.scipy._sparse_rules import Pattern, Sparse


class _Matrix(Labelled):
    """A format with a vector of elements, and `places` of them: one argument of the class."""

    def __init__(self, *places: str) -> None:
        self.places = places

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [("data", x.data)]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        data, name = values["data"], type(x).__name__
        if is_watched(data):
            stored = x.tocoo()
            return Sparse(data, Pattern(stored.row, stored.col, x.shape))
        places = [getattr(x, place) for place in self.places]
        parts = (data, tuple(places)) if name.startswith("coo") else (data, *places)
        return getattr(scipy.sparse, name)(parts, shape=x.shape)

    def part(self, x: Any, c: Any, key: Any) -> Any:
        if not scipy.sparse.issparse(c):
            return c
        if all(np.array_equal(getattr(x, p), getattr(c, p, ())) for p in self.places):
            return c.data
        raise StructureError(
            f"a {type(c).__name__} does not fit a {type(x).__name__}: it has other places.",
            "a derivative has elements where the matrix has stored ones.",
            "make it with the places of the matrix.",
        )


class _Refused(Labelled):
    """A format without a vector of elements and their places."""

    watchable = False

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        raise StructureError(
            f"zyg cannot watch a {type(x).__name__}.",
            "this format has no vector of its elements.",
            "pass x.tocsr(), or x.tocoo().",
            tag="array-kind",
        )


class _Watched(Labelled):
    """What f sees and may return."""

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [("data", x.data)]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        data = values["data"]
        if is_watched(data):
            return Sparse(data, x.pattern, x.transposed)
        made = x.pattern.matrix(data)
        return made.T.tocsr() if x.transposed else made


for _base in (scipy.sparse.sparray, scipy.sparse.spmatrix):
    labelled[_base] = _Refused()
for _form in ("array", "matrix"):
    labelled[getattr(scipy.sparse, f"csr_{_form}")] = _Matrix("indices", "indptr")
    labelled[getattr(scipy.sparse, f"csc_{_form}")] = _Matrix("indices", "indptr")
    labelled[getattr(scipy.sparse, f"coo_{_form}")] = _Matrix("row", "col")
labelled[Sparse] = _Watched()
