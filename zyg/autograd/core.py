"""Vector spaces, and functions of one argument with their vector-Jacobian products."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from zyg.autograd import tracer
from zyg.autograd._absent import names_from
from zyg.autograd._conventions import completed, conjugate, covector, of_numpy
from zyg.autograd._primitives import def_linear as def_linear
from zyg.autograd._primitives import defjvp as defjvp
from zyg.autograd._primitives import defjvp_argnum as defjvp_argnum
from zyg.autograd._primitives import defjvp_argnums as defjvp_argnums
from zyg.autograd._primitives import defvjp as defvjp
from zyg.autograd._primitives import defvjp_argnum as defvjp_argnum
from zyg.autograd._primitives import defvjp_argnums as defvjp_argnums
from zyg.autograd._primitives import primitive as primitive
from zyg.autograd._primitives import primitive_jvps as primitive_jvps
from zyg.autograd._primitives import primitive_vjps as primitive_vjps
from zyg.autograd.tracer import Box as Box
from zyg.autograd.tracer import getval as getval
from zyg.autograd.tracer import isbox as isbox
from zyg.base.borders import border
from zyg.base.trees import taken_apart
from zyg.core.trace import watchable
from zyg.core.views import float_dtype
from zyg.errors import StructureError
from zyg.functions.kit import strip, watched_leaves
from zyg.verbs.gradients import pullback
from zyg.verbs.pushforward import pushforward
from zyg.verbs.structures import dot
from zyg.verbs.structures import map as mapped

__getattr__ = names_from()


class VSpace:
    """The real vector space of the values that have the structure and the shapes of one.

    Attributes
    ----------
    shape : tuple, or a list or a dict of spaces
        That of a number or an array; of a container, the space of each of its parts.
    size : int
        The dimension: complex numbers count twice.
    dtype : dtype
        Of the numbers; of a structure, of all of them together.
    iscomplex : bool
        Whether there is a complex number.
    """

    def __init__(self, value: Any) -> None:
        inside = self._inside = taken_apart(value, watchable, shared=False)
        plain = [np.asarray(strip(x)) for x in inside.leaves]
        self._kinds = [(x.shape, x.dtype) for x in plain]
        self.dtype = np.result_type(*plain) if plain else np.dtype(float)
        self.iscomplex = self.dtype.kind == "c"
        self.size = sum(x.size * (1 + (x.dtype.kind == "c")) for x in plain)
        self.shape: Any = plain[0].shape if inside.is_leaf else _spaces(value)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @staticmethod
    def register(value_type: type, vspace_maker: Any = None) -> NoReturn:
        """Refused: autograd registers a space for a class, zyg takes its objects apart."""
        tracer.refuse_registration("VSpace", value_type)

    def zeros(self) -> Any:
        """The zero of the space."""
        return self._inside.rebuild([np.zeros(*kind) for kind in self._kinds])

    def ones(self) -> Any:
        """The sum of the standard basis: ones; 1 + 1j where numbers are complex."""
        parts = [np.full(shape, 1 + 1j if d.kind == "c" else 1, d) for shape, d in self._kinds]
        return self._inside.rebuild(parts)

    def standard_basis(self) -> Iterator[Any]:
        """The unit vectors, in order; with 1j, too, where numbers are complex."""
        for k, (shape, dtype) in enumerate(self._kinds):
            for place in np.ndindex(shape):
                for unit in (1, 1j)[: 1 + (dtype.kind == "c")]:
                    leaves = [np.zeros(*kind) for kind in self._kinds]
                    leaves[k][place] = unit
                    yield self._inside.rebuild(leaves)

    def randn(self) -> Any:
        """A random vector of independent normal numbers, for ints floats, by NumPy's generator."""
        return self._inside.rebuild([_normal(*kind) for kind in self._kinds])

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two vectors."""
        return mapped(lambda a, b: a + b, x, y)

    mut_add = add

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """A vector times a number."""
        return mapped(lambda part: part * a, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """The inner product of two vectors, a real number."""
        return dot(x, y)

    def covector(self, x: Any) -> Any:
        """The cotangent that pairs with vectors as `x` does: its conjugate."""
        return conjugate(x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VSpace) and (self.shape, self._kinds) == (
            other.shape,
            other._kinds,
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"VSpace(shape={self.shape!r}, dtype={self.dtype})"


def _spaces(value: Any) -> Any:
    """The space of each part of a container."""
    if isinstance(value, dict):
        return {key: vspace(part) for key, part in value.items()}
    return [vspace(part) for part in value] if isinstance(value, (list, tuple)) else None


def _normal(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    x = np.asarray(np.random.randn(*shape))
    kind = dtype if dtype.hasobject else float_dtype(dtype)  # an int would be 0, mostly
    return (x + 1j * np.random.randn(*shape) if dtype.kind == "c" else x).astype(kind)


def vspace(value: Any) -> VSpace:
    """The vector space of a number, an array or a structure of them; of anything else an error."""
    if isinstance(value, (bool, str, type(None))):
        raise StructureError(
            f"a {type(value).__name__} is in no vector space.",
            "only numbers and arrays, and what is made of them, can be added and multiplied.",
            "return and pass floats; grad_and_aux takes a loss and anything else.",
        )
    return VSpace(value)


@border
def make_vjp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The vector-Jacobian product of ``fun(x)``, a function of a covector; and its value."""
    y, back = pullback(lambda x: warned(fun(x)), of_numpy(x))

    @border
    def vjp(g: Any) -> Any:
        return covector(back(conjugate(g), zeros=True)[0], x)

    return vjp, y


@border
def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """The function of a vector that returns ``fun(x)`` and its Jacobian-vector product."""

    @border
    def jvp(v: Any) -> tuple[Any, Any]:
        y, y_dot = pushforward(lambda x: warned(fun(x)), (of_numpy(x),), (v,))
        return y, completed(y_dot, y)

    return jvp


def warned(y: Any) -> Any:
    """The result of a function, with autograd's warning if it does not depend on the argument."""
    if not watched_leaves(y):
        warnings.warn("Output seems independent of input.", stacklevel=2)
    return y
