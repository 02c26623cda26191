"""Automatic differentiation for the Python program you already have.

Programs are watched as they run (`core`), or read as source (`compiler`): two towers on one `base`,
which neither knows of the other. `watched`, `verbs` and `functions` stand on the first, `kernels`
on the second; in `broadcasting` they meet. CONTRIBUTING.md has the packages, lowest first; a
package's own page, the docstring of its `__init__`, names its files in reading order. This file has
the public names, and nothing else.
"""

import typing as _typing
from importlib import import_module as _import_module

from zyg import kernels as kernels
from zyg.base.bags import Tangent as Tangent
from zyg.base.config import config as config
from zyg.base.registry import adjoint as adjoint
from zyg.base.registry import nondifferentiable as nondifferentiable
from zyg.base.registry import scalar_rule as scalar_rule
from zyg.core.questions import is_traced as is_traced
from zyg.core.questions import nestlevel as nestlevel
from zyg.functions import composed as _composed  # noqa: F401 - the rules of NumPy's functions
from zyg.functions import primitives as _primitives  # noqa: F401
from zyg.verbs.gradients import gradient as gradient
from zyg.verbs.gradients import hook as hook
from zyg.verbs.gradients import primal as primal
from zyg.verbs.gradients import pullback as pullback
from zyg.verbs.gradients import stop_gradient as stop_gradient
from zyg.verbs.gradients import value_and_gradient as value_and_gradient
from zyg.watched import arrays as _arrays  # noqa: F401 - which class watches what
from zyg.watched import device as _device  # noqa: F401
from zyg.watched import numbers as _numbers  # noqa: F401

if _typing.TYPE_CHECKING:
    from zyg import autograd as autograd
    from zyg import cmath as cmath
    from zyg import distributed as distributed
    from zyg import jax as jax
    from zyg import joblib as joblib
    from zyg import math as math
    from zyg import mpi as mpi
    from zyg import numba as numba
    from zyg import numpy as numpy
    from zyg import optimize as optimize
    from zyg import ray as ray
    from zyg import scipy as scipy
    from zyg import statistics as statistics
    from zyg import threads as threads
    from zyg import torch as torch
    from zyg import trio as trio
    from zyg.adoption.verbs import adopt as adopt
    from zyg.adoption.verbs import adopted as adopted
    from zyg.broadcasting.verbs import broadcast as broadcast
    from zyg.broadcasting.verbs import elementwise as elementwise
    from zyg.broadcasting.verbs import fuse as fuse
    from zyg.broadcasting.verbs import partials as partials
    from zyg.compiler.front.parallel import prange as prange
    from zyg.compiling.verbs import compile as compile
    from zyg.interop.foreign import foreign as foreign
    from zyg.interop.vmap import vmap as vmap
    from zyg.optimize.files import load as load
    from zyg.optimize.files import save as save
    from zyg.sparsity.derivatives import sparse_hessian as sparse_hessian
    from zyg.sparsity.derivatives import sparse_jacobian as sparse_jacobian
    from zyg.tasks.executors import wrap_executor as wrap_executor
    from zyg.tools.explain import explain as explain
    from zyg.tools.testing import check_adjoint as check_adjoint
    from zyg.tools.testing import check_gradient as check_gradient
    from zyg.verbs.asynchronous import gradient_async as gradient_async
    from zyg.verbs.asynchronous import pullback_async as pullback_async
    from zyg.verbs.asynchronous import value_and_gradient_async as value_and_gradient_async
    from zyg.verbs.checkpoints import checkpoint as checkpoint
    from zyg.verbs.forwarddiff import forwarddiff as forwarddiff
    from zyg.verbs.grad import grad as grad
    from zyg.verbs.grad import value_and_grad as value_and_grad
    from zyg.verbs.implicit import fixed_point as fixed_point
    from zyg.verbs.implicit import implicit as implicit
    from zyg.verbs.jacobians import diaghessian as diaghessian
    from zyg.verbs.jacobians import hessian as hessian
    from zyg.verbs.jacobians import holomorphic as holomorphic
    from zyg.verbs.jacobians import hvp as hvp
    from zyg.verbs.jacobians import jacobian as jacobian
    from zyg.verbs.jacobians import wirtinger as wirtinger
    from zyg.verbs.pushforward import pushforward as pushforward
    from zyg.verbs.structures import dot as dot
    from zyg.verbs.structures import map as map
    from zyg.verbs.structures import norm as norm
    from zyg.verbs.vectors import flatten as flatten

__version__ = "0.2.0"


# What not every program needs is loaded when it is first asked for.
_LATE = {
    "adopt": "zyg.adoption.verbs",
    "adopted": "zyg.adoption.verbs",
    "broadcast": "zyg.broadcasting.verbs",
    "check_adjoint": "zyg.tools.testing",
    "check_gradient": "zyg.tools.testing",
    "checkpoint": "zyg.verbs.checkpoints",
    "compile": "zyg.compiling.verbs",
    "diaghessian": "zyg.verbs.jacobians",
    "dot": "zyg.verbs.structures",
    "elementwise": "zyg.broadcasting.verbs",
    "explain": "zyg.tools.explain",
    "fixed_point": "zyg.verbs.implicit",
    "flatten": "zyg.verbs.vectors",
    "foreign": "zyg.interop.foreign",
    "forwarddiff": "zyg.verbs.forwarddiff",
    "fuse": "zyg.broadcasting.verbs",
    "grad": "zyg.verbs.grad",
    "gradient_async": "zyg.verbs.asynchronous",
    "hessian": "zyg.verbs.jacobians",
    "holomorphic": "zyg.verbs.jacobians",
    "hvp": "zyg.verbs.jacobians",
    "implicit": "zyg.verbs.implicit",
    "jacobian": "zyg.verbs.jacobians",
    "load": "zyg.optimize.files",
    "map": "zyg.verbs.structures",
    "norm": "zyg.verbs.structures",
    "partials": "zyg.broadcasting.verbs",
    "prange": "zyg.compiler.front.parallel",
    "pullback_async": "zyg.verbs.asynchronous",
    "pushforward": "zyg.verbs.pushforward",
    "save": "zyg.optimize.files",
    "sparse_hessian": "zyg.sparsity.derivatives",
    "sparse_jacobian": "zyg.sparsity.derivatives",
    "value_and_grad": "zyg.verbs.grad",
    "value_and_gradient_async": "zyg.verbs.asynchronous",
    "vmap": "zyg.interop.vmap",
    "wirtinger": "zyg.verbs.jacobians",
    "wrap_executor": "zyg.tasks.executors",
}
# The same of modules, with the package that is needed for each.
_MODULES = {
    "autograd": "", "cmath": "", "distributed": "distributed", "jax": "jax", "joblib": "joblib",
    "math": "", "mpi": "mpi4py",
    "numba": "numba", "numpy": "", "optimize": "", "ray": "ray", "scipy": "scipy", "statistics": "",
    "threads": "", "torch": "torch", "trio": "trio",
}  # fmt: skip
_INSIDE = {"base", "core", "functions", "verbs", "watched"}
__all__ = sorted(
    name for name in {*globals(), *_LATE, "threads"} - _INSIDE if not name.startswith("_")
)

if not _typing.TYPE_CHECKING:  # a name that is not above is a mistake

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return _import_module(f"zyg.{name}")
        if name not in _LATE:
            from zyg.base.instead import no_attribute

            raise no_attribute(name)
        globals()[name] = found = getattr(_import_module(_LATE[name]), name)
        return found


def __dir__() -> list[str]:
    from importlib.util import find_spec

    modules = {name for name, package in _MODULES.items() if not package or find_spec(package)}
    special = {name for name in globals() if name.startswith("__")}
    return sorted({*__all__, *modules, *special})
