"""Ints of a program as sums of products: so sizes are seen to be equal, and indices to move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from zyg.compiler.ir import Atom, For, Op, Value

Sum = Counter[tuple[Value, ...]]  # of products of values, with factors; the empty one is 1

SUMS = "constant", "add", "subtract", "multiply"  # operations
_MOST = 40  # terms of a sum
_DEEPEST = 50  # operations, of a sum
ONE: Sum = Counter({(): 1})


class Polynomials:
    """The ints of a program; `makers` are its operations."""

    def __init__(self, makers: dict[Value, Op]) -> None:
        self.makers = makers
        self.sums: dict[Value, Sum | None] = {}

    def sum_of(self, x: Atom, depth: int = 0) -> Sum | None:
        """An int as a sum of products; None if that is long."""
        if not isinstance(x, Value):
            return Counter({(): int(x)})
        if x not in self.sums:
            self.sums[x] = self._sum_of(x, depth)
        return self.sums[x]

    def _sum_of(self, x: Value, depth: int) -> Sum | None:
        op = self.makers.get(x)
        if op is None or op.name not in SUMS or depth == _DEEPEST:
            return Counter({(x,): 1})
        a, b = (self.sum_of(y, depth + 1) for y in (*op.args, 0)[:2])
        if a is None or b is None:
            return None
        less = -1 if op.name == "subtract" else 1
        made = product(a, b) if op.name == "multiply" else plus(a, b, less)
        return made if len(made) <= _MOST else None

    def product_of(self, atoms: Iterable[Atom]) -> Sum | None:
        """The product of ints; None if that is long."""
        made = ONE
        for x in atoms:
            if (factor := self.sum_of(x)) is None:
                return None
            made = product(made, factor)
        return made


def plus(a: Sum, b: Sum, times: int = 1) -> Sum:
    """A sum, and another so many times."""
    made = Counter(a)
    for term, n in b.items():
        made[term] += n * times
    return Counter({term: n for term, n in made.items() if n})


def product(a: Sum, b: Sum) -> Sum:
    """The product of two sums."""
    made: Sum = Counter()
    for s, m in a.items():
        for t, n in b.items():
            made[tuple(sorted((*s, *t), key=id))] += m * n
    return Counter({term: n for term, n in made.items() if n})


def along(x: Sum, index: Value) -> tuple[Sum, Sum]:
    """A sum as an index times a stride, and the rest."""
    stride: Sum = Counter()
    for term, n in x.items():
        if index in term:
            k = term.index(index)
            stride[(*term[:k], *term[k + 1 :])] += n
    return stride, Counter({term: n for term, n in x.items() if index not in term})


def as_extent(op: Op) -> Op:
    """What makes an int, where that is not negative."""
    is_extent = op.name == "maximum" and op.args[1] == 0 and op.out.type == "int"
    return Op("add", op.args, op.out) if is_extent else op


def of_extents(makers: Mapping[Value, Op]) -> Polynomials:
    """The ints of a program in which no extent is negative."""
    return Polynomials({x: as_extent(op) for x, op in makers.items()})


def once(
    place: Atom, size: Atom, loops: Sequence[For], sum_of: Callable[[Atom], Sum | None]
) -> list[Sum] | None:
    """The rounds of loops by which an index takes every value below a size, each once."""
    rest, steps = sum_of(place), dict[Value, tuple[Sum, Sum]]()
    for op in loops:
        start, end = map(sum_of, op.span[:2])
        if rest is None or start is None or end is None or op.span[2] not in (1, -1):
            return None
        low, high = (start, end) if op.span[2] == 1 else (plus(end, ONE), plus(start, ONE))
        stride, rest = along(rest, op.index)
        rest = plus(rest, product(stride, low))
        steps[op.index] = stride, plus(high, low, -1)
    counts, covered = [count for _, count in steps.values()], ONE
    while found := [x for x, (stride, _) in steps.items() if stride == covered]:
        covered = product(covered, steps.pop(found[0])[1])
    return counts if not (steps or rest) and covered == sum_of(size) else None
