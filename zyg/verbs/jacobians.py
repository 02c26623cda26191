"""Matrices of derivatives: Jacobians, Hessians, and the two derivatives of complex functions.

Columns come from forward mode, many at once; rows from the reverse pass, one for each element of
the result. A Hessian is the Jacobian of a gradient, forward over reverse.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from zyg.base.array_types import array_type, put
from zyg.base.marks import verb
from zyg.base.registry import adjoint, own_verbs
from zyg.base.structure import Structure
from zyg.base.trees import Tree, taken_apart
from zyg.core.cotangents import has_complex, project, spec_of, zeros_of
from zyg.core.strand import Confined, active, innermost, is_watched, settle, strands_of, strip
from zyg.core.trace import Trace, demand_complete, down_to, watchable
from zyg.errors import HolomorphicError, MissingRuleError, StructureError
from zyg.verbs.gradients import gradient
from zyg.verbs.pushforward import DualCall
from zyg.verbs.taken_apart import carry_back

Function = Callable[..., Any]

_FEW = 8  # elements of the arguments for which one forward run costs no more than a reverse pass


@verb
def jacobian(f: Function, *args: Any, mode: str = "auto", **kwargs: Any) -> tuple[Any, ...]:
    """The Jacobian of ``f(*args, **kwargs)`` by each positional argument, dense.

    For an array x and a result y it has the shape ``y.shape + x.shape``; for structures, that of
    the result with that of the argument at each of its numbers and arrays. ``mode="forward"`` takes
    it by columns, ``"reverse"`` by rows, ``"auto"`` by what there are fewer of; to find out, it may
    call f twice. Raises `HolomorphicError` for complex arguments: see `holomorphic`, `wirtinger`.

    >>> import numpy as np, zyg
    >>> zyg.jacobian(lambda x: np.array([3.0, 1.0]) * x[0] * x, np.array([1.0, 2.0]))
    (array([[6., 0.],
           [2., 1.]]),)

    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"unknown mode {mode!r}; there are: 'auto', 'forward', 'reverse'")
    own = own_verbs.get(type(f))
    if own and (found := own["jacobian"](f, args, kwargs, mode)) is not NotImplemented:
        return found  # type: ignore[no-any-return]
    inputs = [taken_apart(x, watchable) for x in args]
    _refuse_complex(inputs)
    _refuse_labels(inputs)
    columns = sum(_size(x) for s in inputs for x in s.leaves)
    if mode == "forward" or (mode == "auto" and columns <= _FEW):
        return _by_columns(f, args, kwargs, inputs)
    trace = Trace(f, args, kwargs)
    result = taken_apart(trace.y, watchable, shared=False)
    _refuse_labels([result])
    rows = sum(map(_size, result.leaves))
    if mode == "reverse" or rows < columns:
        return _by_rows(trace, result, inputs)
    trace.close()
    return _by_columns(f, args, kwargs, inputs)


def _refuse_complex(inputs: Sequence[Structure | Tree]) -> None:
    for k, x in ((k, x) for k, s in enumerate(inputs) for x in s.leaves):
        if not array_type(x).on_host:
            raise MissingRuleError(
                f"argument {k} of the function is on a device: no Jacobian is made there.",
                "the directions that it takes are made in the memory of the host.",
                "use zyg.pullback, zyg.pushforward or zyg.hvp with directions of the device.",
                tag="device",
            )
        if has_complex(x):
            raise HolomorphicError(
                f"argument {k} of the function is complex; a Jacobian is taken with respect to "
                "real numbers.",
                "a complex number moves in two directions, so there are two derivatives.",
                "use zyg.holomorphic(f, z), or zyg.wirtinger(f, z) for both derivatives.",
            )


def _refuse_labels(structures: Sequence[Structure | Tree]) -> None:
    for name in filter(None, (s.labels for s in structures)):
        raise StructureError(
            f"there is no Jacobian of a {name}, or with respect to one.",
            "a Jacobian has the axes of the result and of the argument, but no labels or units.",
            "use a function of plain arrays; gradient, pullback, pushforward and hvp work as they "
            "are.",
            tag="labels",
        )


def _size(x: Any) -> int:
    """How many elements an array has; a number is one."""
    return 1 if type(x) is float else math.prod(np.shape(x))


def _chunk(directions: int) -> int:
    """How many directions are carried along at once: fewer where their arrays are large."""
    return min(max(10**6 // max(directions, 1), 8), 256)


def _units(leaves: list[Any], unit: complex = 1) -> Iterator[list[Any]]:
    """For each element of the leaves, cotangents or tangents: `unit` there, 0 or None else."""
    for k, x in enumerate(leaves):
        here = unit if has_complex(x) else unit.real
        for place in np.ndindex(np.shape(x)):
            one = zeros_of(spec_of(x)) if place else project(here, spec_of(x))
            if place:
                one = put(one, place, here)
            yield [one if j == k else None for j in range(len(leaves))]


def _columns(
    f: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    inputs: Sequence[Structure | Tree],
    unit: complex,
    confined: Confined | None = None,
) -> tuple[Structure | Tree, list[list[Any]]]:
    """The value, taken apart, and for each unit tangent of the arguments those of its leaves."""
    directions = [
        [s.tangent(u) if j == k else None for j in range(len(args))]
        for k, s in enumerate(inputs)
        for u in _units(s.leaves, unit)
    ]
    found: list[list[Any]] = []
    chunk = _chunk(len(directions))
    for start in range(0, max(len(directions), 1), chunk):
        call = DualCall(f, args, kwargs, directions[start : start + chunk], confined)
        result = taken_apart(call.y, watchable, shared=False)
        _refuse_labels([result])
        found.extend(_leaves(result, y_dot) for y_dot in call.y_dots)
    return result, found


def _leaves(structure: Structure | Tree, tangent: Any) -> list[Any]:
    made = [None] * len(structure.leaves)
    for place, part in structure.match(tangent, "the value", "tangent"):
        made[place] = part
    return made


def _by_columns(
    f: Function, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: list[Structure | Tree]
) -> tuple[Any, ...]:
    result, found = _columns(f, args, kwargs, inputs, 1)
    return _assembled(result, inputs, found, -1)


def _by_rows(
    trace: Trace, result: Structure | Tree, inputs: Sequence[Structure | Tree]
) -> tuple[Any, ...]:
    """Jacobians from reverse passes; of a complex result, from those of its two parts."""
    try:
        found = []
        for real, imag in zip(_units(result.leaves), _units(result.leaves, 1j), strict=True):
            bars = _bars(trace, result, inputs, real)
            if any(c is not None and has_complex(c) for c in imag):
                imaginary = _bars(trace, result, inputs, imag)
                bars = [a + 1j * b for a, b in zip(bars, imaginary, strict=True)]
            found.append(bars)
    finally:
        trace.close()
    return _assembled(result, inputs, found, 0)


def _bars(
    trace: Trace, result: Structure | Tree, inputs: Sequence[Structure | Tree], seed: list[Any]
) -> list[Any]:
    bars = trace.back(result.tangent(seed), zeros=True)
    return [c for s, bar in zip(inputs, bars, strict=True) for c in _leaves(s, bar)]


def _assembled(
    result: Structure | Tree, inputs: Sequence[Structure | Tree], found: list[list[Any]], axis: int
) -> tuple[Any, ...]:
    """The Jacobians, from the leaves of their columns (axis -1) or of their rows (axis 0)."""
    ends = [0, *accumulate(_size(x) for s in inputs for x in s.leaves)]
    tops = [0, *accumulate(map(_size, result.leaves))]
    jacobians = []
    first = 0
    for s in inputs:
        blocks = []
        for p, y in enumerate(result.leaves):
            row = []
            for j, x in enumerate(s.leaves, first):
                if axis == -1:
                    parts = [column[p] for column in found[ends[j] : ends[j + 1]]]
                else:
                    parts = [bars[j] for bars in found[tops[p] : tops[p + 1]]]
                row.append(_joined(parts, y, x, axis))
            blocks.append(s.tangent(row))
        jacobians.append(result.tangent(blocks))
        first += len(s.leaves)
    return tuple(jacobians)


def _joined(parts: list[Any], y: Any, x: Any, axis: int) -> Any:
    """The block of one number or array by another, in the precision of x; a number by numbers."""
    if not np.shape(x) and not np.shape(y) and not isinstance(strip(x), np.ndarray):
        return parts[0] if has_complex(parts[0]) else project(parts[0], spec_of(x))
    parts = [array_type(part).enter(part) for part in parts]
    zeros = zeros_of(spec_of(x))
    shape, dtype = tuple(np.shape(y)) + tuple(np.shape(x)), np.result_type(zeros)
    if has_complex(y) and dtype.kind == "f":
        dtype = np.result_type(dtype, np.complex64)
    if not parts:
        return np.zeros(shape, dtype)
    block = np.reshape(np.stack(parts, axis=axis), shape)
    block = block if block.dtype == dtype else np.astype(block, dtype)
    return array_type(block).leave(block) if array_type(block).guest else block


@verb
def hessian(f: Function, x: Any) -> Any:
    """The matrix of second derivatives of ``f(x)``, a real number; forward over reverse.

    Of the shape of x twice: n x n numbers for n elements. For a structure, that structure with it
    again at each of its numbers and arrays. Raises as `gradient` and `jacobian` do.

    >>> import numpy as np, zyg
    >>> zyg.hessian(lambda x: x[0] ** 2 * x[1], np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])

    """
    own = own_verbs.get(type(f))
    if own and (found := own["hessian"](f, x)) is not NotImplemented:
        return found
    return jacobian(_gradient_of(f), x, mode="forward")[0]


@verb
def diaghessian(f: Function, x: Any) -> Any:
    """The second derivative of ``f(x)`` by each number in x alone: the diagonal of `hessian`.

    Takes the time of the whole Hessian, and the memory of x. Raises what `hessian` raises.

    >>> import numpy as np, zyg
    >>> zyg.diaghessian(lambda x: x[0] ** 2 * x[1], np.array([1.0, 3.0]))
    array([6., 0.])

    """
    own = own_verbs.get(type(f))
    if own and (found := own["diaghessian"](f, x)) is not NotImplemented:
        return found
    inputs = taken_apart(x, watchable)
    _refuse_complex([inputs])
    _refuse_labels([inputs])
    places = [
        (k, place) for k, leaf in enumerate(inputs.leaves) for place in np.ndindex(np.shape(leaf))
    ]
    made: list[list[Any]] = [[] for _ in inputs.leaves]
    units = [[inputs.tangent(u)] for u in _units(inputs.leaves)]
    chunk = _chunk(len(units))
    for start in range(0, len(units), chunk):
        call = DualCall(_gradient_of(f), (x,), {}, units[start : start + chunk])
        for (k, place), y_dot in zip(places[start:], call.y_dots, strict=False):
            column = _leaves(inputs, y_dot)[k]
            made[k].append(column[place] if place else column)
    return inputs.tangent(
        [_joined(parts, 0.0, leaf, -1) for parts, leaf in zip(made, inputs.leaves, strict=True)]
    )


@verb
def hvp(f: Function, x: Any, v: Any) -> Any:
    """The Hessian of ``f(x)``, a real number, times `v`, without the Hessian; forward over reverse.

    `v` has the structure and shapes of x, and so has the result. Raises StructureError where it has
    not, and what `gradient` raises.

    >>> import numpy as np, zyg
    >>> zyg.hvp(lambda x: x[0] ** 2 * x[1], np.array([1.0, 3.0]), np.array([0.0, 1.0]))
    array([2., 0.])

    """
    own = own_verbs.get(type(f))
    if own and (found := own["hvp"](f, x, v)) is not NotImplemented:
        return found
    call = DualCall(_gradient_of(f), (x,), {}, [[v]])
    inputs = taken_apart(x, watchable)
    if inputs.labels:  # as the gradient is, units included
        return call.y_dots[0]
    moved = zip(_leaves(inputs, call.y_dots[0]), inputs.leaves, strict=True)
    return inputs.tangent([_as_argument(c, spec_of(leaf)) for c, leaf in moved])


def _as_argument(c: Any, spec: Any) -> Any:
    """A cotangent of an argument, as the caller gets it."""
    c = project(c, spec)
    kind = array_type(c)
    return kind.leave(kind.finished(c, spec)) if kind.guest else c


def _gradient_of(f: Function) -> Function:
    return lambda x: gradient(f, x, zeros=True)[0]


def wirtinger(f: Function, z: Any) -> tuple[Any, Any]:
    """The derivatives of ``f(z)`` by complex z and by its conjugate: (df/dz, df/dz*).

    Shapes as of a Jacobian, ``y.shape + z.shape``; df = df/dz dz + df/dz* conj(dz). A function is
    holomorphic where the second is 0. Raises `HolomorphicError` where z is not complex.

    >>> import zyg
    >>> by_z, by_conjugate = zyg.wirtinger(lambda z: z * z.conjugate(), 3 + 4j)
    >>> complex(by_z), complex(by_conjugate)
    ((3-4j), (3+4j))

    """
    inputs = [taken_apart(z, watchable)]
    if not all(map(has_complex, inputs[0].leaves)):
        raise HolomorphicError(
            "the argument of a complex derivative is not complex.",
            "a real number does not move in the imaginary direction.",
            "pass complex(z) or z + 0j; for real arguments use zyg.jacobian.",
        )
    result, along_real = _columns(f, (z,), {}, inputs, 1)
    _, along_imag = _columns(f, (z,), {}, inputs, 1j)
    halves = [
        [
            [(a + sign * 1j * b) / 2 for a, b in zip(*pair, strict=True)]
            for pair in zip(along_real, along_imag, strict=True)
        ]
        for sign in (-1, 1)
    ]
    by_z, by_conjugate = (_assembled(result, inputs, half, -1)[0] for half in halves)
    return by_z, by_conjugate


def holomorphic(f: Function, z: Any) -> Any:
    """The complex derivative df/dz of a holomorphic function; of shape ``y.shape + z.shape``.

    Raises `HolomorphicError` where f does not satisfy the Cauchy-Riemann equations at z.

    >>> import zyg
    >>> zyg.holomorphic(lambda z: z**3, 1 + 1j)
    6j

    """
    by_z, by_conjugate = wirtinger(f, z)
    pairs = zip(*(Structure(d, watchable).leaves for d in (by_z, by_conjugate)), strict=True)
    for d, other in ((strip(d), strip(other)) for d, other in pairs):
        largest, wrong = (float(np.max(np.abs(x), initial=0.0)) for x in (d, other))
        eps = np.finfo(d.dtype if isinstance(d, (np.ndarray, np.generic)) else float).eps
        if not wrong <= np.sqrt(eps) * largest:
            raise HolomorphicError(
                f"{getattr(f, '__name__', 'the function')} is not holomorphic at this point: "
                f"its derivative with respect to z is {largest:.3g}, with respect to the "
                f"conjugate of z {wrong:.3g}.",
                "one complex number describes the derivative only if the second of these is 0.",
                "use zyg.wirtinger(f, z), which returns both derivatives.",
            )
    return by_z


def forwarddiff(f: Function, x: Any) -> Any:
    """``f(x)``, whose Jacobian by x is taken in forward mode on the way, 256 numbers at a time.

    For a long computation with few inputs: what it does with x is not kept on the tape. What else
    f depends on (its closure) is watched as ever, and keeps its gradient. f is called once for each
    256 numbers in x, and must not write to x: NumPy's ValueError is raised. Inside of a derivative
    that is newer than the one by x, it is f(x): what that derivative is made of depends on x, too.
    Raises StructureError where f returns an iterator.

    >>> import zyg
    >>> def power(x):
    ...     y = 1.0
    ...     for _ in range(100):
    ...         y = y * x
    ...     return y
    >>> zyg.gradient(lambda x: zyg.forwarddiff(power, x), 1.0)
    (100.0,)

    """
    call = Structure(x, is_watched, shared=True)
    strand = innermost([settle(v) for v in call.leaves])
    if strand is None or any(s.open and s.level > strand.level for s in active.get()):
        return f(x)
    ours = [down_to(strand, v) for v in call.leaves]
    below = tuple(
        settle(v) if w is None else w.primal for v, w in zip(call.leaves, ours, strict=True)
    )
    inputs = [Structure(v, watchable) for v in below]

    def at(*leaves: Any) -> Any:
        copies: dict[int, Any] = {}
        try:
            y = f(call.rebuild([*leaves], whole=False, done=copies))
        finally:
            carry_back(call, [*leaves], copies)
        return demand_complete(y, "zyg.forwarddiff")

    confined = Confined("zyg.forwarddiff", [s for v in call.leaves for s in strands_of(v)])
    columns = []
    for unit in (1, 1j) if any(map(has_complex, below)) else (1,):
        result, found = _columns(at, below, {}, inputs, unit, confined)
        leaves = enumerate(result.leaves)
        columns.append([_stacked([row[n] for row in found], y) for n, y in leaves])
    return result.rebuild(_attached(result.leaves, columns, *call.leaves))


def _stacked(parts: list[Any], y: Any) -> Any:
    return np.stack(parts) if parts else np.zeros((0, *np.shape(y)))  # x has no elements


@adjoint
def _attached(y: list[Any], columns: list[list[Any]], *leaves: Any) -> Any:
    """`y`, with derivatives by the leaves: along each of their elements, and imaginary ones."""

    def attached_pullback(y_bar: list[Any]) -> tuple[Any, ...]:
        parts = [_inner_products(part, y_bar) for part in columns]
        bars = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
        ends = np.cumsum([0, *map(np.size, leaves)]).tolist()
        shaped = [
            np.reshape(bars[a:b], np.shape(v)) if np.ndim(v) else bars[a]
            for v, a, b in zip(leaves, ends[:-1], ends[1:], strict=True)
        ]
        return (y_bar, None, *shaped)

    return y, attached_pullback


def _inner_products(columns: list[Any], y_bar: list[Any]) -> Any:
    """The real inner product of a cotangent with each column, added up over the leaves."""
    products = [np.real(np.conjugate(c) * b) for c, b in zip(columns, y_bar, strict=True)]
    return functools.reduce(
        operator.add, [np.sum(p, axis=tuple(range(1, np.ndim(p)))) for p in products]
    )
