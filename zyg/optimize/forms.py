"""The numbers of parameters as a few vectors, which a step goes by."""

from __future__ import annotations

from typing import Any

import numpy as np

from zyg.base.structure import Structure
from zyg.base.trees import Tree, taken_apart
from zyg.core.strand import strip
from zyg.core.trace import watchable
from zyg.errors import OptimizationError, StructureError
from zyg.verbs.vectors import Layout, counts

MOST = 8192  # how many numbers are in one vector: they stay in the processor's caches


class Form(Layout):
    """The layout of parameters, without them, so that it can be kept and pickled.

    Their numbers are in vectors, small arrays of one dtype together, a large one alone. The
    structure is that of their gradient, whose leaves are their places.
    """

    def __init__(self, params: Any, name: str) -> None:
        super().__init__(params, name)
        self.chunks: list[tuple[list[int], Layout]] = []
        for places in self._together():
            chunk = Layout([self.structure.leaves[k] for k in places])
            del chunk.structure
            self.chunks.append((places, chunk))
        self._keep(_places(self.structure))

    def _together(self) -> list[list[int]]:
        """The places of what is in one vector."""
        found: list[list[int]] = []
        last: dict[Any, tuple[list[int], int]] = {}  # of each dtype: places, and how many numbers
        for k, kind in enumerate(self.kinds):
            size = self.ends[k + 1] - self.ends[k]
            places, so_far = last.get(kind, ([], MOST))
            if not places or so_far + size > MOST:
                places, so_far = [], 0
                found.append(places)
            places.append(k)
            last[kind] = places, so_far + size
        return found

    def _keep(self, skeleton: Any) -> None:
        self.skeleton = skeleton
        self.structure = taken_apart(skeleton, watchable)
        self.tree = _tree(self.structure)
        self.places = [int(np.ravel(place)[0]) for place in self.structure.leaves]

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k != "structure"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._keep(self.skeleton)

    def __repr__(self) -> str:
        return f"<{self.size} numbers of {self.dtype}>"

    def path(self, k: int) -> str:
        """Where the leaf at place `k` is."""
        return self.structure.paths()[self.places.index(k)] or "the top"

    def vectors(self, leaves: list[Any], what: str = "a parameter") -> list[Any]:
        """The vectors of leaves, which are given by their places, to be read only."""
        found = []
        for places, chunk in self.chunks:
            some = leaves if len(places) == len(leaves) else [leaves[k] for k in places]
            x = some[0]
            if len(some) == 1 and type(x) is np.ndarray and x.dtype == chunk.dtype:
                found.append(x.reshape(-1))
            else:
                found.append(chunk.vector(some, what))
        return found

    def unpacked(self, vectors: list[Any]) -> list[Any]:
        """The leaves of vectors."""
        if len(vectors) == 1:  # all in their order
            return self.chunks[0][1].leaves(vectors[0])
        found: list[Any] = [None] * len(self.shapes)
        for (places, chunk), vector in zip(self.chunks, vectors, strict=True):
            for k, leaf in zip(places, chunk.leaves(vector), strict=True):
                found[k] = leaf
        return found

    def gradient(self, grads: Any) -> list[Any]:
        """The leaves of a gradient, zeros for None."""
        if type(grads) is tuple and len(grads) == 1 and not self._takes(grads):
            raise StructureError(
                "the gradient of the parameters is in a tuple of one.",
                "zyg.gradient returns a tuple, with a part for each argument.",
                "take it out: zyg.gradient(f, x)[0], or zyg.grad(f)(x).",
            )
        found = self.structure.match(grads, "the parameters", of="gradient")
        return self.parts([(self.places[k], part) for k, part in found], "the gradient")

    def _takes(self, alone: tuple[Any]) -> bool:
        """Whether a tuple of one may be a gradient: of a sequence, or of an array of one number."""
        if self.structure.is_leaf:
            return bool(np.shape(alone) == self.shapes[0])
        return isinstance(self.skeleton, (list, tuple))

    def weights(self, leaves: list[Any], gradient: list[Any]) -> list[Any]:
        """The vectors of parameters that may decay: an int without slope may be one that counts."""
        leaves = [*leaves]
        for k in self.counting:
            if counts(leaves[k]) and not np.any(strip(gradient[k])):
                leaves[k] = np.zeros(self.shapes[k])
        return self.vectors(leaves)

    def updates(self, vectors: list[Any]) -> Any:
        """Vectors in the structure of the gradient."""
        leaves = self.unpacked(vectors)
        return self.structure.rebuild([leaves[k] for k in self.places])

    def order(self, structure: Structure | Tree) -> list[int]:
        """Which of its leaves parameters have, taken apart, at each place.

        Raises StructureError where they are not those that the state is of.
        """
        known = self.tree is not None and _tree(structure) == self.tree
        order = self.places if known else self._order(structure)
        shapes = [x.shape if type(x) is np.ndarray else np.shape(x) for x in structure.leaves]
        if known and shapes == self.shapes:
            return order
        for k, shape in zip(order, self.shapes, strict=True):
            if shapes[k] != shape:
                raise _other(structure.paths()[k] or "the top", f"has shape {shapes[k]}")
        return order

    def _order(self, structure: Structure | Tree) -> list[int]:
        places = _places(structure)
        found = dict(self.structure.match(places, "the state", of="form of the parameters"))
        order = [-1] * len(self.shapes)
        for k, place in enumerate(self.places):
            if found.get(k) is None:
                raise _other(self.path(place), "is missing")
            order[place] = int(np.ravel(found[k])[0])
        return order


def demand_finite(layout: Layout, tree: Any, name: str) -> None:
    """Raise OptimizationError where a number of a start is infinite or NaN."""
    for k, x in enumerate(taken_apart(tree, watchable).leaves):
        plain = np.asarray(strip(x))
        bad = ~np.isfinite(plain.astype(complex))
        if bad.any():
            at = [int(i) for i in np.argwhere(bad)[0]]
            place = layout.path(k) if not at else layout.structure.paths()[k] + str(at)
            raise OptimizationError(
                f"{name} was given a start with {plain[bad][0]} at {place}.",
                "nothing leads anywhere from there.",
                "start with finite numbers.",
            )


def _places(structure: Structure | Tree) -> Any:
    """The structure of a gradient, with the places of leaves for them; all of an array's that has
    labels, which it goes by."""
    return structure.tangent(
        [
            np.full(np.shape(x), float(k)) if structure.labels else float(k)
            for k, x in enumerate(structure.leaves)
        ]
    )


def _tree(structure: Structure | Tree) -> Any:
    """What two trees of one form have in common; None of what is no tree."""
    if isinstance(structure, Structure):
        return None
    return [(b[0], b[1], b[3]) for b in structure.branches]


def _other(path: str, lack: str) -> StructureError:
    return StructureError(
        f"the parameter at {path} {lack}.",
        "the state of the optimizer is of other parameters.",
        "begin anew: state = optimizer.init(params).",
    )
