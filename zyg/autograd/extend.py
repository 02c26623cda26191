"""What autograd is extended with: primitives and their derivatives, vector spaces, boxes."""

from __future__ import annotations

from zyg.autograd._absent import names_from
from zyg.autograd.core import VSpace as VSpace
from zyg.autograd.core import def_linear as def_linear
from zyg.autograd.core import defjvp as defjvp
from zyg.autograd.core import defjvp_argnum as defjvp_argnum
from zyg.autograd.core import defjvp_argnums as defjvp_argnums
from zyg.autograd.core import defvjp as defvjp
from zyg.autograd.core import defvjp_argnum as defvjp_argnum
from zyg.autograd.core import defvjp_argnums as defvjp_argnums
from zyg.autograd.core import vspace as vspace
from zyg.autograd.tracer import Box as Box
from zyg.autograd.tracer import notrace_primitive as notrace_primitive
from zyg.autograd.tracer import primitive as primitive
from zyg.autograd.tracer import register_notrace as register_notrace

__getattr__ = names_from()
