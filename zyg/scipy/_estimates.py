"""What solvers say of their results: to be looked at, and not to be computed with."""

import operator
from numbers import Integral, Real

import numpy as np
from scipy.sparse.linalg import LinearOperator

from zyg.errors import MissingRuleError
from zyg.functions.kit import Unfollowed, nestlevel, strip


class Estimate(Unfollowed):
    """A number or an array, `value`, that the solver of this name gives along with its solution.

    Where no gradient runs around a line any more, it is the plain one.
    """

    def __init__(self, value, name, instead):
        self.value, self.name, self._instead = value, name, instead

    def refusal(self):
        return MissingRuleError(
            f"{self.name} gives norms and estimates besides, which carry no derivative here.",
            "they are of the steps of an iteration; only the result has a rule.",
            f"{self._instead}; zyg.primal(y) is the plain one.",
        )

    def left(self):
        return self if nestlevel() else self.value

    def __repr__(self):
        return repr(self.value)

    def __str__(self):
        return str(self.value)

    def __format__(self, spec):
        return format(self.value, spec)

    def __bool__(self):
        return bool(self.value)

    def __int__(self):
        return int(self.value)

    def __hash__(self):
        return hash(self.value)

    def __array__(self, *args, **options):
        return np.array(self._used(), *args, **options)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        looked_at = name in ("shape", "ndim", "size", "dtype")
        return getattr(self.value if looked_at else self._used(), name)

    def _used(self):
        """The plain one, where no derivative can be lost."""
        if nestlevel():
            raise self.refusal()
        return self.value


def _plain(x):
    return x.value if isinstance(x, Estimate) else strip(x)


def _comparing(compare):
    """A comparison with a number, or with another estimate."""
    return lambda self, other: compare(self.value, _plain(other))


def _computing(method):
    """A method of Python's, of the plain one."""
    return lambda self, *others: getattr(self._used(), method)(*map(_plain, others))


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Estimate, f"__{_name}__", _comparing(getattr(operator, _name)))
for _name in (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv",
    "mod", "rmod", "pow", "rpow", "neg", "pos", "abs", "round", "matmul", "rmatmul", "float",
    "getitem", "len", "iter",
):  # fmt: skip
    setattr(Estimate, f"__{_name}__", _computing(f"__{_name}__"))


def as_estimates(part, name, instead):
    """A part of a result, in which real numbers and arrays of them, and operators, are estimates.

    Whole numbers count steps.
    """
    if isinstance(part, dict):
        for key, value in part.items():
            part[key] = as_estimates(value, name, instead)
        return part
    if type(part) in (list, tuple):
        return type(part)(as_estimates(value, name, instead) for value in part)
    array = isinstance(part, np.ndarray) and part.dtype.kind == "f"
    number = isinstance(part, Real) and not isinstance(part, Integral)
    moves = array or number or isinstance(part, LinearOperator)
    return Estimate(part, name, instead) if moves else part
