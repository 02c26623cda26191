"""Calls that run in another process, and their adjoints, which run there too: what is sent.

A call is pickled with its watched values taken out: wherever one is met, in an argument, in a
container, in the cell of a closure, the pickle has a number, and the value is an *operand* of what
is sent, a `Recipe`. Called with plain operands, a recipe is the call itself; called with watched
ones, it is differentiated, in the process that calls it. *Constants* are values that are there
already, such as the result of another task of a cluster.

The adjoint of a recipe and its tangent are recipes as well, of more operands, so they can be sent,
and differentiated, in the same way.
"""

from __future__ import annotations

import functools
import inspect
import io
import math
import pickle
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from itertools import chain
from operator import attrgetter
from types import FunctionType
from typing import Any

import numpy as np

from zyg.base.config import under
from zyg.base.structure import Structure
from zyg.core.entries import is_result
from zyg.core.running import activated
from zyg.core.strand import is_watched, settle, strip, watched_leaves
from zyg.errors import RecomputationError, ShippingError
from zyg.verbs.effects import globals_of
from zyg.verbs.gradients import pullback
from zyg.verbs.pushforward import pushforward

# What is sent


class Recipe:
    """A call, pickled without its operands and its constants.

    `links` are the constants that are watched: their places, and the `whole` of their carriers. The
    numbers and arrays in them are the last operands, where they are not to be taken as they are.
    """

    def __init__(self, name: str, blob: bytes, count: int) -> None:
        self.name, self.blob, self.count = name, blob, count
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
        return _Unpickler(self.blob, operands, constants).load()

    def completed(self, operands: Sequence[Any], constants: Sequence[Any]) -> list[Any]:
        """The operands, those in constants too."""
        found = [carriers(constants[place], whole)[0] for place, whole in self.links]
        return [*operands, *chain.from_iterable(found)]


class Kept:
    """A recipe that has been run with watched operands: its value, and the way back.

    It is pickled as what it was made of, and runs again where it is sent.
    """

    def __init__(self, recipe: Any, operands: Sequence[Any], constants: Sequence[Any]) -> None:
        self.made_of = (recipe, operands, constants)
        rebuild: list[Callable[[list[Any]], Any]] = []

        def results(*operands: Any) -> Any:
            leaves, again = carriers(recipe(operands, constants), all_integers(operands))
            rebuild.append(again)
            return leaves

        leaves, self._back = pullback(results, *operands)
        self.sketch = sketch(leaves)
        self.value = plain(rebuild[0](leaves))

    def back(self, bars: Sequence[Any], expected: list[Any]) -> tuple[Any, ...]:
        """The cotangents of the operands; `expected` is the sketch of the value that was used."""
        if not alike(self.sketch, expected):
            raise RecomputationError(
                f"{self.made_of[0].name} gave another value when it was run again for its "
                "derivative.",
                "the program went on with the first value, and the derivative is that of the "
                "second. Unseeded random numbers do this, and files or globals that change.",
                "make the task a function of its arguments; pass it a seed.",
            )
        return self._back([*bars])

    def __reduce__(self) -> Any:
        return Kept, self.made_of


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


# How it is sent


def ship(
    f: Callable[..., Any], args: Any, kwargs: Any, constants: tuple[type, ...] = ()
) -> tuple[Recipe, list[Any], list[Any]]:
    """The recipe of a call, its operands, and its constants: the objects of the given types."""
    name = getattr(f, "__name__", type(f).__name__)
    file = io.BytesIO()
    lifting = _lifting()(file, constants)
    try:
        lifting.dump((f, args, kwargs))
    except Exception as error:
        where = _culprit(f, args, kwargs, constants)
        raise ShippingError(
            f"{name} cannot be sent to a worker: {where} cannot be pickled ({error}).",
            "another process gets a copy of the function, its closure and its arguments.",
            "make locks, files, connections and generators inside the task.",
        ) from error
    demand_globals(name, f)
    recipe = Recipe(name, file.getvalue(), len(lifting.operands))
    return recipe, lifting.operands, lifting.constants


def demand_globals(name: str, f: Any) -> None:
    """Refuse a function of a module that is imported there, where a global is watched here."""
    waiting, seen = [getattr(f, "func", f)], set[Any]()
    while waiting:
        g = waiting.pop()
        if type(g) is not FunctionType or g in seen:
            continue
        seen.add(g)
        for variable in globals_of(g.__code__):
            x = g.__globals__.get(variable)
            waiting.append(x)
            held = watched_leaves(x) if is_watched(x) or type(x) in (list, tuple, dict) else ()
            if any(is_watched(settle(y)) for y in held) and _is_imported(g):
                raise ShippingError(
                    f"{name} cannot be sent to a worker: it reads the global variable "
                    f"{variable!r} of {g.__module__}, which is watched.",
                    "the worker imports the module for itself, and has another value there.",
                    "pass the value as an argument.",
                )


def _is_imported(f: FunctionType) -> bool:
    """Whether a worker imports a function, and is not sent what it is made of."""
    import cloudpickle

    module = sys.modules.get(f.__module__)
    if f.__module__ in {"__main__", *cloudpickle.list_registry_pickle_by_value()}:
        return False
    try:
        return attrgetter(f.__qualname__)(module) is f
    except AttributeError:  # a function inside of another one
        return False


@functools.cache
def _lifting() -> Any:
    import cloudpickle

    class Lifting(cloudpickle.Pickler):  # type: ignore[misc]
        """Pickles everything but watched values and constants."""

        def __init__(self, file: Any, types: tuple[type, ...]) -> None:
            super().__init__(file)
            self.types = types
            self.operands: list[Any] = []
            self.constants: list[Any] = []
            self.places: dict[int, int] = {}

        def persistent_id(self, x: Any) -> Any:
            if is_watched(x) and is_watched(settle(x)):
                return 0, self._place(x, self.operands)
            return (1, self._place(x, self.constants)) if isinstance(x, self.types) else None

        def _place(self, x: Any, among: list[Any]) -> int:
            place = self.places.setdefault(id(x), len(among))
            if place == len(among):
                among.append(x)
            return place

    return Lifting


class _Unpickler(pickle.Unpickler):
    def __init__(self, blob: bytes, operands: Sequence[Any], constants: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(blob))
        self.given = operands, constants

    def persistent_load(self, key: Any) -> Any:
        kind, place = key
        return self.given[kind][place]


def _culprit(f: Any, args: Any, kwargs: Any, constants: tuple[type, ...]) -> str:
    """Which part of a call cannot be pickled."""
    parts = [(f"argument {k}", x) for k, x in enumerate(args)]
    parts += [(f"argument {k!r}", x) for k, x in kwargs.items()]
    if inspect.isfunction(f):
        free, _, names, _ = inspect.getclosurevars(f)
        parts += [(f"the variable {k!r}", x) for k, x in {**names, **free}.items()]
    for where, x in parts:
        try:
            _lifting()(io.BytesIO(), constants).dump(x)
        except Exception:
            return f"{where}, a {type(x).__name__},"
    return "the function"


class _Place:
    """Where an engine fills in a value."""

    def __init__(self, place: int) -> None:
        self.place = place


def marked(x: Any, refs: list[Any], types: tuple[type, ...]) -> Any:
    """Arguments as they are sent where an engine fills in values: those of the given types."""
    if isinstance(x, types):
        refs.append(x.ref)  # type: ignore[attr-defined]
        return _Place(len(refs) - 1)
    return type(x)([marked(y, refs, types) for y in x]) if type(x) in (list, tuple) else x


def version() -> str:
    """The version of zyg."""
    return str(sys.modules["zyg"].__version__)


# What is done there


def filled(x: Any, given: Sequence[Any]) -> Any:
    """Arguments again, with the values that an engine has filled in."""
    if type(x) is _Place:
        return given[x.place]
    return type(x)([filled(y, given) for y in x]) if type(x) in (list, tuple) else x


def demand_version(asked: str) -> None:
    """Refuse to run for a process that has another version."""
    if asked != version():
        raise ShippingError(
            f"a worker has zyg {version()}, and the program has zyg {asked}.",
            "what they send each other is of one version, and so are the derivatives.",
            "install the same version everywhere.",
            where="in a worker",
        )


in_task: ContextVar[bool] = ContextVar("zyg_in_task", default=False)  # of a gradient elsewhere


def run(options: dict[str, Any], make: Any, recipe: Any, operands: Any, constants: Any) -> Any:
    """In a worker: what `make`, which is `call` or `keep`, makes of a recipe."""
    before = in_task.set(True)
    try:
        with activated(()), under(options):  # one forked inside of a gradient is not in it
            return make(recipe, operands, constants)
    finally:
        in_task.reset(before)


def call(recipe: Any, operands: Sequence[Any], constants: Sequence[Any]) -> Any:
    """The plain value."""
    return plain(recipe(own(operands), constants))


def own(operands: Sequence[Any]) -> list[Any]:
    """Operands of which arrays are copied, because an engine may share its memory with us."""
    return [np.copy(x) if isinstance(x, np.ndarray) else x for x in operands]


def keep(recipe: Any, operands: Sequence[Any], constants: Sequence[Any]) -> Kept:
    """The value, with the way back."""
    if isinstance(recipe, Recipe):
        operands = recipe.completed(operands, constants)
    return Kept(recipe, operands, constants)


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
