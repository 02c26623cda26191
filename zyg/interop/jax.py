"""Calls into JAX: `wrap` of functions and of namespaces.

A function that is compiled by ``jax.jit`` stays so: value and pullback are compiled together, once
for each form of the arguments, in which numbers and arrays are operands. Nothing is found by the
identity of an array. Another function is traced by JAX at each call, as it is there. JAX's
cotangents are the conjugates of zyg's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial, tree_flatten, tree_leaves

from zyg.base import buffers
from zyg.base.caches import Cache
from zyg.base.containers import Engine
from zyg.base.extras import demand_version
from zyg.base.marks import Named
from zyg.core.strand import WATCHED, settle
from zyg.errors import ConversionError
from zyg.interop.labels import array_in
from zyg.interop.operands import unless_integer
from zyg.interop.partner import Partner, call, over

demand_version("JAX", jax.__version__, "0.5")

_WIDE = {np.dtype(name) for name in ("float64", "complex128", "int64", "uint64")}
_KNOWN = {np.dtype(name) for name in ("bool", "float16", "float32", "complex64")} | _WIDE
_KNOWN |= {np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32)}
_NUMBERS = {bool, int, float, complex}
_SMALL = 4096  # bytes; to copy more takes longer than to hand over


# Arrays


def operand_of(x: Any) -> Any:
    """A number or an array, as a compiled function of JAX's takes it, unless that would round."""
    if isinstance(x, jax.Array) or type(x) in _NUMBERS:
        return x
    x = np.asarray(x)
    if x.dtype in _WIDE and not jax.config.jax_enable_x64 and not _fits_in_half(x):
        raise ConversionError(
            f"{x.dtype} was given to JAX, whose numbers have 32 bits.",
            "JAX would silently round it and the gradient.",
            'call jax.config.update("jax_enable_x64", True), or pass x.astype(np.float32).',
            tag="partner-dtype",
        )
    if x.dtype not in _KNOWN:
        raise _without_dtype("JAX", x.dtype)
    return x


def _fits_in_half(x: np.ndarray[Any, Any]) -> bool:
    if x.dtype.kind not in "iu":
        return False
    limits = np.iinfo(np.int32)
    return not x.size or bool(limits.min <= x.min() and x.max() <= limits.max)


def _without_dtype(library: str, dtype: Any) -> ConversionError:
    return ConversionError(
        f"{library} has no numbers of type {dtype}.",
        "they would be rounded, or change their meaning.",
        "convert them: x.astype(np.float64) before the call, y.astype(jnp.float32) in it.",
        tag="partner-dtype",
    )


def array_of(x: Any) -> Any:
    """An array of one's own with the value of one of JAX's; a number if it has no axes."""
    x = np.asarray(x)
    if x.dtype.kind not in "biufc":
        raise _without_dtype("NumPy", x.dtype)
    return buffers.copy(x) if x.ndim else x[()]


def conjugates(xs: Sequence[Any]) -> list[Any]:
    """Cotangents of the one convention as those of the other; of real numbers they are the same."""
    return [jnp.conj(x) if jnp.iscomplexobj(x) else x for x in xs]


# JAX as a partner


class _Jax(Partner):
    def to(self, x: Any) -> Any:
        return operand_of(x if type(x) not in _NUMBERS else np.asarray(x))

    def back(self, x: Any) -> Any:
        return array_of(x)

    def value_and_pullback(self, f: Any, xs: Sequence[Any], n: int) -> tuple[list[Any], Any]:
        found: tuple[list[Any], Any] = f.forward(
            [*map(self.to, xs[:n])], [*map(operand_of, xs[n:])]
        )
        return found

    def pulled(self, own: Back, bars: list[Any]) -> list[Any]:
        found = own(bars)
        if all(c.nbytes <= _SMALL for c in found):
            return [*map(array_of, found)]
        held = [*map(_address, [*tree_leaves(own.pullback), *bars, *found])]
        return [
            over(np.asarray(c), c)
            if c.nbytes > _SMALL and c.dtype in _KNOWN and held.count(_address(c)) == 1
            else array_of(c)
            for c in found
        ]

    def vjp(self, f: Any, n: int, m: int) -> Any:
        return f.vjp(n)


def _address(x: Any) -> int:
    """Where the memory of an array begins, which JAX shares as a whole or not at all."""
    return int(np.asarray(x).__array_interface__["data"][0])


JAX = _Jax()


def _forward(run: Any, active: list[Any], rest: list[Any]) -> Any:
    """The value of ``run(active, rest)``, its pullback, and what else it returned."""
    return jax.vjp(lambda active: run(active, rest), active, has_aux=True)


def _back(pullback: Any, bars: list[Any]) -> list[Any]:
    (found,) = pullback(conjugates(bars))
    return conjugates(found)


def _forward_of_back(pullback: Any, bars: list[Any]) -> Any:
    return jax.vjp(functools.partial(_back, pullback), bars)


_compiled_back, _compiled_forward_of_back = jax.jit(_back), jax.jit(_forward_of_back)


class Function:
    """``run(active, rest)``, which returns arrays and what else there is, and its derivatives."""

    def __init__(self, run: Callable[..., Any], compiled: bool) -> None:
        self.run, self.compiled = run, compiled
        forward = functools.partial(_forward, run)
        self.forward_and_rest = jax.jit(forward) if compiled else forward
        self._vjps: dict[int, Function] = {}

    def forward(self, active: list[Any], rest: list[Any]) -> tuple[list[Any], Back]:
        ys, pullback, _ = self.forward_and_rest(active, rest)
        return ys, Back(pullback, self.compiled)

    def vjp(self, n: int) -> Function:
        """Its pullback, as a function of n operands and the cotangents."""
        found = self._vjps.get(n)
        if found is None:
            run = functools.partial(_pulled, self.run, n)
            found = self._vjps[n] = Function(run, self.compiled)
        return found


def _pulled(run: Any, n: int, active: list[Any], rest: list[Any]) -> Any:
    _, pullback, _ = _forward(run, active[:n], rest)
    return _back(pullback, active[n:]), None


class Back:
    """The pullback of one run, which JAX has made; it can be differentiated."""

    def __init__(self, pullback: Any, compiled: bool) -> None:
        self.pullback, self.compiled = pullback, compiled

    def __call__(self, bars: list[Any]) -> list[Any]:
        found: list[Any] = (_compiled_back if self.compiled else _back)(self.pullback, bars)
        return found

    def forward(self, bars: list[Any], rest: list[Any]) -> tuple[list[Any], Back]:
        of = _compiled_forward_of_back if self.compiled else _forward_of_back
        found, pullback = of(self.pullback, bars)
        return found, Back(pullback, self.compiled)

    def vjp(self, n: int) -> Function:
        return Function(lambda bars, _: (_back(self.pullback, bars), None), False).vjp(n)


# Calls


class Form:
    """Where in the arguments of a call its operands are; calls of one form are compiled once."""

    def __init__(self, tree: Any, fixed: Any, places: list[int], static: Any) -> None:
        self.tree, self.fixed, self.places, self.static = tree, fixed, places, static
        self.key = tree, fixed, (*places,), static

    def rebuild(self, operands: Sequence[Any]) -> tuple[Any, dict[str, Any]]:
        leaves: list[Any] = [None] * self.tree.num_leaves
        for k, x in self.fixed:
            leaves[k] = x
        for k, x in zip(self.places, operands, strict=True):
            leaves[k] = x
        args, kwargs = self.tree.unflatten(leaves)
        for k, x in self.static:
            if isinstance(k, int):
                args = *args[:k], x, *args[k + 1 :]
            else:
                kwargs[k] = x
        return args, kwargs


class Result:
    """The form of a result, beside which its arrays are: those with a derivative, and others."""

    def __init__(self, tree: Any, moving: list[int], others: list[int], rest: list[Any]) -> None:
        self.tree, self.moving, self.others, self.rest = tree, moving, others, rest

    def rebuild(self, moving: Any, others: Sequence[Any]) -> Any:
        leaves = [*self.rest]
        for k, x in zip(self.moving, moving, strict=True):
            leaves[k] = x
        for k, x in zip(self.others, others, strict=True):
            leaves[k] = array_of(x)
        return self.tree.unflatten(leaves)


def _run(f: Callable[..., Any], form: Form, active: list[Any], rest: list[Any]) -> Any:
    """The arrays of a result that have a derivative; its other arrays, and its form."""
    args, kwargs = form.rebuild([*active, *rest])
    leaves, tree = tree_flatten(f(*args, **kwargs))
    arrays = [k for k, x in enumerate(leaves) if isinstance(x, (jax.Array, np.ndarray))]
    moving = [k for k in arrays if jnp.issubdtype(leaves[k].dtype, jnp.inexact)]
    others = [k for k in arrays if k not in moving]
    known = [None if k in arrays else x for k, x in enumerate(leaves)]
    result = Result(tree, moving, others, known)
    return [leaves[k] for k in moving], ([leaves[k] for k in others], Partial(result.rebuild))


class _Call:
    """One call: the function that is compiled for its form, and what else it has returned."""

    def __init__(self, function: Function) -> None:
        self.function, self.vjp = function, function.vjp

    def forward(self, active: list[Any], rest: list[Any]) -> tuple[list[Any], Back]:
        ys, pullback, self.aux = self.function.forward_and_rest(active, rest)
        return ys, Back(pullback, self.function.compiled)


class Wrapped(Named, Engine):
    """A function of JAX's, called with arrays; in arguments it passes through whole."""

    made_by = "zyg.jax.wrap"

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self.f = f
        self.name = getattr(f, "__name__", type(f).__name__)
        info = getattr(f, "_jit_info", None)
        self.compiled = info is not None
        self.static = (*info.static_argnums, *info.static_argnames) if info else ()
        self.functions: Cache[Any, Function] = Cache(256)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        static = self._static_of(args, kwargs)
        names = dict(static)
        args = tuple([None if k in names else x for k, x in enumerate(args)]) if names else args
        leaves, tree = tree_flatten((args, {k: x for k, x in kwargs.items() if k not in names}))
        leaves = [x if type(x) in WATCHED else array_in(x) for x in leaves]
        leaves = [unless_integer(settle(x)) if type(x) in WATCHED else x for x in leaves]
        active = [k for k, x in enumerate(leaves) if type(x) in WATCHED]
        rest = [k for k, x in enumerate(leaves) if type(x) not in WATCHED and self._varies(x)]
        used = {*active, *rest}
        fixed = tuple([(k, x) for k, x in enumerate(leaves) if k not in used])
        form = Form(tree, fixed, [*active, *rest], static)
        values = [leaves[k] for k in active], [leaves[k] for k in rest]
        if not active:
            ys, (others, rebuild) = _run(self.f, form, [], [*map(operand_of, values[1])])
            return rebuild([*map(array_of, ys)], others)
        made = _Call(self._function(form))
        y = call(JAX, self.name, made, *values)
        others, rebuild = made.aux
        return rebuild(y if type(y) is tuple else (y,), others)

    def _static_of(self, args: Any, kwargs: Any) -> tuple[tuple[Any, Any], ...]:
        """The arguments that jax.jit was told are static, by place or name."""
        given = [(k, args[k]) for k in self.static if isinstance(k, int) and k < len(args)]
        given += [(k, kwargs[k]) for k in self.static if k in kwargs]
        return tuple([(k, unless_integer(settle(x))) for k, x in given])

    def _varies(self, x: Any) -> bool:
        """Whether a plain leaf is an operand; else it is a part of the form."""
        if type(x) in _NUMBERS:
            return self.compiled
        return isinstance(x, (np.ndarray, np.generic, jax.Array))

    def _function(self, form: Form) -> Function:
        if not self.compiled:
            return Function(functools.partial(_run, self.f, form), False)
        made = self.functions.get(form.key)
        if made is None:
            run = functools.partial(_run, self.f, form)
            made = self.functions.put(form.key, Function(run, True))
        return made


class Namespace(Engine):
    """A module of JAX's, whose functions are wrapped as they are asked for."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if isinstance(found, ModuleType) or (callable(found) and not isinstance(found, type)):
            found = self.__dict__[name] = wrap(found)
        return found

    def __dir__(self) -> list[str]:
        return dir(self._module)

    def __repr__(self) -> str:
        return f"<zyg.jax.wrap {self._module.__name__}>"


def wrap(f: Any) -> Any:
    """`f`, a function of JAX's or a namespace as `jnp`, as one of arrays that zyg differentiates.

    A function of ``jax.jit`` is compiled together with its pullback, once for each form of its
    arguments; any other is traced at each call. Derivatives have any order, complex numbers zyg's
    convention.

    Parameters
    ----------
    f : callable or module
        Its arguments and its result are pytrees. Watched numbers and arrays come to it as arrays of
        JAX's; integers, and numbers that nobody watches, are constants.

    Returns
    -------
    callable or namespace
        The arrays of its results are NumPy's. The functions of a namespace are wrapped as they are
        asked for.

    Raises
    ------
    ConversionError
        When it is called: JAX would round a float64, as it does unless ``jax_enable_x64`` is on, or
        lacks a dtype.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, numpy as np, zyg
    >>> jax.config.update("jax_enable_x64", True)
    >>> norm = zyg.jax.wrap(jax.jit(lambda x: jnp.sqrt(jnp.sum(x * x))))
    >>> zyg.gradient(lambda x: 2 * norm(x), np.array([3.0, 4.0]))
    (array([1.2, 1.6]),)
    >>> xp = zyg.jax.wrap(jnp)
    >>> zyg.gradient(lambda x: xp.sum(xp.sin(x)), np.zeros(2))
    (array([1., 1.]),)
    """
    return Namespace(f) if isinstance(f, ModuleType) else Wrapped(f)
