"""Derivatives of functions of plain values by differences.

The numbers of the arguments are one vector of reals, a complex number two of them, and so are those
of the result. The Jacobian is a value with an entry of its own: its derivative is a difference
again, of the Jacobian as a vector. So a second derivative needs no case, and neither does forward
mode; third differences have no digits left, and are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from zyg.base.quiet import quiet
from zyg.base.structure import Structure
from zyg.core.cotangents import has_complex
from zyg.core.entries import is_result
from zyg.core.strand import strip
from zyg.errors import AdjointError, MissingRuleError, NonFiniteError
from zyg.verbs.checkpoints import one_entry

METHODS = "difference", "complex"
_COMPLEX_STEP = 1e-30
Value = Callable[[Sequence[Any]], Any]
_Place = tuple[int, int | None, complex]  # which leaf, which element of an array, 1 or 1j


class Differences:
    """One call, as a function of the numbers and arrays in it that are watched.

    `value` computes it, `paths` say where in the arguments they are.
    """

    def __init__(
        self, name: str, value: Value, paths: Sequence[str], how: tuple[str, float | None, int]
    ) -> None:
        self.name, self.value, self.paths = name, value, paths
        self.method, self.step, self.calls = how
        self.checked = False  # the complex step, by differences

    def of(self, leaves: Sequence[Any]) -> Any:
        """The result, one entry."""
        self.demand_few(leaves, 1)

        def run(*xs: Any) -> Any:
            y = self.value(xs)
            self.results = Structure(y, is_result).leaves
            return y

        return one_entry(self.name, run, self.pull_by(1, _reals), leaves)

    def derivative(self, order: int, leaves: Sequence[Any]) -> Any:
        """The derivatives of an order as one vector, in which the last leaf comes last."""
        if order > 2:
            raise MissingRuleError(
                f"{self.name} is differentiated by differences, and has no third derivative.",
                "a third difference has hardly a correct digit left.",
                "give zyg.foreign a pullback= or a jacobian= that is written in np.",
                tag="differences",
            )
        pull = self.pull_by(order + 1, lambda v_bar: v_bar)
        return one_entry(self.name, lambda *xs: self.vector(order, xs), pull, leaves)

    def pull_by(self, order: int, reals: Callable[[Any], Any]) -> Callable[..., Any]:
        """The pullback of what has these derivatives; `reals` makes a vector of its cotangent."""

        def pull(y: Any, xs: Sequence[Any], y_bar: Any) -> tuple[Any, ...]:
            matrix = np.reshape(self.derivative(order, xs), (-1, len(_places(xs))))
            return _parts(np.matmul(reals(y_bar), matrix), xs)

        return pull

    def vector(self, order: int, xs: Sequence[Any]) -> Any:
        """What `derivative` is, plain; of order 0, the numbers of the result."""
        if order == 0:
            return _reals(self.value(xs))
        self.demand_few(xs, order)
        column = self.difference
        if order == 1 and self.method == "complex":
            column = self.complex_step
        columns = [column(order, xs, place) for place in _places(xs)]
        if column == self.complex_step and columns and not self.checked:
            self.demand_holomorphic(xs, np.stack(columns, -1))
            self.checked = True
        return np.ravel(np.stack(columns, -1)) if columns else np.zeros(0)

    def difference(self, order: int, xs: Sequence[Any], place: _Place) -> Any:
        """The central difference by one real number."""
        k, i, unit = place
        # Of a Jacobian by differences, which has lost a third of its digits.
        power = 1 / 5 if order == 2 and self.method == "difference" else 1 / 3
        h = self.step or _eps([*xs, *self.results]) ** power * max(
            1.0, abs(complex(_element(xs[k], i)))
        )
        points = [_moved(xs, place, sign * h) for sign in (1, -1)]
        width = complex((_element(points[0][k], i) - _element(points[1][k], i)) / unit).real
        values = [self.vector(order - 1, p) for p in points]
        if values[0].shape != values[1].shape:
            raise AdjointError(
                f"{self.name} returned {values[0].size} numbers, and {values[1].size} beside it.",
                "differences need results with the same numbers in the same places.",
                "give zyg.foreign a pullback= or a jacobian=.",
                tag="differences",
            )
        found = (values[0] - values[1]) / width
        if not np.all(np.isfinite(found)):
            raise NonFiniteError(
                f"a difference of {self.name} by {self.place_of(k, i)} is not finite.",
                f"the function is infinite or undefined there, or at a distance of {h:.3g}.",
                "pass a smaller step=, or stay away from the edge of its domain.",
            )
        return found

    def complex_step(self, order: int, xs: Sequence[Any], place: _Place) -> Any:
        """The derivative by one real number, exact to rounding."""
        k, i, _ = place
        if any(map(has_complex, xs)):
            raise self.not_complex(f"{self.place_of(k, i)} is complex")
        try:
            y = self.value(_moved(xs, place, _COMPLEX_STEP * 1j))
        except TypeError as error:
            raise self.not_complex(f"it does not take complex numbers ({error})") from error
        leaves = Structure(y, is_result).leaves
        if not all(map(has_complex, leaves)):
            raise self.not_complex("of a complex number it returns a real one")
        return np.concatenate([np.ravel(np.imag(v)) for v in leaves]) / _COMPLEX_STEP

    def demand_holomorphic(self, xs: Sequence[Any], matrix: Any) -> None:
        """Compare the complex step with a difference along one direction, which all numbers move.

        They differ where the function takes a part of a complex number (`real`, `conj`). A second
        difference tells that from a function that is rough.
        """
        flat = np.concatenate([np.ravel(x) for x in xs])
        along = np.linspace(0.5, 1.0, flat.size) * np.maximum(1.0, np.abs(flat))
        expected, size = matrix @ along, np.abs(matrix) @ along
        eps, found = _eps([*xs, *self.results]), []
        for h in (eps ** (1 / 3), eps ** (1 / 3) / 8):
            moved = (_parts(np.add(flat, sign * h * along), xs) for sign in (1, -1))
            try:
                with quiet():
                    y, z = (self.vector(0, [*map(_like, parts, xs)]) for parts in moved)
            except (ArithmeticError, ValueError):  # outside of its domain
                return
            found.append((y - z) / (2 * h))
            rough = 1e-4 * (size + np.abs(found[-1])) + 8 * eps / h * (np.abs(y) + np.abs(z))
            wrong = ~(np.abs(found[-1] - expected) <= rough)
            if not np.any(wrong & np.isfinite(found[-1])):
                return
        settled = np.abs(found[0] - found[1]) < 0.01 * np.abs(found[0] + found[1])
        settled &= np.abs(found[0] - found[1]) < 0.1 * np.abs(found[1] - expected)
        if np.any(wrong & settled):
            k = int(np.argmax(wrong & settled))
            raise self.not_complex(
                f"a difference of it by real numbers is {found[1][k]:.6g}, where the complex step "
                f"says {expected[k]:.6g}"
            )

    def not_complex(self, reason: str) -> MissingRuleError:
        return MissingRuleError(
            f"{self.name} has no derivative by the complex step: {reason}.",
            "the complex step gives real arguments a tiny imaginary part, and reads the "
            "derivative off the imaginary part of the result.",
            'use method="difference".',
            tag="differences",
        )

    def demand_few(self, xs: Sequence[Any], order: int) -> None:
        n = len(_places(xs))
        each = n if self.method == "complex" else 2 * n
        needed = each * (2 * n) ** (order - 1)
        if needed > self.calls:
            raise MissingRuleError(
                f"the derivative of {self.name} by {n} numbers takes {needed} calls of it.",
                f"that is more than the {self.calls} that are allowed.",
                f"pass calls={needed} to zyg.foreign, or give it a pullback=.",
                tag="differences",
            )

    def place_of(self, k: int, i: int | None) -> str:
        return f"argument {self.paths[k]}" + ("" if i is None else f", element {i}")


# Numbers as a vector of reals


def _reals(values: Any) -> Any:
    """The numbers in a structure as one vector of reals, also if they are watched."""
    pieces = []
    for x in Structure(values, is_result).leaves:
        pieces.append(np.ravel(np.real(x)))
        if has_complex(x):
            pieces.append(np.ravel(np.imag(x)))
    return np.concatenate(pieces)


def _parts(vector: Any, xs: Sequence[Any]) -> tuple[Any, ...]:
    """The values of which `_reals` makes this vector, of the shapes of `xs`."""
    found, at = [], 0
    for x in xs:
        shape, n = np.shape(x), np.size(x)
        part = np.reshape(vector[at : at + n], shape)
        at += n
        if has_complex(x):
            part = part + 1j * np.reshape(vector[at : at + n], shape)
            at += n
        found.append(part)
    return (*found,)


def _places(xs: Sequence[Any]) -> list[_Place]:
    """The real numbers that plain or watched values have, in the order of `_reals`."""
    return [*_each_place(xs)]


def _each_place(xs: Sequence[Any]) -> Iterator[_Place]:
    for k, x in enumerate(xs):
        every = range(np.size(x)) if isinstance(strip(x), np.ndarray) else (None,)
        for unit in (1, 1j) if has_complex(x) else (1,):
            yield from ((k, i, unit) for i in every)


def _moved(xs: Sequence[Any], place: _Place, h: complex) -> list[Any]:
    """Plain values, one number of which is moved by h."""
    k, i, unit = place
    x = xs[k]
    if i is None:
        return [*xs[:k], x + h * unit, *xs[k + 1 :]]
    x = x.astype(np.result_type(x, np.float16 if type(h) is float else np.complex64))
    x.flat[i] += h * unit
    return [*xs[:k], x, *xs[k + 1 :]]


def _like(part: Any, x: Any) -> Any:
    """A part of a vector as what is at its place: a number, or an array of its type."""
    if not isinstance(x, np.ndarray):
        return type(x)(part) if isinstance(x, np.floating) else float(part)
    return part.astype(np.result_type(x, np.float16))


def _element(x: Any, i: int | None) -> Any:
    return x if i is None else x.flat[i]


def _eps(xs: Sequence[Any]) -> float:
    """The rounding of the coarsest of some plain numbers."""
    dtypes = [np.asarray(x).dtype for x in xs]
    return max((float(np.finfo(d).eps) for d in dtypes if d.kind in "fc"), default=2.0**-52)
