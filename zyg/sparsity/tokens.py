"""What the results of a rule depend on: its derivative is run with a token for each element.

The pattern of a linear function of a tangent (a rule's pushforward), or of a cotangent (its
pullback), is where the tokens arrive that are put in. A rule that does not go with tokens, or that
is not zyg's own, makes all of its results depend on all of its operands.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from zyg.base.caches import remembered
from zyg.base.containers import ATOMS
from zyg.base.extras import installing
from zyg.base.structure import Structure
from zyg.core.cotangents import shape_of
from zyg.core.strand import is_watched
from zyg.functions.kit import kept

Matrix = Any  # a Boolean scipy.sparse.csr_array: a row for each element of a value

_FEW = 4096  # tokens that are told apart by bits
_TAPS = 64  # elements of the shorter operand of a convolution that are looked at
_MOST = 10**8  # set unions for which the zeros of a constant matrix are still looked at


def scipy_sparse() -> Any:
    """The module scipy.sparse, which zyg does without everywhere else."""
    try:
        return import_module("scipy.sparse")
    except ImportError as error:
        raise ImportError(
            "sparse derivatives are matrices of scipy.sparse, and SciPy is not installed: "
            f"{installing('scipy')}"
        ) from error


def matrix_of(rows: Any, columns: Any, shape: tuple[int, int]) -> Matrix:
    """The Boolean matrix with entries at these places."""
    rows, columns = np.ravel(rows), np.ravel(columns)
    return scipy_sparse().csr_array((np.ones(rows.size, bool), (rows, columns)), shape)


@remembered(16)
def numbered(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """An array of this shape whose elements are numbered."""
    return np.arange(math.prod(shape)).reshape(shape)


def united(parts: Sequence[Matrix]) -> Matrix | None:
    """The union of the sets of every element."""
    return functools.reduce(lambda a, b: a + b, parts) if parts else None


def _size_of(spec: Any) -> int:
    return math.prod(shape_of(spec))


_REAL = (int, float, np.floating, np.integer, np.bool)


class Token:
    """What has arrived at an element of a tangent: a set of numbered elements, as bits or `Sum`."""

    __slots__ = ("of",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, of: Any) -> None:
        self.of = of

    def __add__(self, other: Any) -> Token:
        return Token(self.of | other.of) if type(other) is Token else self.__mul__(other)

    def __mul__(self, other: Any) -> Token:
        return self if isinstance(other, _REAL) else NotImplemented

    def conjugate(self) -> Token:
        return self

    def __refuse(self, *_: Any) -> Any:
        raise TypeError("the value of a token decides nothing")

    __radd__ = __sub__ = __rsub__ = __add__
    __rmul__ = __truediv__ = __mul__
    __neg__ = __pos__ = conjugate
    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __refuse


class Sum:
    """A union of sets, or one number, where there are too many numbers for bits."""

    __slots__ = ("left", "right")

    def __init__(self, left: Any, right: Sum | None = None) -> None:
        self.left, self.right = left, right

    def __or__(self, other: Sum) -> Sum:
        return Sum(self, other)


def _members(of: Any) -> list[int]:
    """The numbers in a set of a token."""
    if isinstance(of, int):
        if not of & (of - 1):
            return [of.bit_length() - 1]
        octets = np.frombuffer(of.to_bytes(-(-of.bit_length() // 8), "little"), np.uint8)
        return np.flatnonzero(np.unpackbits(octets, bitorder="little")).tolist()
    waiting, seen, found = [of], set(), []
    while waiting:
        one = waiting.pop()
        if one.right is None:
            found.append(one.left)
        elif id(one) not in seen:
            seen.add(id(one))
            waiting += one.left, one.right
    return found


ATOMS.add(Token)  # nothing to be looked for inside


def _tokens(spec: Any, start: int, count: int) -> Any:
    """A tangent of tokens, which are numbered from `start`, of `count` in all."""
    number = (1).__lshift__ if count <= _FEW else Sum
    made = np.empty(_size_of(spec), object)
    made[:] = [Token(number(k)) for k in range(start, start + made.size)]
    return made.reshape(shape_of(spec))


def _arrivals(tangent: Any, spec: Any, count: int) -> Matrix:
    """Which of `count` tokens arrived in which element of a tangent."""
    tangent = np.broadcast_to(np.asarray(tangent, object), shape_of(spec))
    found = [_members(v.of) if type(v) is Token else _nothing(v) for v in tangent.ravel().tolist()]
    rows = np.repeat(np.arange(len(found)), [len(one) for one in found])
    columns = np.fromiter(itertools.chain.from_iterable(found), np.int64, rows.size)
    return matrix_of(rows, columns, (len(found), count))


def _nothing(v: Any) -> Any:
    if not isinstance(v, _REAL):
        raise TypeError("not a tangent")
    return ()


class Use(NamedTuple):
    """One use of a rule: operands, and the sets of elements that they depend on, or None.

    `moves` is its pushforward or pullback; `active` says at which place of `args` which operands
    are, as the entry has it. `specs`, `result` and `outs` tell what operands and results are like.
    """

    rule: Any
    moves: Callable[..., Any]
    active: list[Any]
    args: Any
    found: list[Matrix | None]
    specs: list[Any]
    result: Structure | None
    outs: list[Any]


def through_rule(way: Callable[[Use], list[Matrix | None]], use: Use) -> list[Matrix | None]:
    """What the results of a rule depend on; `way` is `forward` or `backward`."""
    if all(sets is None for sets in use.found):
        return [None] * len(use.outs)
    try:
        made = _by_formula(use) if way is forward else None
        if made is not None:
            return made
        if not use.rule.ours:
            return _dense(use)
        with np.errstate(all="ignore"):
            return way(use)
    except Exception:  # what does not go with tokens; a test has the rules that do not, and why
        return _dense(use)


def _dense(use: Use) -> list[Matrix | None]:
    """Every element of the results depends on all that any operand depends on."""
    found = [sets for sets in use.found if sets is not None]
    columns = np.unique(np.concatenate([sets.indices for sets in found]))
    made: list[Matrix | None] = []
    for size in map(_size_of, use.outs):
        rows = np.repeat(np.arange(size), columns.size)
        made.append(matrix_of(rows, np.tile(columns, size), (size, found[0].shape[1])))
    return made


def forward(use: Use) -> list[Matrix | None]:
    """Where the tokens of the operands arrive in the results."""
    starts = np.cumsum([0, *(0 if s is None else s.shape[0] for s in use.found)]).tolist()
    tokens = [
        None if sets is None else _tokens(spec, start, starts[-1])
        for sets, spec, start in zip(use.found, use.specs, starts, strict=False)
    ]
    tangents: list[Any] = [None] * len(use.args)
    for k, container, slots in use.active:
        ours, tokens = tokens[: len(slots)], tokens[len(slots) :]
        tangents[k] = container.tangent(ours) if container else ours[0]
    stack = scipy_sparse().vstack([s for s in use.found if s is not None], format="csr")
    made: list[Matrix | None] = [None] * len(use.outs)
    y_dot = use.moves(*tangents)
    parts = [(0, y_dot)] if use.result is None else use.result.match(y_dot, "", "tangent")
    for place, part in parts:
        if part is not None:
            made[place] = _arrivals(part, use.outs[place], starts[-1]) @ stack
    return made


def backward(use: Use) -> list[Matrix | None]:
    """Where the tokens of the results come from: they arrive in the operands."""
    starts = np.cumsum([0, *map(_size_of, use.outs)]).tolist()
    bars = [_tokens(spec, start, starts[-1]) for spec, start in zip(use.outs, starts, strict=False)]
    x_bars = use.moves(bars[0] if use.result is None else use.result.rebuild(bars))
    found, specs, parts = use.found, use.specs, []
    for k, container, slots in use.active:
        ours, found = found[: len(slots)], found[len(slots) :]
        own, specs = specs[: len(slots)], specs[len(slots) :]
        c = x_bars[k] if k < len(x_bars) and any(s is not None for s in ours) else None
        c = c() if callable(c) else c
        for place, part in [(0, c)] if container is None else container.match(c, ""):
            if part is not None and ours[place] is not None:
                parts.append(_arrivals(part, own[place], starts[-1]).T.tocsr() @ ours[place])
    whole = united(parts)
    if whole is None:
        return [None] * len(use.outs)
    return [whole[a:b] for a, b in itertools.pairwise(starts)]


# Functions that are faster without tokens, or do not go with them. `found` has the sets of the
# operands, by their places; the sets of the result are the union of what is returned.


def _product(found: dict[int, Matrix | None], args: Sequence[Any]) -> list[Matrix] | None:
    """The product of two matrices or vectors; where a constant one is 0, nothing depends."""
    a, b = args
    if not (0 < np.ndim(a) <= 2 and 0 < np.ndim(b) <= 2):
        return None
    parts = []
    (m, n), p = (1, *np.shape(a))[-2:], (*np.shape(b), 1)[1]
    if (sets := found.get(0)) is not None:  # y[i, k] depends on a[i, j], where b[j, k] is not 0
        at = np.ones((n, p), bool) if is_watched(b) else np.reshape(b, (n, p)) != 0
        i, (j, k) = np.arange(m)[:, None], np.nonzero(at)
        whole = numbered((m, n)) // max(n, 1), numbered((m, p)) // max(p, 1)
        parts.append(_summed(sets, at, (p * i + k, n * i + j), whole, m))
    if (sets := found.get(1)) is not None:  # and on b[j, k], where a[i, j] is not 0
        at = np.ones((m, n), bool) if is_watched(a) else np.reshape(a, (m, n)) != 0
        k, (i, j) = np.arange(p)[:, None], np.nonzero(at)
        whole = numbered((n, p)) % max(p, 1), numbered((m, p)) % max(p, 1)
        parts.append(_summed(sets, at, (p * i + k, p * j + k), whole, p))
    return parts


def _summed(sets: Matrix, at: Any, places: Any, whole: Any, groups: int) -> Matrix:
    """The sets of sums; where nothing is left out, they are made once for each group."""
    rows, columns = places
    if at.all() or rows.size * sets.nnz > _MOST * sets.shape[0]:
        columns, rows = whole
        each = matrix_of(columns, np.arange(columns.size), (groups, sets.shape[0])) @ sets
        return each[rows.ravel()]
    return matrix_of(rows, columns, (whole[1].size, sets.shape[0])) @ sets


def _reduction(found: dict[int, Matrix | None], args: Sequence[Any]) -> list[Matrix] | None:
    """A sum or a mean over axes."""
    if len(found) > 1:  # `initial` is watched
        return None
    shape, sets = np.shape(args[0]), found[0]
    to = kept(shape, args[1] if len(args) > 1 else None)
    groups = np.broadcast_to(numbered(to), shape)
    return [matrix_of(groups, np.arange(groups.size), (math.prod(to), groups.size)) @ sets]


def _convolution(
    function: Any, found: dict[int, Matrix | None], args: Sequence[Any]
) -> list[Matrix] | None:
    """A convolution: one element of an operand moves all of the other's to other places."""
    parts = []
    for place, sets in found.items():
        moved = list(args)
        if sets is None or np.size(args[1 - place]) > _TAPS:
            return None
        taps = np.eye(np.size(args[1 - place]), dtype=int)
        moved[place] = 1 + numbered(np.shape(args[place]))
        for tap in taps:
            moved[1 - place] = np.reshape(tap, np.shape(args[1 - place]))
            y = np.ravel(function(*moved))
            (k,) = np.nonzero(y)
            parts.append(matrix_of(k, y[k] - 1, (y.size, sets.shape[0])) @ sets)
    return parts


_known: dict[Any, Callable[..., list[Matrix] | None]] = {
    np.matmul: _product,
    np.dot: _product,
    np.sum: _reduction,
    np.mean: _reduction,
    np.convolve: functools.partial(_convolution, np.convolve),
    np.correlate: functools.partial(_convolution, np.correlate),
}


def _by_formula(use: Use) -> list[Matrix | None] | None:
    known = _known.get(use.rule.key)
    if known is None:
        return None
    by_place = {k: sets for (k, _, _), sets in zip(use.active, use.found, strict=True)}
    made = known(by_place, use.args)
    return None if made is None else [united(made)]
