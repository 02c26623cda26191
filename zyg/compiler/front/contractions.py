"""np.einsum and np.tensordot: as products of matrices where they are that, else as loops."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from zyg.compiler.front.conversions import as_array, given
from zyg.compiler.front.elementwise import (
    array,
    copied,
    elementwise,
    reads_of,
    stretched_to,
    together,
)
from zyg.compiler.front.picks import through
from zyg.compiler.front.products import matmul
from zyg.compiler.front.reductions import added_in
from zyg.compiler.front.scalars import WholeBuilder, promoted
from zyg.compiler.front.shaping import contiguous, in_shape, transposed
from zyg.compiler.front.views import Arrayed, ArrayView, Lazy, demand_equal, is_one
from zyg.compiler.ir import Atom
from zyg.compiler.layouts import Order, iterated
from zyg.errors import KernelError


def einsum(
    to: WholeBuilder, subscripts: Any, *operands: Any, out: Any = None, optimize: Any = False
) -> Any:
    """Einstein's sums, of as many operands as there are."""
    names, result = _parsed(subscripts, len(operands))
    if optimize is not False and not result:
        raise KernelError(
            "einsum of everything with optimize= is not compiled.",
            "NumPy gives a number or an array without axes, by the way that it takes.",
            "leave out optimize=.",
        )
    xs: list[Any] = [as_array(to, x) for x in operands]
    order = _order(xs, names, result)
    while len(xs) > 1:
        later = {letter for name in names[2:] for letter in name} | set(result)
        left = result if len(xs) == 2 else "".join(
            letter for letter in dict.fromkeys(names[0] + names[1]) if letter in later
        )  # fmt: skip
        xs[:2] = [_of_two(to, (xs[0], xs[1]), (names[0], names[1]), left)]
        names[:2] = [left]
    made = _summed(to, xs, names, result)
    lies = isinstance(made, ArrayView) and (len(operands) == 1 or made.is_dense(order))
    if isinstance(made, Arrayed) and not lies:
        made = copied(made, order)
    return given(array(made), out)


def _order(xs: Sequence[ArrayView], names: Sequence[str], result: str) -> Order:
    """The order of the axes of a result, which NumPy's iterator makes."""
    letters = result + "".join(sorted({c for name in names for c in name} - {*result}))
    rows = []
    for x, name in zip(xs, names, strict=True):
        found = {c: x.ranks[k] for k, c in enumerate(name[: x.ndim])}
        rows.append(tuple(found.get(c) for c in letters))
    return tuple(k for k in iterated(len(letters), rows) if k < len(result))


def tensordot(to: WholeBuilder, a: Any, b: Any, axes: Any = 2) -> Any:
    x, y = as_array(to, a), as_array(to, b)
    if isinstance(axes, int):
        axes = (tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes)))
    one, other = ((k,) if isinstance(k, int) else tuple(k) for k in axes)
    names = string.ascii_letters[: x.ndim], [*string.ascii_letters[x.ndim : x.ndim + y.ndim]]
    for i, j in zip(one, other, strict=True):
        names[1][j] = names[0][i]
        demand_equal(to, x.shape[i], y.shape[j])
    gone = {names[0][i] for i in one}
    result = "".join(c for c in (*names[0], *names[1]) if c not in gone)
    return contiguous(einsum(to, f"{names[0]},{''.join(names[1])}->{result}", x, y))


def _parsed(subscripts: Any, count: int) -> tuple[list[str], str]:
    if not isinstance(subscripts, str) or "." in subscripts:
        raise TypeError("einsum is compiled with subscripts in a string, without an ellipsis")
    text, arrow, result = subscripts.replace(" ", "").partition("->")
    names = text.split(",")
    if len(names) != count:
        raise ValueError(f"subscripts for {len(names)} operands, of which there are {count}")
    if not arrow:
        result = "".join(sorted(c for c in set(text) - {","} if text.count(c) == 1))
    if len(set(result)) != len(result) or not set(result) <= set(text):
        raise ValueError(f"the subscripts {result} of the result")
    return names, result


def _extents(to: WholeBuilder, xs: Sequence[Arrayed], names: Sequence[str]) -> dict[str, Atom]:
    found: dict[str, Atom] = {}
    for x, name in zip(xs, names, strict=True):
        if x.ndim != len(name):
            raise ValueError(f"the subscripts {name} of an array of {x.ndim} axes")
        for k, (letter, n) in enumerate(zip(name, x.shape, strict=True)):
            if letter in name[:k]:  # a diagonal
                demand_equal(to, x.shape[name.index(letter)], n)
            if letter not in found or is_one(found[letter]):
                found[letter] = n
            elif not is_one(n):
                found[letter] = together(to, found[letter], n)
    return found


def _of_two(
    to: WholeBuilder, xs: tuple[ArrayView, ArrayView], names: tuple[str, str], result: str
) -> Any:
    sizes = _extents(to, xs, names)
    one, other = map(set, names)
    alone = (one ^ other) - set(result)
    repeated = any(len(set(name)) != len(name) for name in names)
    stretched = any(n is not sizes[c] and (is_one(n) or not to.assuming)
                    for x, name in zip(xs, names, strict=True)
                    for c, n in zip(name, x.shape, strict=True))  # fmt: skip
    summed = [c for c in names[0] if c in other and c not in result]
    if alone or repeated or stretched or not summed or promoted(*xs) not in ("float", "float32"):
        return array(_summed(to, xs, names, result))
    batch = [c for c in result if c in one and c in other]
    left = [c for c in names[0] if c not in other]
    right = [c for c in names[1] if c not in one]

    def matrix(x: ArrayView, name: str, rows: list[str], columns: list[str]) -> ArrayView:
        order = [name.index(c) for c in (*batch, *rows, *columns)]
        shape = [*(sizes[c] for c in batch), *(to.product([sizes[c] for c in part])
                                               for part in (rows, columns))]  # fmt: skip
        return in_shape(transposed(to, x, order), shape)[0]

    made = matmul(to, matrix(xs[0], names[0], left, summed), matrix(xs[1], names[1], summed, right))
    letters = [*batch, *left, *right]
    full, _ = in_shape(made, [sizes[c] for c in letters])
    if not letters:
        return full
    return transposed(to, full, [letters.index(c) for c in result])


def _view(x: ArrayView, name: str, result: str) -> Any:
    """Other axes of the same elements; of a letter that is repeated, the diagonal."""
    if not result:
        return x.at(())
    strides: dict[str, Atom] = dict.fromkeys(result, 0)
    for letter, stride in zip(name, x.strides, strict=True):
        strides[letter] = x.to.op("add", strides[letter], stride)
    places = [name.index(c) for c in result]
    longest = [max((x.ranks[k] or 0 for k, d in enumerate(name) if d == c)) for c in result]
    return x.view([x.shape[k] for k in places], [strides[c] for c in result], x.offset, longest)


def _summed(to: WholeBuilder, xs: Sequence[Any], names: Sequence[str], result: str) -> Any:
    """By loops: what each element is, a sum over all letters that are not in the result."""
    sizes = _extents(to, xs, names)
    if len(xs) == 1 and set(names[0]) == set(result):
        return _view(xs[0], names[0], result)
    rest = [c for c in sizes if c not in result]
    kind = promoted(*xs)
    wide = added_in(kind) if rest else kind

    def at(index: Sequence[Atom]) -> Any:
        known = dict(zip(result, index, strict=True))

        def step(inner: list[Atom], total: Atom) -> Atom:
            places = known | dict(zip(rest, inner, strict=True))
            parts = [
                x.at([stretched_to(to, n, places[c]) for c, n in zip(name, x.shape, strict=True)])
                for x, name in zip(xs, names, strict=True)
            ]
            term = parts[0]
            for part in parts[1:]:
                term = elementwise(to, "multiply", term, part)
            if not rest:
                return term.atom  # type: ignore[no-any-return]
            terms = (to.number(x, False) for x in (total, to.to(wide, term.atom)))
            return to.elementwise("add", *terms)

        total = through(to, [sizes[c] for c in rest], to.to(wide, 0), step)
        return to.number(to.to(kind, total), False)

    if not result:
        return at(())
    return Lazy(to, [sizes[c] for c in result], kind, at, reads_of(xs))
