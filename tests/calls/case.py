"""One case: a program with leaves, what NumPy gives for it, its derivatives by the tracer."""

import copy
import functools
import tempfile
from pathlib import Path

import numpy as np

import zyg
from zyg.errors import ZygError

from . import compare
from .compare import Wrong, quietly
from .programs import HEAD, moves

DROP_INS = HEAD.replace("import numpy as np", "import zyg.numpy as np").replace(
    "import cmath\nimport math", "import zyg.cmath as cmath\nimport zyg.math as math"
)
FOLDER = tempfile.TemporaryDirectory()


@functools.lru_cache(maxsize=256)
def module_of(program, head=HEAD):
    return program.module(Path(FOLDER.name), head)


@functools.lru_cache(maxsize=256)
def compiled_of(program):
    return zyg.compile(module_of(program).f)


class Case:
    """A program with leaves; `fixed` are those that no derivative is taken by."""

    def __init__(self, name, program, leaves, fixed=()):
        self.name, self.program, self.leaves = name, program, leaves
        self.places = [k for k, x in enumerate(leaves) if moves(x) and k not in fixed]
        self.plain = module_of(program).f
        # Functions of Python's own take no watched numbers, and those that make arrays objects.
        words = "math.", "float(", "np.array(", "np.asarray("
        own = any(word in program.text for word in words)
        self.watched = module_of(program, DROP_INS).f if own else self.plain

    def args(self):
        return copy.deepcopy(self.leaves) if self.has_lists else [_copied(x) for x in self.leaves]

    has_lists = False

    @functools.cached_property
    def expected(self):
        """What plain Python and NumPy give: ("gave", y, facts) or ("raised", type)."""
        return outcome(self.plain, self.args())

    @functools.cached_property
    def at(self):
        return [self.leaves[k] for k in self.places]

    @functools.cached_property
    def tangents(self):
        rng = np.random.default_rng(len(self.at))
        return [compare.drawn(x, rng) for x in self.at]

    def by_places(self, f):
        """A function of the moving leaves alone."""
        if len(self.places) == len(self.leaves):
            return f

        def of_places(*xs):
            args = self.args()
            for k, x in zip(self.places, xs, strict=True):
                args[k] = x
            return f(*args)

        return of_places

    @property
    def differentiable(self):
        if self.expected[0] == "raised" or not self.places:
            return False
        return any(map(moves, compare.leaves(self.expected[1])))

    @functools.cached_property
    def double(self):
        """The same of 64 bits."""
        fixed = {k for k in range(len(self.leaves)) if k not in self.places}
        return Case(self.name, self.program, [_double(x) for x in self.leaves], fixed)

    @functools.cached_property
    def near(self):
        """How near to NumPy's a value is that is added in another order: where the program rounds
        to 32 bits on its way to results of 64, to those."""
        if not compare.is_single(self.leaves) or self.double.expected[0] == "raised":
            return 1e-11
        wide, single = self.double.expected[1], self.expected[1]
        return 2e-6 if compare.difference(wide, single, 1e-11) else 1e-11

    @functools.cached_property
    def slope(self):
        """The gradient of the tracer; an exception where it has none."""
        return tried(reverse_of, self, self.watched)

    @functools.cached_property
    def pushed(self):
        return tried(forward_of, self, self.watched)

    @functools.cached_property
    def curved(self):
        return tried(second_of, self, self.watched)


def _copied(x):
    """A copy in the same layout, writable or not as it was."""
    if not isinstance(x, np.ndarray):
        return x
    base = x if x.base is None or not isinstance(x.base, np.ndarray) else x.base
    if base is x:
        made = np.array(x, order="K")
    else:
        made = copy.deepcopy(base)
        start = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        made = np.ndarray(x.shape, x.dtype, made, start, x.strides) if (
            made.strides == base.strides and made.flags.forc and start >= 0) else np.array(x, order="K")  # fmt: skip  # noqa: E501
    if not x.flags.writeable:
        made.flags.writeable = False
    return made


def _double(x):
    wide = {"f": np.float64, "c": np.complex128}.get(getattr(getattr(x, "dtype", None), "kind", ""))
    if wide is None:
        return x
    return x.astype(wide) if isinstance(x, np.ndarray) else wide(x)


def outcome(f, args):
    before = [_copied(x) for x in args]
    try:
        y = quietly(f, *args)
    except RecursionError:
        raise
    except Exception as error:
        return "raised", type(error), error
    return "gave", y, quietly(compare.facts, y, args, before)


def tried(f, *args):
    try:
        return quietly(f, *args)
    except Exception as error:
        return error


# Derivatives, of any function that is as the case's


def reverse_of(case, f, back_of=zyg.pullback, by=None):
    """The cotangents of the moving leaves, of weights of the result."""
    g, y = case.by_places(f), case.expected[1]
    w = compare.weights(y) if by is None else by
    if moves(y):
        _, back = back_of(g, *case.at)
        return back(compare.like(w[0], y), zeros=True)
    _, back = back_of(lambda *xs: compare.weighed(g(*xs), w), *case.at)
    return back(1.0, zeros=True)


def forward_of(case, f, along=None):
    g, y = case.by_places(f), case.expected[1]
    along = case.tangents if along is None else along
    of = g if moves(y) else lambda *xs: compare.weighed(g(*xs))
    return (zyg.pushforward(of, tuple(case.at), tuple(along))[1],)


def gradient_of(case, f):
    g = case.by_places(f)
    return lambda *xs: zyg.gradient(lambda *us: compare.weighed(g(*us)), *xs, zeros=True)


def second_of(case, f):
    return zyg.pushforward(gradient_of(case, f), tuple(case.at), tuple(case.tangents))[1]


def refused(error):
    return isinstance(error, (ZygError, NotImplementedError))


def given(found, what):
    """The tracer's derivative; a word where it has none."""
    if isinstance(found, Exception):
        if refused(found):
            return None, "refused by the tracer"
        if isinstance(found, (np.linalg.LinAlgError, ValueError, ZeroDivisionError)):
            return None, f"the tracer raised {type(found).__name__}"
        raise Wrong(f"{what}: {type(found).__name__}: {found}") from found
    return found, ""
