"""Calls that run in another process, and their adjoints, which run there too.

A call is pickled with its watched values taken out: wherever one is met, in an argument, in a
container, in the cell of a closure, the pickle has a number, and the value is an *operand* of what
is sent, a `Recipe`. Called with plain operands, a recipe is the call itself; called with watched
ones, it is differentiated, in the process that calls it. *Constants* are values that are there
already, such as the result of another task of a cluster.

The adjoint of a recipe and its tangent are recipes as well, of more operands, so they can be sent,
and differentiated, in the same way.
"""

from __future__ import annotations

import io
import math
import pickle
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from itertools import chain
from typing import Any

import numpy as np

from zyg.base.config import under
from zyg.base.structure import Structure
from zyg.core.entries import is_result
from zyg.core.running import activated
from zyg.core.strand import is_watched, strip
from zyg.errors import RecomputationError
from zyg.verbs.gradients import pullback
from zyg.verbs.pushforward import pushforward

# What is sent


class Recipe:
    """A call, pickled without its operands and its constants.

    The pickle has two parts where the first, of the function, is that of other calls, too.

    `links` are the constants that are watched: their places, and the `whole` of their carriers. The
    numbers and arrays in them are the last operands, where they are not to be taken as they are.
    """

    def __init__(self, name: str, parts: tuple[bytes, ...], count: int) -> None:
        self.name, self.parts, self.count = name, parts, count
        self.links: list[tuple[int, bool]] = []

    def __call__(self, operands: Sequence[Any], constants: Sequence[Any]) -> Any:
        f, args, kwargs = self.opened(operands, constants)
        return f(*args, **kwargs)

    def opened(self, operands: Sequence[Any], constants: Sequence[Any]) -> Any:
        """The function, its arguments and its keyword arguments."""
        more = [*operands[self.count :]]
        if more:
            constants = [*constants]
            for place, whole in self.links:
                leaves, rebuild = carriers(constants[place], whole)
                constants[place] = rebuild(more[: len(leaves)])
                del more[: len(leaves)]
        parts = [loaded(part, operands, constants) for part in self.parts]
        f, kwargs, args = chain.from_iterable(parts)
        return f, args, kwargs

    def completed(self, operands: Sequence[Any], constants: Sequence[Any]) -> list[Any]:
        """The operands, those in constants too."""
        found = [carriers(constants[place], whole)[0] for place, whole in self.links]
        return [*operands, *chain.from_iterable(found)]


class Made:
    """The value of a recipe, and where that was run, which is what is pickled of a `Kept`."""

    def __init__(self, value: Any, where: Any) -> None:
        self.value, self.where = value, where


class Kept(Made):
    """A recipe that has been run with watched operands: its value, and the way back.

    That stays where it is.
    """

    def __init__(
        self, recipe: Any, operands: Sequence[Any], constants: Sequence[Any], where: Any = None
    ) -> None:
        rebuild: list[Callable[[list[Any]], Any]] = []

        def results(*operands: Any) -> Any:
            leaves, again = carriers(recipe(operands, constants), all_integers(operands))
            rebuild.append(again)
            return leaves

        self.name = recipe.name
        leaves, self._back = pullback(results, *operands)
        self.sketch = sketch(leaves)
        super().__init__(plain(rebuild[0](leaves)), where)

    def back(self, bars: Sequence[Any], expected: list[Any]) -> tuple[Any, ...]:
        """The cotangents of the operands; `expected` is the sketch of the value that was used."""
        if not alike(self.sketch, expected):
            raise RecomputationError(
                f"{self.name} gave another value when it was run again for its derivative.",
                "the program went on with the first value, and the derivative is that of the "
                "second. Unseeded random numbers do this, and files or globals that change.",
                "make the task a function of its arguments; pass it a seed.",
            )
        found: tuple[Any, ...] = self._back([*bars])
        return found

    def __reduce__(self) -> Any:
        return Made, (self.value, self.where)


def same(x: Any) -> Any:
    """A value that is a task's result, so that it can be made again where it is lost."""
    return x


class Backwards:
    """The adjoint of a recipe: a function of its operands and the cotangents of its results."""

    def __init__(self, recipe: Any, count: int, expected: list[Any]) -> None:
        self.recipe, self.count, self.expected = recipe, count, expected
        self.name = f"the adjoint of {recipe.name}"

    def __call__(self, operands: Sequence[Any], constants: Sequence[Any]) -> Any:
        kept = Kept(self.recipe, operands[: self.count], constants)
        return kept.back(operands[self.count :], self.expected)


class Forwards:
    """The tangents of a recipe's results: a function of its operands and of their tangents."""

    def __init__(self, recipe: Any, moving: Sequence[bool]) -> None:
        self.recipe, self.moving = recipe, moving
        self.name = f"the tangent of {recipe.name}"

    def __call__(self, operands: Sequence[Any], constants: Sequence[Any]) -> Any:
        count = len(self.moving)
        given = iter(operands[count:])
        tangents = [next(given) if moves else None for moves in self.moving]

        def results(*operands: Any) -> Any:
            return carriers(self.recipe(operands, constants), all_integers(operands))[0]

        return pushforward(results, operands[:count], tangents)[1]


class _Unpickler(pickle.Unpickler):
    def __init__(self, blob: bytes, operands: Sequence[Any], constants: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(blob))
        self.given = operands, constants

    def persistent_load(self, key: Any) -> Any:
        kind, place = key
        return self.given[kind][place]


def loaded(blob: bytes, operands: Sequence[Any], constants: Sequence[Any]) -> Any:
    """What was pickled, with these in it."""
    return _Unpickler(blob, operands, constants).load()


# What is done there


in_task: ContextVar[bool] = ContextVar("zyg_in_task", default=False)  # of a gradient elsewhere


def run(options: dict[str, Any], make: Any, *given: Any) -> Any:
    """In a worker: what `make`, such as `call` and `keep`, makes of a recipe."""
    before = in_task.set(True)
    try:
        with activated(()), under(options):  # one forked inside of a gradient is not in it
            return make(*given)
    finally:
        in_task.reset(before)


def call(recipe: Any, operands: Sequence[Any], constants: Sequence[Any]) -> Any:
    """The plain value."""
    return plain(recipe(own(operands), constants))


def own(operands: Sequence[Any]) -> list[Any]:
    """Operands of which arrays are copied, because an engine may share its memory with us."""
    return [np.copy(x) if isinstance(x, np.ndarray) else x for x in operands]


def keep(recipe: Any, operands: Sequence[Any], constants: Sequence[Any], where: Any = None) -> Kept:
    """The value, with the way back."""
    if isinstance(recipe, Recipe):
        operands = recipe.completed(operands, constants)
    return Kept(recipe, operands, constants, where)


def plain(value: Any) -> Any:
    """A value without anything of zyg's in it."""
    inside = Structure(value, is_watched)
    return inside.rebuild([strip(x) for x in inside.leaves])


# What both sides agree on


def carriers(value: Any, whole: bool) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The numbers and arrays in a result that may depend on operands; how to put others there.

    Integers among them count something, unless all operands are integers, which is `whole`.
    """
    found = Structure(value, lambda x: is_watched(x) or is_result(x), shared=True)
    places = [k for k, x in enumerate(found.leaves) if whole or not _is_integer(x)]

    def rebuild(others: list[Any]) -> Any:
        leaves = [*found.leaves]
        for k, x in zip(places, others, strict=True):
            leaves[k] = x
        return found.rebuild(leaves)

    return [found.leaves[k] for k in places], rebuild


def all_integers(operands: Sequence[Any]) -> bool:
    """Whether all operands are integers."""
    return all(map(_is_integer, operands))


def _is_integer(x: Any) -> bool:
    x = strip(x)
    return x.dtype.kind in "iu" if hasattr(x, "dtype") else isinstance(x, int)


def sketch(leaves: Sequence[Any]) -> list[Any]:
    """Enough of each number and array to see whether another is the same up to rounding."""
    return [_sketch(strip(x)) for x in leaves]


def _sketch(x: Any) -> Any:
    a = np.asarray(x)
    if a.dtype.kind not in "fciu":  # a number of a type that NumPy does not know
        return x
    with np.errstate(all="ignore"):
        return a.shape, np.linalg.norm(a), a.reshape(-1)[:: 1 + a.size // 64].copy()


def alike(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether two sketches are of the same values."""
    return len(some) == len(others) and all(map(_alike, some, others))


def _alike(a: Any, b: Any) -> bool:
    if not (isinstance(a, tuple) and isinstance(b, tuple)):
        return bool(a == b)
    if a[0] != b[0]:
        return False
    if a[1] == b[1] and (a[2] == b[2]).all():
        return True
    tolerance = max(_rounding(a[2].dtype), _rounding(b[2].dtype))
    scale = float(np.nan_to_num(a[1], posinf=0.0)) / math.sqrt(max(1, math.prod(a[0])))
    return all(
        np.allclose(u, v, tolerance, tolerance * scale, equal_nan=True)
        for u, v in zip(a[1:], b[1:], strict=True)
    )


def _rounding(dtype: np.dtype[Any]) -> float:
    """Relative differences that are put down to rounding: machines may add up in another order."""
    return float(np.finfo(dtype).eps) ** 0.5 if dtype.kind in "fc" else 0.0
