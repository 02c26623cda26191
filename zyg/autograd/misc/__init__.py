"""autograd's `misc`: structures as vectors, optimizers, fixed points.

tracers                     functions whose constant parts autograd computes once
flatten                     structures as vectors
optimizers                  adam, rmsprop, sgd
fixed_points                fixed points
"""

from __future__ import annotations

from zyg.autograd._absent import names_from
from zyg.autograd.misc import fixed_points as fixed_points
from zyg.autograd.misc import optimizers as optimizers
from zyg.autograd.misc.flatten import flatten as flatten
from zyg.autograd.misc.tracers import const_graph as const_graph

__getattr__ = names_from()
