"""Calls out of JAX: a program that zyg differentiates, as a function of arrays of JAX's.

The program runs in a callback, which JAX may repeat, reorder or drop: so it holds no state, and the
way back runs the program again. It is such a function itself, of the pullback, made when it is
asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import tree_flatten

from zyg.base.caches import Cache
from zyg.base.signatures import P
from zyg.base.structure import is_number
from zyg.core.trace import Trace
from zyg.errors import StructureError
from zyg.interop.jax import conjugates

Program = Callable[..., Any]


def function(f: Callable[P, Any], result: Any = None) -> Callable[P, Any]:
    """`f`, a program of numbers and arrays, as a function of JAX's that JAX differentiates.

    Arguments and results are pytrees; f gets arrays of NumPy's, which are read-only, and numbers
    for arrays of no axes.
    `result` gives the shapes and dtypes of what f returns: a pytree of arrays or
    ``jax.ShapeDtypeStruct``, or a function of such arguments that returns one. Without it, f is run
    once on ones for each form of the arguments. ``jit``, ``grad``, ``jacrev`` and ``vmap``, by one
    call for each, work to any order; forward mode is refused by JAX. f may be called more or less
    often than the program says, so it must be a function of its arguments. Raises what f raises,
    and StructureError where its value has another form than `result`, as JAX reports them.

    >>> import jax, jax.numpy as jnp, numpy as np, zyg
    >>> jax.config.update("jax_enable_x64", True)
    >>> f = zyg.jax.function(lambda x: np.sum(x * np.exp(x)))
    >>> jax.jit(jax.grad(f))(jnp.array([0.0, 1.0])).round(4).tolist()
    [1.0, 5.4366]

    """
    forms = Cache[Any, Any](256)

    @functools.wraps(f)
    def of_jax(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten((args, kwargs))
        places = [k for k, x in enumerate(leaves) if _is_array(x)]
        arrays = [jnp.asarray(leaves[k]) for k in places]

        def run(*arrays: Any) -> Any:
            full = [*leaves]
            for k, x in zip(places, arrays, strict=True):
                full[k] = x
            args, kwargs = tree.unflatten(full)
            return f(*args, **kwargs)

        like = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays]
        if result is None:
            rest = tuple([(k, x) for k, x in enumerate(leaves) if k not in places])
            key = tree, rest, tuple([(x.shape, x.dtype) for x in like])
            form = forms.get(key)
            if form is None:
                ones = [_number_or_array(np.ones(x.shape, x.dtype)) for x in like]
                with jax.ensure_compile_time_eval():  # f may compute with JAX inside
                    form = forms.put(key, run(*ones))
        else:
            full = [*leaves]
            for k, x in zip(places, like, strict=True):
                full[k] = x
            args, kwargs = tree.unflatten(full)
            form = result(*args, **kwargs) if callable(result) else result
        return _Bridge(run, form)(*arrays)

    return of_jax


def _is_array(x: Any) -> bool:
    return isinstance(x, (jax.Array, np.ndarray, np.generic))


def _number_or_array(x: Any) -> Any:
    x = np.asarray(x)
    return x if x.ndim else x[()]


class _Bridge:
    """``run(*arrays)`` in a callback: a function of arrays of JAX's whose result has this form."""

    def __init__(self, run: Program, form: Any) -> None:
        self.run = run
        self.like, self.tree = tree_flatten(form)
        self.places = [k for k, x in enumerate(self.like) if hasattr(x, "dtype") or is_number(x)]
        self.specs = [_spec(self.like[k]) for k in self.places]
        self.moving = [k for k, x in enumerate(self.specs) if jnp.issubdtype(x.dtype, jnp.inexact)]

    def __call__(self, *arrays: Any) -> Any:
        of = jax.custom_vjp(self.call)
        of.defvjp(lambda *xs: (of(*xs), xs), self.back)
        leaves = [*self.like]
        for k, x in zip(self.places, of(*arrays), strict=True):
            leaves[k] = x
        return self.tree.unflatten(leaves)

    def call(self, *arrays: Any) -> Any:
        return jax.pure_callback(self.host, self.specs, *arrays, vmap_method="sequential")

    def host(self, *arrays: Any) -> list[Any]:
        """The numbers and arrays of the value, of the shapes that were said."""
        values = self.values([*map(_number_or_array, arrays)])
        shapes = [np.shape(x) for x in values], [x.shape for x in self.specs]
        if shapes[0] != shapes[1]:
            raise StructureError(
                f"a program in JAX returned shapes {shapes[0]}; result= says {shapes[1]}.",
                "JAX computes with the shapes that it was told before the program ran.",
                "correct result=; or leave it out, if the shapes do not depend on the values.",
            )
        return [np.asarray(x, spec.dtype) for x, spec in zip(values, self.specs, strict=True)]

    def values(self, arrays: Sequence[Any]) -> list[Any]:
        leaves = tree_flatten(self.run(*arrays))[0]
        return [x for x in leaves if hasattr(x, "dtype") or is_number(x)]

    def back(self, arrays: Sequence[Any], bars: Sequence[Any]) -> tuple[Any, ...]:
        """The cotangents of the arguments: one of JAX's for each."""
        moving = [k for k, x in enumerate(arrays) if jnp.issubdtype(x.dtype, jnp.inexact)]
        form = [jax.ShapeDtypeStruct(arrays[k].shape, arrays[k].dtype) for k in moving]
        pulled = _Bridge(functools.partial(self.pulled, len(arrays), moving), form)
        found = pulled(*arrays, *conjugates([bars[k] for k in self.moving]))
        full: list[Any] = [np.zeros(x.shape, jax.dtypes.float0) for x in arrays]
        for k, c in zip(moving, conjugates(found), strict=True):
            full[k] = c
        return (*full,)

    def pulled(self, n: int, moving: Sequence[int], *operands: Any) -> list[Any]:
        """The same as a program of the arguments and the cotangents."""
        arrays, bars = operands[:n], operands[n:]

        def run(*xs: Any) -> list[Any]:
            full = [*arrays]
            for k, x in zip(moving, xs, strict=True):
                full[k] = x
            values = self.values(full)
            return [values[k] for k in self.moving]

        # JAX's arrays are nobody's to write to.
        trace = Trace(run, tuple([arrays[k] for k in moving]), {}, arguments="shared")
        return [*trace.back([*bars], True)]


def _spec(x: Any) -> jax.ShapeDtypeStruct:
    dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    return jax.ShapeDtypeStruct(np.shape(x), jax.dtypes.canonicalize_dtype(dtype))
