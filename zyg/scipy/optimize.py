"""scipy.optimize for watched values: ``from zyg.scipy import optimize``.

Roots and minima are differentiated by the implicit function theorem, with respect to whatever
their function holds that is watched: args, closures, attributes. The starting point carries no
derivative. How exact a derivative is depends on how exactly the solver has solved.

>>> import zyg
>>> from zyg.scipy import optimize
>>> def cube_root(c):
...     return optimize.brentq(lambda x: x**3 - c, 0.0, 10.0)
>>> round(zyg.gradient(cube_root, 8.0)[0], 6)
0.083333

"""

import scipy.optimize

from zyg.scipy import _optimize_rules as _optimize_rules
from zyg.scipy._namespace import drop_in

__getattr__, __dir__ = drop_in(scipy.optimize, globals())
