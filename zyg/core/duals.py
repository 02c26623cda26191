"""Forward mode: the same `bind`, tangents instead of entries.

A `DualStrand` keeps no tape. A slot on it is a `Cell`, which holds the tangents of its value, and
`note` does not write an entry down: it computes the tangents of what the entry made from those of
what it read. A tangent thus lives as long as its value. Views, writes, levels and everything that
`bind` does are the same as in reverse mode; an array's tangents have its layout, as a shadow has.

Each entry says how cotangents go back. `entries.kinds` has, by the function that an entry names,
how tangents go forward; where it does not say, the entry is transposed: the pullback is called with
a watched cotangent, to which it is linear, and the reverse pass of that takes the tangents of the
operands to those of the result.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.base.array_types import array_type, on_host
from zyg.base.config import setting
from zyg.base.quiet import quiet
from zyg.base.structure import Structure
from zyg.core.adjoint_tasks import reverse
from zyg.core.adjoints import adjoint_pullback
from zyg.core.cotangents import has_complex, project, spec_of, zeros_of
from zyg.core.entries import kinds, name_of, parts_of
from zyg.core.exchange import bring
from zyg.core.protection import release
from zyg.core.reverse import Run, non_finite, settled
from zyg.core.strand import WATCHED, Confined, Strand, strip, watch
from zyg.core.tangents import (
    Cell,
    Rows,
    Tangents,
    apart,
    scaled,
    summed,
    tangents_of,
)
from zyg.core.views import at_slot
from zyg.errors import AdjointError, NonFiniteError, user_line


def finds_pattern(strand: Strand) -> bool:
    """Whether its values have sets for tangents, as in a search for sparsity."""
    return strand.dual and not isinstance(strand, DualStrand)


class DualStrand(Strand):
    """One level of forward mode."""

    __slots__ = ("held", "in_place", "suspect")
    dual = moves = True

    def __init__(self, confined: Confined | None = None) -> None:
        super().__init__()
        self.confined = confined
        self.new_slot = Cell
        self.note = advance
        self.in_place = True
        self.held: list[Any] = []  # what is to be closed where f has returned: there is no tape
        self.suspect: list[str] = []  # what made the first infinite or NaN tangent, and its line
        if setting("check_nan"):
            self.in_place = False
            self.note = functools.partial(advance_checked, suspect=self.suspect)


class IdleStrand(DualStrand):
    """One at which nothing moves: its values are known by their type, and nothing else is."""

    __slots__ = ()
    moves = False

    def __init__(self, confined: Confined) -> None:
        super().__init__(confined)
        self.note, self.in_place = _ignore, False


def _ignore(entry: tuple[Any, ...]) -> None:
    """What is to be done with an entry where nothing moves."""


def advance(entry: tuple[Any, ...]) -> None:
    """Compute the tangents of what an entry made."""
    out, i, a, j, b = entry
    if i is not None:
        out.tangents = _of_numbers(i.tangents, a, None if j is None else j.tangents, b)
        return
    u = None if j is None else tangents_of(j)
    if u is None and j is not None:
        return
    with quiet():  # f's own warnings have been given
        if u is not None:
            made = scaled(u, a if b is None else a(*b))
            out.tangents = apart(made) if made is u else made
        elif out is None:
            kinds[a].push(*b)  # type: ignore[misc]
        else:
            _advance_other(entry)


def _of_numbers(u: Tangents, a: Any, v: Tangents, b: Any) -> Tangents:
    if v is None:
        if u is None:
            return None
        made = [_float(p) * _float(a) for p in u]
    elif u is None:
        return _of_numbers(v, b, None, None)
    else:
        made = [_float(p) * _float(a) + _float(q) * _float(b) for p, q in zip(u, v, strict=True)]
    for c in made:
        if c != c:  # zero times infinity, perhaps
            with quiet():
                return summed(scaled(u, a), None if v is None else scaled(v, b))
    return made


def _float(x: Any) -> Any:
    """A number whose arithmetic does not warn, as that of NumPy's does."""
    return float(x) if type(x) is np.float64 else x


def _advance_other(entry: tuple[Any, ...]) -> None:
    cells, result, pull, args = parts_of(entry)
    push = kinds[pull].push
    if push is None:
        made = transposed(cells, result, pull, args)
    else:
        whole = push(*args)
        made = [whole] if result is None else _by_leaf(result, whole)
    for cell, found in zip(cells, made, strict=True):
        if found is not None:
            fits = type(found) is Rows and found.fits(cell.spec)
            cell.tangents = found if fits else apart([project(p, cell.spec) for p in found])


def _by_leaf(result: Structure, whole: Tangents) -> list[Tangents]:
    """The tangents of each leaf of a result, from those of the whole."""
    made: list[Any] = [None] * len(result.leaves)
    if whole is None:
        return made
    for k, y_dot in enumerate(whole):
        for place, part in result.match(y_dot, "the result of a pushforward", "tangent"):
            if made[place] is None:
                made[place] = [zeros_of(spec_of(result.leaves[place])) for _ in whole]
            if part is not None:
                made[place][k] = part
    return made


def advance_checked(entry: tuple[Any, ...], suspect: list[str]) -> None:
    """`advance`, which remembers where a tangent first became infinite or NaN."""
    advance(entry)
    if not suspect:
        for cell in parts_of(entry)[0]:
            if cell.tangents and any(map(non_finite, cell.tangents)):
                suspect[:] = [name_of(entry), user_line()]


def check_tangents(suspect: list[str], tangents: list[Any]) -> None:
    """Raise NonFiniteError where a result is not finite, if one asked to be told."""
    if suspect and any(map(non_finite, tangents)):
        name, line = suspect
        raise NonFiniteError(
            f"the tangent of the result of {name} is infinite or NaN.",
            f"the derivative is infinite or undefined there. The line of f:\n    {line}",
            "keep the argument of that function away from where it has no derivative.",
        )


def transposed(
    cells: Sequence[Cell], result: Structure | None, pull: Any, args: Any
) -> list[Tangents]:
    """The tangents of results, from the pullback of the entry that made them."""
    strand = Strand()
    bars = [watch(strand, zeros_of(cell.spec), strand.new_slot()) for cell in cells]
    try:
        y_bar = bars[0] if result is None else result.rebuild(bars)
        pairs = [(slot, bring(strand, c)) for slot, c in pull(Run(False), y_bar, *args)]
        strand.close()
        moving = [(c, u) for slot, c in pairs if (u := tangents_of(slot)) is not None]
        if not moving:
            return [None] * len(cells)
        made: list[list[Any]] = [[] for _ in cells]
        for k in range(len(moving[0][1])):
            seeds = [
                (c.slot, project(u[k], spec_of(c)))
                for c, u in moving
                if type(c) in WATCHED and c.strand is strand
            ]

            def transposed(strong: bool, seeds: Any = seeds) -> list[Any]:
                shadows = reverse(strand, seeds, strong)
                return [at_slot(shadows, w.slot) for w in bars]

            at = settled(transposed, iter)
            for found, p, cell in zip(made, at, cells, strict=True):
                found.append(zeros_of(cell.spec) if p is None else p)
        if pull is adjoint_pullback and args[0].may_cut:
            demand_transpose(cells, result, args, made)
        return list(made)
    finally:
        release(strand)
        strand.tape.clear()


def demand_transpose(
    cells: Sequence[Cell], result: Structure | None, args: Any, made: list[list[Any]]
) -> None:
    """Compare the tangents of results with what the pullback of a user's rule says of them.

    It may have cut its cotangent off from what is watched (`stop_gradient`, foreign code), and its
    transpose is then zero, or a part of the derivative.
    """
    zeros = [zeros_of(cell.spec) for cell in cells]
    if not all(type(z) is np.ndarray or not array_type(z).library for z in zeros):
        return  # of another library, whose values are looked at by nobody
    rng = np.random.default_rng(0)
    bars = [probe_like(rng, z) for z in zeros]
    y_bar = bars[0] if result is None else result.rebuild(bars)
    pairs = [
        (strip(c), tangents_of(slot)) for slot, c in adjoint_pullback(Run(False), y_bar, *args)
    ]
    for k in range(len(made[0])):
        into = [(c, u[k]) for c, u in pairs if u is not None]
        out = [(w, found[k]) for w, found in zip(bars, made, strict=True)]
        (a, rough), (b, _) = _products(into), _products(out)
        if not abs(a - b) <= rough and np.isfinite(a):
            name = args[0].name
            raise AdjointError(
                f"the pullback of {name} does not compute with its cotangent throughout.",
                f"forward mode has no rule for {name}, and transposes the pullback; where that "
                "takes the plain value of the cotangent (zyg.stop_gradient, zyg.primal, code that "
                "cannot be watched), the derivative would be lost.",
                "compute with the cotangent in np., write a forward rule (@rule.pushforward), or "
                'use reverse mode: zyg.gradient, zyg.jacobian(..., mode="reverse").',
                tag="transpose",
            )


def probe_like(rng: np.random.Generator, zeros: Any) -> Any:
    """A cotangent of no particular direction."""
    w = rng.uniform(0.5, 1.0, np.shape(zeros))
    w = w * (1 + 0.5j) if has_complex(zeros) else w
    return w[()] if np.ndim(zeros) == 0 else w.astype(np.result_type(zeros))


def _products(pairs: list[tuple[Any, Any]]) -> tuple[float, float]:
    """The sum of the real inner products of pairs, and what rounding may make of it."""
    total, size, eps = 0.0, 0.0, 0.0
    for c, u in pairs:
        c, u = (np.asarray(on_host(strip(x))) for x in (c, u))
        product = np.real(np.conj(c) * u)
        total, size = total + float(np.sum(product)), size + float(np.sum(abs(product)))
        found = [np.finfo(x.dtype).eps for x in (c, u) if x.dtype.kind in "fc"]
        eps = max([eps, *map(float, found)])
    return total, math.sqrt(eps) * size
