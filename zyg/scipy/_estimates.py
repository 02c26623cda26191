"""What solvers say of their results: to be looked at, and not to be computed with."""

import operator

import numpy as np
from scipy.sparse.linalg import LinearOperator

from zyg.errors import MissingRuleError
from zyg.functions.kit import strip


class Estimate:
    """A number or an array, `value`, that the solver of this name gives along with its solution."""

    def __init__(self, value, name, instead):
        self.value, self.name, self._instead = value, name, instead

    def refuse(self, *others, **options):
        """The error of what computes with it."""
        raise MissingRuleError(
            f"{self.name} gives norms and estimates besides, which carry no derivative here.",
            "they are of the steps of an iteration; only the result has a rule.",
            f"{self._instead}; .value is the plain one.",
        )

    def __repr__(self):
        return repr(self.value)

    def __format__(self, spec):
        return format(self.value, spec)

    def __bool__(self):
        return bool(self.value)

    def __hash__(self):
        return hash(self.value)


def _comparing(compare):
    """A comparison with a number, or with another estimate."""

    def compared(self, other):
        return compare(self.value, other.value if isinstance(other, Estimate) else strip(other))

    return compared


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Estimate, f"__{_name}__", _comparing(getattr(operator, _name)))
for _name in (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "rpow", "neg", "abs",
    "matmul", "rmatmul", "float", "complex", "array", "getitem", "len", "iter",
):  # fmt: skip
    setattr(Estimate, f"__{_name}__", Estimate.refuse)


def as_estimates(part, name, instead):
    """A part of a result, in which arrays of real numbers, and operators, are estimates."""
    if isinstance(part, dict):
        for key, value in part.items():
            part[key] = as_estimates(value, name, instead)
        return part
    if type(part) in (list, tuple):
        return type(part)(as_estimates(value, name, instead) for value in part)
    numbers = isinstance(part, np.ndarray) and part.ndim and part.dtype.kind == "f"
    moves = numbers or isinstance(part, LinearOperator)
    return Estimate(part, name, instead) if moves else part
