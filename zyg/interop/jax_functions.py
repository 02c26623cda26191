"""Calls out of JAX: a program that zyg differentiates, as a function of arrays of JAX's.

The program runs in a callback, which JAX may repeat, reorder or drop: so it holds no state, and
derivatives run the program again. A call is a primitive of JAX's: its tangent is such a call of the
program's pushforward, and the transpose of that is one of the pullback. Both are programs that zyg
differentiates, made when they are asked for: so there is any order, forward and back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.tree_util import tree_flatten

from zyg.base.caches import Cache
from zyg.base.signatures import P
from zyg.base.structure import is_number
from zyg.core.trace import Trace
from zyg.errors import StructureError
from zyg.interop.jax import conjugates
from zyg.verbs.pushforward import pushforward

Program = Callable[..., Any]


def function(f: Callable[P, Any], result: Any = None) -> Callable[P, Any]:
    """`f`, a program of numbers and arrays, as a function of JAX's that JAX differentiates.

    ``jit``, ``grad``, ``jacrev``, ``jvp``, ``jacfwd``, ``hessian`` and ``vmap``, by one call for
    each, work to any order.

    Parameters
    ----------
    f : callable
        It gets arrays of NumPy's, which are read-only, and numbers for arrays of no axes. It may be
        called more or less often than the program says, so it must be a function of its arguments.
    result : pytree or callable, optional
        The shapes and dtypes of what f returns: a pytree of arrays or ``jax.ShapeDtypeStruct``, or
        a function of such arguments that returns one. Without it, f is run once on ones for each
        form of the arguments.

    Returns
    -------
    callable
        Arguments and results are pytrees.

    Raises
    ------
    StructureError
        When it is called: the value of f has another form than `result`. JAX reports this error,
        and what f raises, in its own way.

    Examples
    --------
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
        places = [
            k for k, x in enumerate(leaves) if isinstance(x, (jax.Array, np.ndarray, np.generic))
        ]
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


def _number_or_array(x: Any) -> Any:
    x = np.asarray(x)
    return x if x.ndim else x[()]


class _Bridge:
    """A program of NumPy's whose result has this form: what a call is to JAX.

    It may be linear in its last `linear` operands; `transpose` then gives the transpose by those,
    a program of the other operands and the cotangents, by zyg's convention.
    """

    def __init__(
        self,
        run: Program,
        form: Any,
        linear: int = 0,
        transpose: Callable[[], _Bridge] | None = None,
    ) -> None:
        self.run, self.linear, self.transpose = run, linear, transpose
        self.like, self.tree = tree_flatten(form)
        self.places = [k for k, x in enumerate(self.like) if hasattr(x, "dtype") or is_number(x)]
        self.specs = [_spec(self.like[k]) for k in self.places]
        self.moving = [k for k, x in enumerate(self.specs) if jnp.issubdtype(x.dtype, jnp.inexact)]

    def __call__(self, *arrays: Any) -> Any:
        leaves = [*self.like]
        for k, x in zip(self.places, _call.bind(*arrays, bridge=self), strict=True):
            leaves[k] = x
        return self.tree.unflatten(leaves)

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

    def moving_values(self, arrays: Sequence[Any], moving: Sequence[int], *xs: Any) -> list[Any]:
        """Those values that have a derivative, with `xs` for the operands that are `moving`."""
        full = [*arrays]
        for k, x in zip(moving, xs, strict=True):
            full[k] = x
        values = self.values(full)
        return [values[k] for k in self.moving]

    def pushed(self, moving: Sequence[int], likes: Sequence[Any]) -> _Bridge:
        """The tangents of the values, for the operands and the tangents of those `moving`."""

        def run(*operands: Any) -> Any:
            arrays, dots = operands[: len(likes)], operands[len(likes) :]
            program = functools.partial(self.moving_values, arrays, moving)
            return pushforward(program, tuple([arrays[k] for k in moving]), dots)[1]

        back = functools.partial(self.pulled, moving, likes)
        return _Bridge(run, [self.specs[k] for k in self.moving], len(moving), back)

    def pulled(self, moving: Sequence[int], likes: Sequence[Any]) -> _Bridge:
        """The cotangents of the operands that are `moving`, for the operands and the cotangents."""

        def run(*operands: Any) -> Any:
            arrays, bars = operands[: len(likes)], operands[len(likes) :]
            program = functools.partial(self.moving_values, arrays, moving)
            # JAX's arrays are nobody's to write to.
            trace = Trace(program, tuple([arrays[k] for k in moving]), {}, arguments="shared")
            return [*trace.back([*bars], True)]

        forth = functools.partial(self.pushed, moving, likes)
        return _Bridge(run, [likes[k] for k in moving], len(self.moving), forth)


# The primitive


_call = Primitive("zyg_call")
_call.multiple_results = True


def _aval(spec: Any) -> Any:
    return jax.core.ShapedArray(spec.shape, spec.dtype)


def _form(*operands: Any, bridge: _Bridge) -> list[Any]:
    return [*map(_aval, bridge.specs)]


def _value(*operands: Any, bridge: _Bridge) -> Any:
    return jax.pure_callback(bridge.host, bridge.specs, *operands)


_call.def_abstract_eval(_form)
_call.def_impl(_value)
mlir.register_lowering(_call, mlir.lower_fun(_value, multiple_results=True))


def _jvp(operands: Any, dots: Any, *, bridge: _Bridge) -> tuple[Any, Any]:
    ys = _call.bind(*operands, bridge=bridge)
    moving = [k for k, dot in enumerate(dots) if type(dot) is not ad.Zero]
    y_dots = [ad.Zero(_aval(x).to_tangent_aval()) for x in bridge.specs]
    if moving and bridge.moving:
        pushed = bridge.pushed(moving, [*map(_spec, operands)])
        found = _call.bind(*operands, *[dots[k] for k in moving], bridge=pushed)
        for k, dot in zip(bridge.moving, found, strict=True):
            y_dots[k] = dot
    return ys, y_dots


def _transpose(bars: Any, *operands: Any, bridge: _Bridge) -> list[Any]:
    """The cotangents of those operands in which the call is linear and which are asked for."""
    assert bridge.transpose is not None
    first = len(operands) - bridge.linear
    bars = [*map(ad.instantiate_zeros, bars)]
    found = _call.bind(*operands[:first], *conjugates(bars), bridge=bridge.transpose())
    asked = [*map(ad.is_undefined_primal, operands)]
    return [
        c if a else None for c, a in zip([None] * first + conjugates(found), asked, strict=True)
    ]


def _batch(operands: Any, axes: Any, *, bridge: _Bridge) -> tuple[Any, Any]:
    """One call for each element of the batch."""
    places = [k for k, axis in enumerate(axes) if axis is not None]

    def one(xs: Sequence[Any]) -> Any:
        full = [*operands]
        for k, x in zip(places, xs, strict=True):
            full[k] = x
        return _call.bind(*full, bridge=bridge)

    ys = jax.lax.map(one, [jnp.moveaxis(operands[k], axes[k], 0) for k in places])
    return ys, [0] * len(ys)


ad.primitive_jvps[_call] = _jvp
ad.primitive_transposes[_call] = _transpose
batching.primitive_batchers[_call] = _batch


def _spec(x: Any) -> jax.ShapeDtypeStruct:
    dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    return jax.ShapeDtypeStruct(np.shape(x), jax.dtypes.canonicalize_dtype(dtype))
