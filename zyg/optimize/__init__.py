"""Minima and roots of what has parameters in any structure: dicts, objects, closures.

`minimize`, `least_squares` and `root` are SciPy's, with zyg's derivatives.

>>> import zyg
>>> def loss(p):
...     return (p["a"] - 3.0) ** 2 + (p["b"] + 1.0) ** 2
>>> found = zyg.optimize.minimize(loss, {"a": 0.0, "b": 0.0})
>>> round(found.x["a"], 4), round(found.x["b"], 4)
(3.0, -1.0)

progress                        a bar, drawn by rich
solvers                         `minimize`, `least_squares`, `root`
"""

from zyg.optimize.solvers import Solution as Solution
from zyg.optimize.solvers import least_squares as least_squares
from zyg.optimize.solvers import minimize as minimize
from zyg.optimize.solvers import root as root
