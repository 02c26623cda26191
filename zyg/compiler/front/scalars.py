"""Numbers of whole functions: Python's own and NumPy's, which differ in what they raise and make.

Python's numbers raise where they divide by zero, leave the domain of a function or grow beyond
all bounds; its ints have no end. All that is a check, on which the program stops. NumPy's numbers
never raise, and meet each other by NumPy's rules of promotion, in which Python's are weak.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from zyg.compiler.builder import row_of
from zyg.compiler.front.domains import demand_domain
from zyg.compiler.front.extents import ExtentBuilder
from zyg.compiler.front.mixed import EXACT, is_exact
from zyg.compiler.ir import Atom, Block, Type, Value, is_buffer, is_number, type_of
from zyg.compiler.kinds import DTYPES, dtype_of
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError
from zyg.functions.operations import BITWISE, COMPARISON, CONSTANT, LOGIC, ROUNDING, SELECT, TEST


class WholeNumber(Number):
    """A number, Python's or NumPy's (`python`); the atom of one of NumPy's may be known."""

    __slots__ = ("python",)
    builder: WholeBuilder

    def __init__(self, atom: Atom, builder: WholeBuilder, python: bool) -> None:
        self.atom, self.builder, self.python = atom, builder, python  # type: ignore[assignment]

    def record(self, name: str, *args: Any) -> Any:
        return self.builder.operate(name, *args)


class Roots(NamedTuple):
    """Which buffers a value may be: these, and all that were made up to some time."""

    which: frozenset[Value]
    until: int

    def meets(self, other: Roots, born: dict[Value, int]) -> bool:
        """Whether both may be the same buffer."""
        return (
            not self.which.isdisjoint(other.which)
            or any(born.get(x, 0) <= self.until for x in other.which)
            or any(born.get(x, 0) <= other.until for x in self.which)
            or min(self.until, other.until) >= 0
        )


class Undecided(NamedTuple):
    """A buffer, and a copy of it or itself, by the sizes of the call or by gaps in memory."""

    buffers: tuple[Value, Value]
    writes: tuple[int, ...]  # that there had been of each
    by_sizes: bool


class WholeBuilder(ExtentBuilder):
    """Records the numbers of a whole function; `writes` are the buffers that it wrote."""

    whole = True

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[Value] = []
        self.undecided: list[Undecided] = []
        self.views = 0  # made so far
        self.born: dict[Value, int] = {}  # when a buffer was made
        self.born_in: dict[Value, Block] = {}
        self.roots: dict[Value, Roots] = {}  # what a joined one may be

    def wrap(self, x: Atom) -> Any:
        return self.number(x, True)

    def number(self, x: Atom, python: bool) -> Any:
        """What the function sees of an atom."""
        if python is True and not isinstance(x, Value):
            return x
        return WholeNumber(x, self, python)

    def like(self, x: Atom, *sources: Any) -> Any:
        """A number that is one of the sources, all of which are of one kind."""
        if isinstance(x, Value) and is_buffer(x.type):
            roots = [self.roots_of(atom_of(s)) for s in sources]  # type: ignore[arg-type]
            until = len(self.born) if len(roots) == 1 else max(r.until for r in roots)
            self.roots[x] = Roots(frozenset().union(*(r.which for r in roots)), until)
        return self.number(x, whose(*sources))

    def unknown(self, x: Value, like: Any) -> Any:
        """A number of another program, or what a call gives; a buffer may be any."""
        if is_buffer(x.type):
            self.roots[x] = Roots(frozenset(), len(self.born))
        return self.number(x, whose(like))

    def view_number(self) -> int:
        """Which object a new view is; -1: one of those that the rounds of a loop make."""
        self.views += 1
        return -1 if self.repeats else self.views

    def undecide(self, x: Value, made: Value, by_sizes: bool) -> None:
        """It depends on the call whether these are one array in Python: none is to be written."""
        once = [not self.repeats or self.born_in.get(y) is self.block for y in (x, made)]
        writes = tuple(len(self.writes) if y else 0 for y in once)
        self.undecided.append(Undecided((x, made), writes, by_sizes))

    def wrote(self, buffer: Atom) -> None:
        """A buffer was written: expressions that are not computed yet must not read it any more."""
        self.writes.append(buffer)  # type: ignore[arg-type]

    def alloc(self, kind: Type, size: Atom, zeroed: bool = True) -> Value:
        made = super().alloc(kind, size, zeroed)
        self.born[made], self.born_in[made] = len(self.born) + 1, self.block
        return made

    def may_meet(self, a: Value, b: Value) -> bool:
        """Whether two buffers may be the same."""
        return self.roots_of(a).meets(self.roots_of(b), self.born)

    def is_given(self, buffer: Value) -> bool:
        """Whether a buffer may be an argument's, which may be another's, too."""
        roots = self.roots_of(buffer)
        return roots.until >= 0 or not roots.which <= self.born.keys()

    def roots_of(self, buffer: Value) -> Roots:
        return self.roots.get(buffer) or Roots(frozenset([buffer]), -1)

    # Operations

    def made_by(self, name: str, *args: Any) -> str:
        """The type of the elements that a ufunc gives."""
        kind = promoted(*args)
        row = row_of(name)
        if row.types in (COMPARISON, TEST, LOGIC):
            return "bool"
        if kind == "bool":
            of_bools = row.bools not in ("", "bytes")
            return "bool" if of_bools else "int" if takes_ints(name) else "float"
        return kind if kind != "int" or takes_ints(name) else "float"

    def operate(self, name: str, *args: Any) -> Any:
        """What an operator of Python's gives, and makes sure that Python would not raise."""
        types = row_of(name).types
        if types in (SELECT, CONSTANT, LOGIC):
            made = self.op(name, *map(atom_of, args))
            if name == "logical_not":  # what `not` gives is Python's
                return self.number(made, True)
            return self.like(made, *(args[1:] if name == "select" else args))
        python = whose(*args)
        if not python:
            return self.ufunc(name, *args)
        kind = self.type_in_python(name, {type_of(atom_of(x)) for x in args})
        atoms = [self.to(kind, atom_of(x)) for x in args]
        if types == COMPARISON:
            if kind == "float":
                self._demand_order(*zip(args, atoms, strict=True))
            return self.number(self.op(name, *atoms), True)
        if name == "divide":
            self._demand_exact(args)
        return self.number(_PYTHONS.get(name, _usual)(self, name, *atoms), True)

    def _demand_exact(self, args: Any) -> None:
        """Stop where an int that is divided by another has more digits than a float."""
        if all(type_of(atom_of(x)) in ("int", "bool") for x in args):
            for x in args:
                if not is_exact(self, x):
                    size = self.op("absolute", atom_of(x))
                    self.demand("an int beyond 53 bits", "less_equal", size, 2**EXACT)

    def _demand_order(self, *pairs: tuple[Any, Atom]) -> None:
        """Stop where a comparison of an int and a float needs more digits than a float has."""
        (_, a), (_, b) = pairs
        for x, y in pairs:
            if not is_exact(self, x):
                size = self.op("less", self.op("absolute", y), 2.0**EXACT)
                self.demand("an int beyond 53 bits", "logical_or", self.op("not_equal", a, b), size)

    def type_in_python(self, name: str, kinds: set[str]) -> str:
        """The type in which Python computes with numbers of these types."""
        bitwise = row_of(name).types == BITWISE
        if kinds == {"bool"} and bitwise and name != "invert":
            return "bool"
        if "float" in kinds or "float32" in kinds or name == "divide":
            if bitwise:
                raise TypeError(f"{name} of a float")
            return "float"
        return "int"

    def ufunc(self, name: str, *args: Any) -> Any:
        """What a function of NumPy's gives for numbers."""
        return self.number(self.elementwise(name, *args), False)

    def elementwise(self, name: str, *args: Any) -> Atom:
        """The same, as an atom."""
        atoms = [atom_of(x) for x in args]
        if name == "ldexp":
            if type_of(atoms[1]) not in ("int", "bool"):
                raise TypeError("np.ldexp by what is no int")
            if type_of(atoms[0]) == "int" and whose(args[0]):
                raise TypeError("np.ldexp of an int of Python's is a number of 16 bits")
            if whose(args[1]):
                power = self.to("int", atoms[1])
                self.demand("an exponent beyond 32 bits", "less", power, 2**31)
                self.demand("an exponent beyond 32 bits", "greater_equal", power, -(2**31))
            return self.op(name, *atoms)
        if any(type(x) is int and not -(2**63) <= x < 2**63 for x in atoms) and (
            {"bool", "float32"}.intersection(map(type_of, atoms))
        ):
            raise TypeError("an int beyond 64 bits meets a number of few")
        kind, row = promoted(*args), row_of(name)
        if kind == "bool" and row.bools == "refused":
            raise TypeError(f"NumPy has no {name} of bools")
        if kind == "bool" and row.bools not in ("", "bytes"):
            name, atoms = row.bools, atoms * (2 if name == "absolute" else 1)
        elif kind == "bool" and (row.bools == "bytes" or not takes_ints(name)):
            refuse_bytes(f"np.{name}")
        elif kind == "int" and not takes_ints(name):
            kind = "float"
        if row_of(name).types == LOGIC:
            kind = "bool"
        if kind not in ("bool", "int") and row.types == BITWISE:
            raise TypeError(f"{name} of a float")
        atoms = [self.to(kind, x) for x in atoms]
        if kind == "int" and name in ("floor_divide", "remainder", "fmod"):
            self.divisor(*atoms)
        if kind == "int" and name == "power":
            return int_power(self, atoms[0], atoms[1])
        if kind == "int" and row.types == ROUNDING:
            return self.flat(self.op(name, *atoms))
        return self.op(name, *atoms)

    def flat(self, x: Atom) -> Atom:
        """An int through which no derivative flows; no loop has one by its index."""
        return x if x in self.ranges or not isinstance(x, Value) else self.op("constant", x)

    def bear(self, outs: Sequence[Value]) -> None:
        """Take the buffers among what a call gives for new ones."""
        for out in outs:
            if is_buffer(out.type):
                self.born[out] = len(self.born) + 1

    def slopes_hold(self, condition: Atom) -> None:
        """Where a condition is false, derivatives are those of zyg's rules, in Python."""
        self.check(condition, "derivatives at a special point", True)

    def divisor(self, a: Atom, b: Atom) -> None:
        """Stop where ints cannot be divided."""
        self.demand("a division by zero", "not_equal", b, 0)
        if self.bits_of(a) > 63:
            self.demand("an int beyond 64 bits", "greater", a, -(2**63))

    def in_range(self, name: str, *atoms: Atom) -> Atom:
        """An operation of Python's ints, which must not leave those of 64 bits."""
        made = self.op(name, *atoms)
        bits: Any = row_of(name).bits
        if isinstance(made, Value) and bits(*map(self.bits_of, atoms)) > 63:
            over = self.op(f"{name}_overflows", *atoms)
            self.check(self.op("logical_not", over), "an int beyond 64 bits")
        return made


def refuse_bytes(what: str) -> NoReturn:
    """Refuse what has numbers of a size of their own where its operands are bools."""
    raise KernelError(
        f"{what} of bools is a number of 8 or 16 bits.",
        "a compiled function has numbers of 64 and 32 bits.", "use floats.",
    )  # fmt: skip


def whose(*args: Any) -> bool:
    """Whose numbers these are together: True for Python's, False for NumPy's."""
    return all(getattr(x, "python", True) for x in args)


_SQUARINGS = 64  # exponents up to this are written as products
_NUMPYS = {"complex": 4, "float": 3, "float32": 2, "int": 1, "bool": 0}
_WEAK = {"complex": 3, "float": 2, "int": 1, "bool": 0}


def promoted(*args: Any) -> str:
    """The type in which NumPy computes with numbers and arrays; `args` have `python`, `atom`."""
    strong = [type_in(x) for x in args if not whose(x)]
    weak = [type_in(x) for x in args if whose(x)]
    if not strong:
        return max(weak, key=_NUMPYS.__getitem__)
    met = {dtype: kind for kind, dtype in DTYPES.items()}[
        np.result_type(*[DTYPES[kind] for kind in strong])
    ]
    weakest = max(weak, key=_NUMPYS.__getitem__) if weak else "bool"
    if _WEAK[weakest] <= _WEAK.get(met, 2):
        return met
    if weakest == "complex" and met == "float32":
        raise TypeError("complex numbers of 32 bits are not compiled")
    return weakest


def type_in(x: Any) -> str:
    """The type of a number, or of the elements of an array."""
    if isinstance(x, complex):
        return "complex"
    return x.element if hasattr(x, "element") else type_of(atom_of(x))


def takes_ints(name: str) -> bool:
    """Whether NumPy computes this in ints where it is given ints."""
    row = row_of(name)
    return bool(row.bools) or row.types in (ROUNDING, TEST, COMPARISON, LOGIC, SELECT)


def _usual(to: WholeBuilder, name: str, *atoms: Atom) -> Atom:
    if type_of(atoms[0]) == "int" and name in ("add", "subtract", "multiply"):
        return to.in_range(name, *atoms)
    return to.op(name, *atoms)


def _divide(to: WholeBuilder, name: str, x: Atom, y: Atom) -> Atom:
    to.demand("a division by zero", "not_equal", y, 0.0)
    return to.op("divide", x, y)


def _floor(to: WholeBuilder, name: str, x: Atom, y: Atom) -> Atom:
    if type_of(x) == "int":
        to.divisor(x, y)
    else:
        to.demand("a division by zero", "not_equal", y, 0.0)
    return to.op(name, x, y)


def _negative(to: WholeBuilder, name: str, x: Atom) -> Atom:
    if type_of(x) == "int" and to.bits_of(x) > 63:
        to.demand("an int beyond 64 bits", "greater", x, -(2**63))
    return to.op(name, x)


def _power(to: WholeBuilder, name: str, x: Atom, p: Atom) -> Atom:
    if type_of(x) == "int":
        if isinstance(p, Value) or p >= 0:
            return int_power(to, x, p, checked=True)
        x, p = to.to("float", x), float(p)
    if is_number(p) and p in (2.0, 3.0):
        p = int(p)
    y = to.op("power", x, p)
    demand_domain(to, "power", (x, to.to("float", p)), y)
    return y


def int_power(to: WholeBuilder, x: Atom, p: Atom, checked: bool = False) -> Atom:
    """A power of ints, by squaring where the exponent is known; stop where that is negative."""
    times = to.in_range if checked else to.op
    to.demand("a negative power of an int", "greater_equal", p, 0)
    if isinstance(p, Value) or (p > _SQUARINGS and isinstance(x, Value)):
        return times("int_power", x, p)
    y: Atom | None = None
    for digit in f"{int(p):b}":
        y = times("multiply", y, y) if y is not None else None
        if digit == "1":
            y = x if y is None else times("multiply", y, x)
    return 1 if y is None else y


_PYTHONS: dict[str, Any] = {
    "divide": _divide, "floor_divide": _floor, "remainder": _floor, "negative": _negative,
    "absolute": _negative, "power": _power,
}  # fmt: skip


def demand_place(to: WholeBuilder, x: Atom, element: str) -> None:
    """Stop where a number of Python's has no place in a narrow type."""
    limits, why = np.iinfo(dtype_of(element)), f"a number that has no place in {element}"
    to.demand(why, "greater_equal", x, int(limits.min))
    to.demand(why, "less_equal", x, min(int(limits.max), 2**63 - 1))


def wrapped(to: WholeBuilder, x: Atom, element: str) -> Atom:
    """An int as one of a narrow type, in which NumPy wraps it around; its slope is that of `x`."""
    dtype = dtype_of(element)
    if dtype.itemsize == 8:
        demand_place(to, x, element)
        return x
    low, mask = int(np.iinfo(dtype).min), (1 << 8 * dtype.itemsize) - 1
    inside = to.op("add", to.op("bitwise_and", to.op("subtract", x, low), mask), low)
    return to.op("add", x, to.op("constant", to.op("subtract", inside, x)))
