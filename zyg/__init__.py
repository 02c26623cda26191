"""Automatic differentiation for the Python program you already have.

General layout, each floor importing only from those above it in this list:

    errors _protocol                every exception, and the one message template; device arrays
    scalar_rules _registry _containers _config    what derivatives are; what values are made of
    _structure                      values <-> their numbers and arrays
    _strand                         watched values and the tape they are noted on
    _memory                         views, and who owns what
    _reverse                        the reverse pass over a tape
    _entries _crossing              what an entry notes; values that go from task to task
    _schedule                       the reverse pass of concurrent programs
    _dual                           duals: tangents instead of entries
    _elementwise                    functions with partial derivatives
    _bind                           the one interception point
    _writes                         reading and writing parts of arrays
    _attributes _traced             what watched values answer, and what they refuse
    _numbers _arrays                watched numbers, watched arrays
    gradients rules/ _device        the verbs of reverse mode; NumPy's adjoints by domain; watched
                                    device arrays
    forward _tokens threads trio asynchronous    forward mode; what depends on what; tasks
    jacobians checkpoints _samples  verbs made of those; what the checks are made of
    _patterns _shipping             which elements depend on which; calls in other processes
    implicit sparse executors _timeline   equations; sparse derivatives; pools; pictures of tasks
    numpy math scipy testing explain distributed    drop-in namespaces; checks; explanations; Dask
    kernels/                        scalar functions, read as source and compiled
    _by_element _kernel_calls broadcasting    a scalar function over arrays
"""

import typing as _typing

from zyg import _arrays as _arrays
from zyg import _device as _device
from zyg import _numbers as _numbers
from zyg import rules as rules
from zyg import threads as threads
from zyg._config import config as config
from zyg._registry import adjoint as adjoint
from zyg._registry import nondifferentiable as nondifferentiable
from zyg._registry import scalar_rule as scalar_rule
from zyg._strand import is_traced as is_traced
from zyg._strand import nestlevel as nestlevel
from zyg._structure import Tangent as Tangent
from zyg.asynchronous import gradient_async as gradient_async
from zyg.asynchronous import pullback_async as pullback_async
from zyg.asynchronous import value_and_gradient_async as value_and_gradient_async
from zyg.checkpoints import checkpoint as checkpoint
from zyg.executors import wrap_executor as wrap_executor
from zyg.explain import explain as explain
from zyg.forward import pushforward as pushforward
from zyg.gradients import gradient as gradient
from zyg.gradients import hook as hook
from zyg.gradients import primal as primal
from zyg.gradients import pullback as pullback
from zyg.gradients import stop_gradient as stop_gradient
from zyg.gradients import value_and_gradient as value_and_gradient
from zyg.implicit import fixed_point as fixed_point
from zyg.implicit import implicit as implicit
from zyg.jacobians import diaghessian as diaghessian
from zyg.jacobians import forwarddiff as forwarddiff
from zyg.jacobians import hessian as hessian
from zyg.jacobians import holomorphic as holomorphic
from zyg.jacobians import hvp as hvp
from zyg.jacobians import jacobian as jacobian
from zyg.jacobians import wirtinger as wirtinger
from zyg.sparse import sparse_hessian as sparse_hessian
from zyg.sparse import sparse_jacobian as sparse_jacobian
from zyg.testing import check_adjoint as check_adjoint
from zyg.testing import check_gradient as check_gradient

if _typing.TYPE_CHECKING:
    from zyg.broadcasting import broadcast as broadcast
    from zyg.broadcasting import elementwise as elementwise
    from zyg.broadcasting import fuse as fuse
    from zyg.broadcasting import partials as partials

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """What not every program needs is loaded when it is first asked for."""
    if name in ("broadcast", "elementwise", "fuse", "partials"):
        from zyg import broadcasting

        globals()[name] = found = getattr(broadcasting, name)
        return found
    raise AttributeError(f"module 'zyg' has no attribute {name!r}")
