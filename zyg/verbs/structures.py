"""`map`, `dot` and `norm`: to compute with structures of numbers as with vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from zyg.base.array_types import is_complex
from zyg.base.borders import border
from zyg.base.structure import Structure
from zyg.base.trees import Tree, taken_apart
from zyg.core.cotangents import spec_of, zeros_of
from zyg.core.strand import is_watched, strip
from zyg.core.trace import watchable
from zyg.errors import StructureError
from zyg.verbs.vectors import counts

T = TypeVar("T")


@border
def map(f: Callable[..., Any], tree: T, *trees: Any) -> T:
    """The structure of `tree` with ``f(x, *others)`` in place of each number and array x in it.

    Differentiable where f is. Nothing is modified.

    Parameters
    ----------
    f : callable
        Gets a number or an array of each tree, from the same place.
    tree : any structure of numbers and arrays
        Dicts, lists, tuples, named ones too, dataclasses, objects, closures. An array or object
        that is met twice is one, in the result, too.
    *trees
        Structures of the same form; a `Tangent` stands for the object whose gradient it is. None
        stands for zeros.

    Returns
    -------
    the same structure
        Holds what f returned. What is no number in `tree` stays as it is; so does an int that f
        leaves at its value, which a gradient step does to those that only count.

    Raises
    ------
    StructureError
        A tree has another structure than the first, or a number where that has none.

    Examples
    --------
    >>> import zyg
    >>> params = {"w": [1.0, 2.0], "name": "line"}
    >>> grads = {"w": [10.0, None], "name": None}
    >>> zyg.map(lambda p, g: p - 0.1 * g, params, grads)
    {'w': [0.0, 2.0], 'name': 'line'}

    """
    structure = taken_apart(tree, watchable)
    others = [_parts(structure, other, "zyg.map", k) for k, other in enumerate(trees, 2)]
    made = []
    for k, x in enumerate(structure.leaves):
        y = f(x, *[zeros_of(spec_of(x)) if parts[k] is None else parts[k] for parts in others])
        stays = counts(x) and not is_watched(y) and np.array_equal(strip(x), y)
        made.append(x if stays else y)
    return structure.rebuild(made)  # type: ignore[no-any-return]


@border
def dot(a: Any, b: Any) -> Any:
    """The inner product of two structures: the sum of the products of their numbers.

    Of complex numbers it is the real part of conj(a) b, as the pairing of a gradient and a
    direction is: the derivative of f along v is ``zyg.dot(gradient, v)``. Differentiable.

    Parameters
    ----------
    a, b : structures of numbers and arrays of the same form
        None stands for zeros, a `Tangent` for the object whose gradient it is. An array that is
        met twice counts twice.

    Returns
    -------
    number
        Real; 0.0 if there is nothing but zeros.

    Raises
    ------
    StructureError
        The structures differ.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> zyg.dot({"w": np.array([1.0, 2.0]), "b": 3.0}, {"w": np.array([1.0, 1.0]), "b": None})
    np.float64(3.0)

    """
    structure = taken_apart(a, watchable, shared=False)
    given = _parts(structure, b, "zyg.dot", 2, zero=True)
    total: Any = 0.0
    for k, (x, y) in enumerate(zip(structure.leaves, given, strict=True)):
        if np.shape(x) != (np.shape(x) if y is None else np.shape(y)):
            here = f"shape {np.shape(x)}", f"shape {np.shape(y)}"
            raise _misfit("zyg.dot", structure.paths()[k], *here)
        if y is not None:
            product = np.vdot(x, y) if np.ndim(x) else np.conj(x) * y
            total = total + (np.real(product) if is_complex(product) else product)
    return total


@border
def norm(a: Any) -> Any:
    """The Euclidean norm of all the numbers in a structure. Differentiable; of zeros with slope 0.

    Parameters
    ----------
    a : any structure of numbers and arrays
        None stands for zeros. An array that is met twice counts twice.

    Returns
    -------
    number
        Real; 0.0 if there is no number.

    Raises
    ------
    TypeError
        The numbers are of a type without square roots, as `Fraction`.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> zyg.norm({"w": np.array([3.0, 0.0]), "b": 4.0, "name": None})
    np.float64(5.0)

    """
    leaves = taken_apart(a, watchable, shared=False).leaves
    parts = [np.linalg.norm(np.reshape(x, -1)) if np.ndim(x) else abs(x) for x in leaves]
    return np.linalg.norm(np.stack(parts)) if parts else 0.0


def _parts(
    structure: Tree | Structure, other: Any, verb: str, k: int, *, zero: bool = False
) -> list[Any]:
    """What another structure has at the place of each leaf, None for zeros.

    Raises where it has numbers elsewhere, unless those meet a None that counts as `zero`.
    """
    found: list[Any] = [None] * len(structure.leaves)
    met = 0
    for place, part in structure.match(other, f"the first of {verb}", f"structure no. {k}"):
        if type(part) in (list, tuple):
            raise _misfit(verb, structure.paths()[place], "a number or an array", "a list")
        if found[place] is not None and not np.array_equal(strip(found[place]), strip(part)):
            here = "one array in several places", "different ones"
            raise _misfit(verb, structure.paths()[place], *here)
        met += watchable(part)
        found[place] = part
    inside = taken_apart(other, watchable, shared=False)
    if not zero and met < len(inside.leaves):
        whole = taken_apart(structure.rebuild(structure.leaves), watchable, shared=False)
        elsewhere = [path for path in inside.paths() if path not in {*whole.paths()}]
        raise _misfit(verb, min(elsewhere, default=""), "no number", "one")
    return found


def _misfit(verb: str, path: str, one: str, other: str) -> StructureError:
    return StructureError(
        f"{verb} was given structures that differ: at {path or 'the top'} the first has {one}, "
        f"another {other}.",
        "parts at the same place are combined.",
        "pass structures of one form, with None for zeros in all but the first.",
    )
