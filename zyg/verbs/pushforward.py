"""Forward mode for users: tangents of the arguments in, tangents of the value out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.base.borders import border
from zyg.base.containers import Unfollowed
from zyg.base.marks import verb
from zyg.base.signatures import R
from zyg.base.structure import Structure
from zyg.base.trees import Tree, taken_apart
from zyg.core.cotangents import fits, has_complex, project, shape_of, spec_of, zeros_of
from zyg.core.duals import DualStrand, check_tangents
from zyg.core.protection import release
from zyg.core.strand import WATCHED, Confined, is_watched, settle, strip
from zyg.core.tangents import Cell, Tangents, tangent_views, tangents_of, writable
from zyg.core.trace import Call, copy_in, copy_out, down_to, left_for, watchable
from zyg.core.views import ViewSlot
from zyg.errors import StructureError


class DualCall(Call):
    """One call of `f` with tangents along: its value `y`, and `y_dots`, one for each direction.

    A direction has one tangent per argument, of its structure; None where it does not move. With
    `confined`, f is refused writes to its arguments, and its values do not outlive the call.
    """

    strand: DualStrand

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        directions: Sequence[Sequence[Any]],
        confined: Confined | None = None,
    ) -> None:
        self.directions = directions
        super().__init__(DualStrand(confined), f, args, kwargs, "protected")

    def begin(self) -> None:
        for k, (inputs, slots, specs) in enumerate(
            zip(self.inputs, self.slots, self.specs, strict=True)
        ):
            what = f"argument {k} of {self.name}"
            rows = [_by_leaf(inputs, specs, d[k], what) for d in self.directions]
            columns = [[row[n] for row in rows] for n in range(len(slots))]
            for slot, spec, column in zip(slots, specs, columns, strict=True):
                _start(slot, spec, column)
            views = zip(slots, columns, strict=True) if ViewSlot in map(type, slots) else ()
            for slot, column in views:
                if type(slot) is ViewSlot and any(map(_differ, tangent_views(slot) or (), column)):
                    raise _two_ways(what)
        if self.strand.confined is not None:
            every = (slot for slots in self.slots for slot in slots)
            self.strand.memory.readonly.update(s.slot if type(s) is ViewSlot else s for s in every)

    def end(self, value: Any) -> None:
        while self.strand.held:
            self.strand.held.pop().close()
        if type(value) in WATCHED and value.strand is self.strand:  # as below, with fewer steps
            self.y_dots = self._along(tangents_of(value.slot), spec_of(value))
            self.y = copy_out(settle(value.primal))
            check_tangents(self.strand.suspect, self.y_dots)
            release(self.strand)
            return
        result = taken_apart(value, _is_result, shared=False)
        if type(result) is Structure:
            result.demand_every(is_watched)
        rows: list[list[Any]] = []
        plain = []
        for x in result.leaves:
            if isinstance(x, Unfollowed):
                raise x.refusal()
            if (left := left_for(self.strand, x)) is not None:
                raise left.refusal()
            ours = down_to(self.strand, x)
            u = None if ours is None else tangents_of(ours.slot)
            plain.append(copy_out(settle(x if ours is None else ours.primal)))
            spec = spec_of(x)
            rows.append(self._along(u, spec))
        check_tangents(self.strand.suspect, [p for row in rows for p in row])
        columns = zip(*rows, strict=True) if rows else [[] for _ in self.directions]
        self.y_dots = [result.tangent(list(column)) for column in columns]
        self.y = result.rebuild(plain)
        release(self.strand)

    def _along(self, u: Tangents, spec: Any) -> list[Any]:
        """The tangents of a result, one for each direction, apart from all others."""
        if u is None:
            return [zeros_of(spec) for _ in self.directions]
        return [copy_out(project(p, spec)) for p in u]


def _is_result(x: Any) -> bool:
    return watchable(x) or isinstance(x, Unfollowed)


def _by_leaf(inputs: Structure | Tree, specs: list[Any], x_dot: Any, what: str) -> list[Any]:
    """The tangent of an argument at each of its leaves; None where none is given."""
    if inputs.is_leaf and fits(x_dot, specs[0]):
        return [copy_in(x_dot)]
    made: list[Any] = [None] * len(specs)
    for place, part in inputs.match(x_dot, what, "tangent"):
        spec = specs[place]
        shape = shape_of(spec)
        if part is None:
            continue
        if np.shape(part) != shape:
            raise StructureError(
                f"a tangent of shape {np.shape(part)} does not fit {what}, of shape {shape}.",
                "a tangent has the shape of the value it belongs to.",
                "pass an array of that shape: the direction in which the argument moves.",
            )
        if has_complex(part) and not has_complex(zeros_of(spec)):
            raise StructureError(
                f"a complex tangent does not fit {what}, which is real.",
                "a real number moves along the real axis only.",
                "pass the real part, or a complex argument: x + 0j.",
            )
        part = project(part, spec)
        if _differ(part, made[place]):
            raise _two_ways(what)
        made[place] = copy_in(part)
    return made


def _start(slot: Cell | ViewSlot, spec: Any, tangents: list[Any]) -> None:
    """Give the value at a slot its tangents; a view's are a part of its base's."""
    if all(p is None for p in tangents):
        return
    if type(slot) is not ViewSlot:
        slot.tangents = [zeros_of(spec) if p is None else p for p in tangents]  # type: ignore[union-attr]
        return
    for part, p in zip(writable(slot, None, tangents), tangents, strict=True):
        if p is not None:
            moves = _moves(p)
            part[moves] = p[moves]


def _moves(p: Any) -> Any:
    """Where a tangent says that an array moves: another view of the memory may say so elsewhere."""
    return p != 0 if type(p) is np.ndarray else ...


def _differ(p: Any, q: Any) -> bool:
    """Whether two tangents of the same memory contradict each other; None says nothing."""
    if p is None or q is None:
        return False
    p, q, moves = strip(p), strip(q), _moves(q)
    return bool(np.any((p != q)[moves] & (q == q)[moves])) if np.ndim(q) else bool(p != q)


def _two_ways(what: str) -> StructureError:
    return StructureError(
        f"{what} holds an array in two places, and their tangents differ.",
        "arrays that share memory are one variable, which has one tangent.",
        "pass the same tangent in both places, or zeros or None in one of them.",
    )


@verb
@border
def pushforward(
    f: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any], **kwargs: Any
) -> tuple[R, Any]:
    """The value of ``f(*primals, **kwargs)`` and its derivative along `tangents`: forward mode.

    The memory it takes is that of f: no tape is kept.

    Parameters
    ----------
    f : callable
        The function.
    primals : tuple
        Its positional arguments.
    tangents : tuple
        For each argument a tangent, of its structure and shapes, or None where it does not move.
    **kwargs
        Keyword arguments of f.

    Returns
    -------
    y
        What f returned.
    y_dot
        Its derivative along the tangents, with the structure, shapes and dtypes of y, and zeros
        where nothing moves.

    Raises
    ------
    StructureError
        Where a tangent does not fit its argument.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> zyg.pushforward(np.multiply, (np.array([1.0, 2.0]), 3.0), (np.array([1.0, 0.0]), 1.0))
    (array([3., 6.]), array([4., 2.]))
    """
    demand_tangents(primals, tangents)
    call = DualCall(f, tuple(primals), kwargs, [tangents])
    return call.y, call.y_dots[0]


def demand_tangents(primals: Any, tangents: Any) -> None:
    """Refuse what is no tuple of arguments with a tangent for each."""
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise StructureError(
            "pushforward takes the arguments of f as a tuple, and their tangents as a tuple.",
            "each argument has a tangent of its own.",
            "write pushforward(f, (x,), (x_dot,)).",
        )
    if len(primals) != len(tangents):
        raise StructureError(
            f"pushforward got {len(primals)} arguments and {len(tangents)} tangents.",
            "each argument has a tangent of its own.",
            "pass None for the tangent of an argument that does not move.",
        )
