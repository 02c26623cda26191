"""Parameters in any structure (dicts, objects, closures), and what fits them.

`minimize`, `least_squares` and `root` are SciPy's, with zyg's derivatives. `sgd`, `adam` and the
others go step by step, and have the interface of optax; `fit` is a loop of such steps.

>>> import zyg
>>> def loss(p):
...     return (p["a"] - 3.0) ** 2 + (p["b"] + 1.0) ** 2
>>> found = zyg.optimize.minimize(loss, {"a": 0.0, "b": 0.0})
>>> round(found.x["a"], 4), round(found.x["b"], 4)
(3.0, -1.0)

progress                        a bar, drawn by rich
files                           `zyg.save`, `zyg.load`
forms                           parameters as a few vectors, and the form they had
solvers                         `minimize`, `least_squares`, `root`
schedules                       `cosine`, `exponential`, `piecewise`, `warmup`
transforms                      what optimizers are made of
optimizers                      `sgd`, `adam`, `adamw`, `rmsprop`, `lion`, `clip`, `chain`
fitting                         `fit`
"""

from zyg.optimize.fitting import History as History
from zyg.optimize.fitting import fit as fit
from zyg.optimize.optimizers import Optimizer as Optimizer
from zyg.optimize.optimizers import State as State
from zyg.optimize.optimizers import adam as adam
from zyg.optimize.optimizers import adamw as adamw
from zyg.optimize.optimizers import apply_updates as apply_updates
from zyg.optimize.optimizers import chain as chain
from zyg.optimize.optimizers import clip as clip
from zyg.optimize.optimizers import lion as lion
from zyg.optimize.optimizers import rmsprop as rmsprop
from zyg.optimize.optimizers import sgd as sgd
from zyg.optimize.schedules import cosine as cosine
from zyg.optimize.schedules import exponential as exponential
from zyg.optimize.schedules import piecewise as piecewise
from zyg.optimize.schedules import warmup as warmup
from zyg.optimize.solvers import Solution as Solution
from zyg.optimize.solvers import least_squares as least_squares
from zyg.optimize.solvers import minimize as minimize
from zyg.optimize.solvers import root as root
