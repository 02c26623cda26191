"""The names that other libraries have for it, and the line to write here."""

from __future__ import annotations

import dis
from types import FrameType

_TAPE = "nothing is declared: y, back = zyg.pullback(f, x); back(1.0), or zyg.gradient(f, x)"
_FORWARD = '(j,) = zyg.jacobian(f, x, mode="forward")'
_REVERSE = '(j,) = zyg.jacobian(f, x, mode="reverse")'
_RULE = "@zyg.adjoint(f) above a function that returns the value of f and its pullback"
_PUSHFORWARD = "y, dy = zyg.pushforward(f, (x,), (dx,))"
_CONSTANT = "c = zyg.stop_gradient(x), or zyg.nondifferentiable(f) for a whole function"
_AUX = "g, aux = zyg.grad(f, has_aux=True)(x)"
_MAP = "tree = zyg.map(f, tree)"
_FLATTEN = "vector, back = zyg.flatten(tree)"

# What is written here for a name of theirs.
LINES = {
    "vjp": "y, back = zyg.pullback(f, *args)",
    "make_vjp": "y, back = zyg.pullback(f, *args)",
    "jvp": _PUSHFORWARD,
    "make_jvp": _PUSHFORWARD,
    "linearize": _PUSHFORWARD,
    "derivative": "(dy,) = zyg.gradient(f, x)",
    "backward": _TAPE,
    "GradientTape": _TAPE,
    "record": _TAPE,
    "tape": _TAPE,
    "Tensor": "x = np.array([1.0, 2.0]): NumPy's arrays are what is differentiated",
    "tensor": "x = np.array([1.0, 2.0]): NumPy's arrays are what is differentiated",
    "Variable": "x = np.array([1.0, 2.0]): NumPy's arrays are what is differentiated",
    "Parameter": "zyg.gradient(f, parameters), with any structure of numbers and arrays",
    "jit": "f = zyg.compile(f)",
    "njit": "f = zyg.compile(f)",
    "vectorize": "y = zyg.broadcast(f, *arrays), of a function f of numbers",
    "jacrev": _REVERSE,
    "jacfwd": _FORWARD,
    "hess": "h = zyg.hessian(f, x)",
    "vhp": "v = zyg.hvp(f, x, v)",
    "hessian_vector_product": "v = zyg.hvp(f, x, v)",
    "elementwise_grad": "(slopes,) = zyg.gradient(lambda x: np.sum(f(x)), x)",
    "egrad": "(slopes,) = zyg.gradient(lambda x: np.sum(f(x)), x)",
    "grad_and_aux": _AUX,
    "grad_and_value": "y, g = zyg.value_and_grad(f)(x)",
    "custom_vjp": _RULE,
    "custom_gradient": _RULE,
    "custom_jvp": "f = zyg.scalar_rule(f, dfdx), or @rule.pushforward below @zyg.adjoint(f)",
    "defvjp": _RULE,
    "defjvp": "f = zyg.scalar_rule(f, dfdx), or @rule.pushforward below @zyg.adjoint(f)",
    "primitive": _RULE,
    "Function": _RULE,
    "no_grad": f"no block is needed: outside of a gradient nothing is recorded; {_CONSTANT}",
    "enable_grad": "no block is needed: zyg.gradient(f, x) records while it runs",
    "stop_grad": _CONSTANT,
    "detach": _CONSTANT,
    "remat": "y = zyg.checkpoint(f, *args)",
    "tree_map": _MAP,
    "tree_flatten": _FLATTEN,
    "tree_util": f"{_MAP}, or {_FLATTEN}",
    "ravel_pytree": _FLATTEN,
    "check_grads": "zyg.check_gradient(f, *args)",
    "gradcheck": "zyg.check_gradient(f, *args)",
    "test_grad": "zyg.check_gradient(f, *args)",
    "gradgradcheck": "zyg.check_gradient(f, *args, order=2)",
    "pure_callback": "f = zyg.foreign(f, jacobian=jacobian)",
    "np": "import zyg.numpy as np",
}


def lacking(name: str, caller: FrameType) -> AttributeError | ImportError:
    """The error that zyg has no such name, for the line of `caller` that asks for it.

    An import statement would have a text of Python's own for an AttributeError, and says the same
    and more by an ImportError; whoever else asks, as `hasattr`, is to be told by the former.
    """
    line = LINES.get(name)
    if line is None:
        return AttributeError(f"module 'zyg' has no attribute {name!r}")
    why = f"that is another library's name; with zyg, write {line}"
    if dis.opname[caller.f_code.co_code[caller.f_lasti]] == "IMPORT_FROM":
        return ImportError(f"cannot import name {name!r} from 'zyg': {why}", name="zyg")
    return AttributeError(f"module 'zyg' has no attribute {name!r}: {why}", name=name, obj=None)
