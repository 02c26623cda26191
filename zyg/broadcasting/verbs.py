"""Broadcasting a scalar function over arrays, as one kernel.

``broadcast(f, *arrays)`` reads the source of `f`, compiles it into one loop over the arrays, and
differentiates it there: forward mode inside, with a handful of partial derivatives per element,
however long `f` is.

Kernels are called in `calls`. The method is that of J. Revels, T. Besard, V. Churavy, B. De
Sutter and J. P. Vielma, Dynamic Automatic Differentiation of GPU Broadcast Kernels, 2018.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, overload

import numpy as np

from zyg.base.array_types import on_gpu
from zyg.base.borders import border
from zyg.base.config import setting
from zyg.base.marks import Named, verb
from zyg.base.signatures import P, R
from zyg.broadcasting.calls import apply, launch, mode_of, run_kernel, unseen
from zyg.broadcasting.fallback import broadcast_shape, by_element, warn
from zyg.broadcasting.operands import flattened, kernel_type, rebuilt, shape_of_tree, widths_of
from zyg.broadcasting.sites import call_again, look, remember
from zyg.compiler.back.python_text import emit
from zyg.compiler.front.structures import children
from zyg.compiler.ir import type_of
from zyg.core.cotangents import project, spec_of
from zyg.core.reverse import settled
from zyg.core.strand import is_watched, settle, strip
from zyg.errors import CaptureError, KernelError, MissingRuleError, ShapeError
from zyg.functions.kit import no_out
from zyg.kernels.dtypes import dtypes_of
from zyg.kernels.launch import describe
from zyg.kernels.plans import Output
from zyg.kernels.scalar import Kernel, Read, read_for, recorded

Mode = Literal["auto", "cache", "recompute"]


@verb
@border
def broadcast(
    f: Callable[..., Any], *arrays: Any, out: np.ndarray | None = None, mode: Mode = "auto"
) -> Any:
    """`f`, a function of numbers, at each element of arrays that broadcast, as one compiled loop.

    Parameters
    ----------
    f : callable
        A plain Python function or lambda: arithmetic, comparisons, branches, loops, functions of
        math and NumPy, helper functions. It returns a number, or a tuple, namedtuple or dataclass
        of numbers. Numbers that it takes from outside are operands too: they are read at each call,
        and watched ones get their gradient.
    *arrays
        Arrays of floats, ints or bools in any layout, numbers, or namedtuples and dataclasses of
        those.
    out : ndarray, optional
        An array to write into, where nothing is watched.
    mode : {"auto", "cache", "recompute"}
        What the pullback goes by: the partial derivatives, computed with the value ("cache"); the
        operands ("recompute"); or whichever is expected to be faster ("auto").

    Returns
    -------
    ndarray or number
        What f returns, with an array of the shape that the operands broadcast to for each number; a
        number if all operands are. Floats keep their precision, and ints do not raise it.

    Raises
    ------
    KernelError
        f is not in the language of kernels, with ``zyg.config(fallback="error")``; else it runs
        element by element in Python, after a PerformanceWarning.
    CaptureError
        f uses an array that it is not given.
    ShapeError
        The shapes do not broadcast.

    Examples
    --------
    >>> import math, numpy as np, zyg
    >>> swish = lambda x: x / (1 + math.exp(-x))
    >>> zyg.broadcast(swish, np.array([-1.0, 0.0, 2.0])).round(6)
    array([-0.268941,  0.      ,  1.761594])
    >>> zyg.gradient(lambda x: zyg.broadcast(swish, x).sum(), np.array([0.0, 2.0]))[0].round(6)
    array([0.5     , 1.090784])
    """
    f = f.scalar if isinstance(f, Elementwise) else f
    found = look(f, arrays, mode) if out is None else None
    if found is not None and (made := call_again(f, found)) is not None:
        return made
    leaves, tree = flattened(arrays)
    read = _read(f, leaves, tree)
    if isinstance(read, KernelError):
        warn((getattr(f, "__code__", f), read.source_line), str(read))
        return by_element(f, leaves, lambda numbers: rebuilt(tree, numbers), read, out)
    operands = [*leaves, *read.captures.values(f)]
    made = _broadcast(read.kernel, read.make, operands, out, mode)
    if found is not None:
        remember(f, found, read)
    return made


@border
def partials(f: Callable[..., Any], *arrays: Any) -> tuple[Any, Any]:
    """The values of `f` and its partial derivatives at each element, in one pass.

    Parameters
    ----------
    f : callable
        A function of numbers, as for `broadcast`.
    *arrays
        Its operands, as for `broadcast`.

    Returns
    -------
    y
        The values.
    slopes : tuple
        For each operand the derivative, of the shape of y; None for an operand of bools. For a
        function of several results there is a tuple of derivatives for each.

    Raises
    ------
    KernelError
        Where `broadcast` with fallback="error" does.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> zyg.partials(lambda x, y: x * y, np.array([1.0, 2.0]), 3.0)
    (array([3., 6.]), (array([3., 3.]), array([1., 2.])))
    """
    read, leaves, tree, operands, active = _demanded(f, arrays)
    kernel, count = read.kernel, len(read.kernel.program.outputs)
    watched = any(map(is_watched, operands))

    def compute(strong: bool) -> Any:
        both, _ = kernel.partials(active, strong)
        return (apply(both, operands), ()) if watched else launch(both, operands)

    made, _ = settled(compute, lambda found: unseen(found, count))
    masks = kernel.partials(active)[1]
    slopes = iter(made[count:])
    rows = []
    for value, mask in zip(made, masks, strict=False):
        row: list[Any] = [None] * len(leaves)
        for k in active:
            row[k] = next(slopes) if k in mask else np.zeros_like(strip(value))
        rows.append(rebuilt(tree, row))
    return read.make([*made[:count]]), rows[0] if count == 1 else read.make([*rows])


class Elementwise(Named, Generic[P, R]):
    """A scalar function that broadcasts when it is called; made by `elementwise`.

    ``F.scalar`` is the function itself, ``F.source(...)`` the text of its kernel or of its
    derivatives', ``F.inspect(*arrays)`` what a call does.
    """

    made_by = "zyg.elementwise"

    def __init__(self, f: Callable[P, R], mode: Mode = "auto") -> None:
        functools.update_wrapper(self, f)
        self.scalar, self.mode = f, mode

    @border
    def __call__(self, *arrays: Any, out: np.ndarray | None = None) -> Any:
        return broadcast(self.scalar, *arrays, out=out, mode=self.mode)

    def one_pass(self, y_bar: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        """The value, and the operands' cotangents for a cotangent that is known beforehand.

        Parameters
        ----------
        y_bar
            The cotangent, of the structure and shape of the value.
        *arrays
            The operands. One loop reads each of them once.

        Returns
        -------
        y
            The value.
        cotangents : tuple
            One for each operand, of its shape; None for one of bools.

        Raises
        ------
        ShapeError
            `y_bar` has another shape than the value.
        KernelError
            Where `broadcast` with fallback="error" does.

        Examples
        --------
        >>> import numpy as np, zyg
        >>> square = zyg.elementwise(lambda x: x * x)
        >>> square.one_pass(np.ones(2), np.array([1.0, 3.0]))
        (array([1., 9.]), (array([2., 6.]),))
        """
        read, leaves, tree, operands, active = _demanded(self.scalar, arrays)
        kernel, outputs = read.kernel, read.kernel.program.outputs
        parts = [y_bar] if len(outputs) == 1 else (children(y_bar) or (None, [y_bar]))[1]
        bars, _ = flattened(
            [c for c, x in zip(parts, outputs, strict=True) if type_of(x) != "bool"]
        )
        shape = broadcast_shape(operands)
        for c in bars:
            if np.shape(strip(c)) != shape:
                raise ShapeError(
                    f"a cotangent of shape {np.shape(strip(c))} does not fit the value, which has "
                    f"shape {shape}.",
                    "a cotangent has the shape of the value it belongs to.",
                    "pass np.ones_like(y) for the gradient of the sum of y.",
                )
        count, given = len(outputs), [*bars, *operands]
        watched = any(map(is_watched, given))

        def compute(strong: bool) -> Any:
            back, moving = kernel.pullback(active, strong, values=True)
            shapes = (*[None] * count, *[np.shape(operands[k]) for k in moving])
            return (apply(back, given), ()) if watched else launch(back, given, shapes)

        made, _ = settled(compute, lambda found: unseen(found, count))
        found: list[Any] = [None] * len(leaves)
        for k, c in zip(kernel.pullback(active, False, True)[1], made[count:], strict=True):
            found[k] = project(c, spec_of(operands[k]))
        return read.make([*made[:count]]), rebuilt(tree, found)

    def source(self, *dtypes: Any, order: int = 1) -> str:
        """The text of the kernel's scalar function with its partial derivatives of that order.

        Operands are of float64 unless `dtypes` says otherwise. T is the type that it computes in.
        """
        names = _parameters(self.scalar, len(dtypes))
        kinds = tuple(kernel_type(np.zeros(1, d)) for d in dtypes or [np.float64] * len(names))
        read = read_for(self.scalar, kinds, None, lambda x: x, strip)
        kernel = read.kernel
        active = tuple(k for k, kind in enumerate(kinds) if kind != "bool")
        for _ in range(order):
            kernel, _ = kernel.partials(active)
        names += [f"captured{k}" for k in range(len(kernel.program.inputs) - len(names))]
        text = emit(kernel.program, names)
        body = [*text.lines, f"return {', '.join(text.results)}"]
        head = f"def {kernel.program.name}({', '.join(names)}):"
        return "\n".join([*text.definitions, head, *("    " + line for line in body)])

    def inspect(self, *arrays: Any) -> dict[str, Any]:
        """What a call with these arrays does: loops, operands, mode, where the kernel is from."""
        leaves, tree = flattened(arrays)
        read = _read(self.scalar, leaves, tree)
        if isinstance(read, KernelError):
            return {"kernel": None, "reason": str(read)}
        operands = [strip(x) for x in (*leaves, *read.captures.values(self.scalar))]
        dtype, results = dtypes_of(read.kernel, operands)
        outputs = [Output(d) for d in results]
        found = describe(read.kernel.program, operands, outputs, dtype=dtype)
        return {
            "loops": found.shape,
            "operands": found.operands,
            "results": found.results,
            "dtype": dtype.name,
            "mode": mode_of(read.kernel, self.mode, operands, range(len(leaves))),
            "chunks": found.chunks,
            "kernel": found.kernel and found.kernel.text,
            "origin": found.kernel and found.kernel.origin,
            "seconds": found.kernel and found.kernel.seconds,
        }


@overload
def elementwise(f: Callable[P, R], *, mode: Mode = "auto") -> Elementwise[P, R]: ...
@overload
def elementwise(
    f: None = None, *, mode: Mode = "auto"
) -> Callable[[Callable[P, R]], Elementwise[P, R]]: ...
def elementwise(f: Callable[..., Any] | None = None, *, mode: Mode = "auto") -> Any:
    """A decorator that makes a scalar function broadcast over arrays, as `broadcast` does.

    Parameters
    ----------
    f : callable
        A function of numbers. Without it, a decorator with these options is returned.
    mode : {"auto", "cache", "recompute"}
        As for `broadcast`.

    Returns
    -------
    Elementwise
        ``F(*arrays)`` broadcasts; ``F.scalar`` is f.

    Raises
    ------
    KernelError, CaptureError, ShapeError
        When it is called, as `broadcast` does.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> @zyg.elementwise
    ... def relu(x):
    ...     return x if x > 0 else 0.0
    >>> relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    >>> relu.scalar(3.0)
    3.0
    """
    return functools.partial(Elementwise, mode=mode) if f is None else Elementwise(f, mode)


def fuse(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, a function of arrays in ufuncs and operators, as one kernel.

    Parameters
    ----------
    f : callable
        It is called with placeholders, which record the ufuncs; the recorded chain runs as one
        loop.

    Returns
    -------
    callable
        The same function, which also takes ``out=``.

    Raises
    ------
    KernelError
        When it is called: for anything that is not elementwise, and for arrays and watched numbers
        that f uses and is not given.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> f = zyg.fuse(lambda x, y: np.tanh(x) * y + 1.0)
    >>> f(np.zeros(2), np.ones(2))
    array([1., 1.])
    """

    @functools.wraps(f)
    def fused(*arrays: Any, out: np.ndarray | None = None) -> Any:
        leaves, _ = flattened(arrays)
        try:
            kinds = tuple(map(kernel_type, leaves))
            kernel, make = recorded(f, kinds, widths_of(kinds, leaves))
        except (TypeError, MissingRuleError) as error:
            if isinstance(error, KernelError):
                raise
            raise KernelError(
                f"{getattr(f, '__name__', f)} cannot be fused: {str(error).splitlines()[0]}",
                "zyg calls it with placeholders, which support ufuncs, operators and plain "
                "numbers.",
                "pass the arrays and watched numbers that it uses as arguments.",
            ) from error
        return _broadcast(kernel, make, leaves, out, "auto")

    return fused


def _broadcast(
    kernel: Kernel, make: Any, operands: list[Any], out: np.ndarray | None, mode: str
) -> Any:
    if mode not in ("auto", "cache", "recompute"):
        raise ValueError(f'mode is "auto", "cache" or "recompute", not {mode!r}')
    if kernel.bounds is not None:
        kernel.bounds.demand([*map(strip, operands)])
    if out is None:
        return make(list(apply(kernel, operands, mode)))
    operands = [settle(x) for x in operands]
    if is_watched(out := settle(out)):
        no_out(out, "x[...] = zyg.broadcast(f, x) writes it into a watched array")
    if not (type(out) is np.ndarray or on_gpu(out)) or len(kernel.program.outputs) > 1:
        raise TypeError("out= is a plain array, for a function of one result")
    if any(map(is_watched, operands)):
        no_out(out)
    return run_kernel(kernel, operands, out=out)[0]


def _read(f: Callable[..., Any], leaves: list[Any], tree: Any) -> Read | KernelError:
    """The kernel of `f` for these operands, or why there is none."""
    try:
        kinds = tuple(map(kernel_type, leaves))
        shape = shape_of_tree(tree)
        arguments = functools.partial(rebuilt, tree)
        return read_for(f, kinds, shape, arguments, strip, widths_of(kinds, leaves))
    except KernelError as error:
        if isinstance(error, CaptureError) or error.effect or setting("fallback") == "error":
            raise
        return error


def _demanded(
    f: Callable[..., Any], arrays: Sequence[Any]
) -> tuple[Read, list[Any], tuple[Any, ...], list[Any], tuple[int, ...]]:
    """What there must be a kernel for: also all its operands, and which of those given can move."""
    f = f.scalar if isinstance(f, Elementwise) else f
    leaves, tree = flattened(arrays)
    read = _read(f, leaves, tree)
    if isinstance(read, KernelError):
        raise read
    operands = [settle(x) for x in (*leaves, *read.captures.values(f))]
    if read.kernel.bounds is not None:
        read.kernel.bounds.demand([*map(strip, operands)])
    active = tuple(k for k, x in enumerate(leaves) if kernel_type(x) != "bool")
    return read, leaves, tree, operands, active


def _parameters(f: Callable[..., Any], count: int) -> list[str]:
    code = getattr(f, "__code__", None)
    names = list(code.co_varnames[: code.co_argcount]) if code else []
    return names if names and count in (0, len(names)) else [f"x{k}" for k in range(count)]
