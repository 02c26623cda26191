"""A derivative that is None where a difference is not zero: by every class that holds numbers.

A holder of Python's or NumPy's is made of three numbers, and each way in which its class gives
them out is a reading. The numbers are in an argument, alone or in a list, an object, a closure, a
partial, or a method; or watched ones are put in by the function. What comes back, in reverse and in
forward mode, is the same as by differences, or the holder is refused by an error of zyg's.
"""

import collections
import functools
import itertools
import types
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np

import zyg
from tests.searches._holders import HOLDERS
from tests.searches.search import Search, main
from zyg.errors import ZygError

VALUES = [1.3, 0.7, 2.1]
WEIGHTS = [1, 2, 4]
STEP = 1e-6

# What is around a program, or passes through by the interface's own word; numbers in it are not
# those of arguments.
AROUND = {"enum", "ContextVar", "bytes", "text", "Template", "dict keys", "dict_keys"}


def loss(numbers):
    """In which each number counts by a slope of its own."""
    total = 0
    for w, x in zip(WEIGHTS, numbers, strict=False):
        total = total + w * x * x
    return total


# Where a holder is: what is given to the function, and how it is reached from there.


class Keeper:
    def __init__(self, x):
        self.x = x

    def read(self):
        return self.x


PLACES = {
    "argument": (lambda h: h, lambda h: h),
    "list": (lambda h: [h, "x"], lambda c: c[0]),
    "tuple": (lambda h: (1, (h,)), lambda c: c[1][0]),
    "dict": (lambda h: {"h": h}, lambda c: c["h"]),
    "object": (Keeper, lambda c: c.x),
    "method": (lambda h: Keeper(h).read, lambda c: c()),
    "closure": (lambda h: lambda: h, lambda c: c()),
    "partial": (lambda h: functools.partial(lambda h: h, h), lambda c: c()),
    "twice": (lambda h: [h, h], lambda c: c[1]),
    "inside": None,
    "from an array": None,
    "stored": None,
}  # fmt: skip

CASES = [
    (mode, place, name, k)
    for name, (_, reads) in HOLDERS.items()
    for k in range(len(reads))
    for place in PLACES
    for mode in ("reverse", "forward")
]


def _differences(f):
    found = []
    for k in range(3):
        sides = []
        for sign in (1, -1):
            v = [*VALUES]
            v[k] += sign * STEP
            sides.append(float(f(v)))
        found.append((sides[0] - sides[1]) / (2 * STEP))
    return found


def _numbers_in(x):
    """All numbers in a gradient, in order; a thing met twice counts once."""
    seen, found, waiting = set(), [], [x]
    while waiting:
        x = waiting.pop(0)
        if x is None or isinstance(x, (str, bool)):
            continue
        if isinstance(x, complex):
            found += [x.real, x.imag]
        elif isinstance(x, (np.ndarray, np.generic)) and np.asarray(x).dtype.kind in "fc":
            if id(x) not in seen:
                flat = np.asarray(np.ma.getdata(x)).ravel()
                found += [*map(float, flat.real)]
        elif isinstance(x, (int, float, Fraction, Decimal, np.number)):
            found.append(float(x))
        elif id(x) not in seen:
            seen.add(id(x))
            if isinstance(x, (dict, types.MappingProxyType, collections.UserDict)):
                waiting = [*x.values(), *waiting]
            elif isinstance(x, types.CellType):
                waiting = [x.cell_contents, *waiting]
            elif isinstance(x, (list, tuple, collections.deque, np.ndarray)):
                waiting = [*x, *waiting]
            else:
                waiting = [*vars(x).values(), *waiting]
    return found


def case(number):
    return CASES[number]


def check(one):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _check(one)


def _check(one):
    mode, place, name, k = one
    make, reads = HOLDERS[name]
    read = reads[k]

    def value_of(v):
        return loss([x if np.ndim(x) == 0 else x[()] for x in _each(read(make(v)))])

    differences = _differences(value_of)
    if name in AROUND and (PLACES[place] or name == "text"):
        return "around"
    try:
        found, value = _watched(mode, place, make, read)
    except ZygError as error:
        return f"refused: [{error.tag}]"
    except Exception as error:
        if place in ("inside", "from an array", "stored"):
            return f"Python refuses: {type(error).__name__}"
        raise
    assert np.isclose(value, float(value_of(VALUES)), rtol=1e-6), f"{one}: value {value}"
    wanted = sorted(d for d in differences if abs(d) > 1e-6)
    got = sorted(g for g in found if abs(g) > 1e-9)
    coarse = "float32" in name or "float" in name.split()[-1]
    close = len(wanted) == len(got) and np.allclose(wanted, got, rtol=0.3 if coarse else 1e-4)
    assert close, f"{one}: gradient {got}, by differences {wanted}"
    return "same" if wanted else "no dependence"


def _each(numbers):
    return [x.reshape(-1)[0] if np.ndim(x) else x for x in itertools.islice(iter(numbers), 3)]


def _watched(mode, place, make, read):
    if PLACES[place]:
        put, take = PLACES[place]
        value, bar = _derivative(mode, lambda c: loss(_each(read(take(c)))), put(make(VALUES)))
        found = _numbers_in(bar)
        return (found[: len(found) // 2] if _is_twice(place, found) else found), float(value)
    if place == "stored":
        held = [None]

        def f(v):
            held[0] = make(v)
            return loss(_each(read(held[0])))
    else:

        def f(v):
            return loss(_each(read(make([v[0], v[1], v[2]]))))

    start = np.array(VALUES) if place == "from an array" else [*VALUES]
    value, bar = _derivative(mode, f, start)
    return _numbers_in(bar), float(value)


def _derivative(mode, f, x):
    if mode == "reverse":
        value, (bar,) = zyg.value_and_gradient(f, x)
        return value, bar
    values = []
    (bar,) = zyg.jacobian(lambda x: values.append(y := f(x)) or y, x, mode="forward")
    return zyg.primal(values[0]), bar


def _is_twice(place, found):
    """Whether numbers that are two places of one thing are listed by both."""
    half = len(found) // 2
    return place == "twice" and found[:half] == found[half:]


SEARCH = Search(case, check, count=len(CASES), gate=len(CASES))

if __name__ == "__main__":
    main(SEARCH, __doc__)
