"""What others call what zyg has: the line to write instead of a name that is not there."""

from __future__ import annotations

import sys
from opcode import opmap

_PULLBACK = "y, back = zyg.pullback(f, *args), and back(y_bar)"
_PUSHFORWARD = "y, y_dot = zyg.pushforward(f, args, tangents)"
_RULE = "@zyg.adjoint above a function that returns y and its pullback"
_GRADIENT = "zyg.gradient(f, *args), of a function of numbers and NumPy's arrays"
_LOOP = "Python's own loops and branches, which are differentiated as they are"
_LINES = {
    _PULLBACK: "vjp make_vjp linear_transpose",
    _PUSHFORWARD: "jvp make_jvp linearize forward_ad",
    _RULE: "custom_vjp custom_gradient primitive defvjp defvjp_argnums Function rrule",
    "rule.pushforward of a rule made by zyg.adjoint": "custom_jvp defjvp frule",
    _GRADIENT: "Tensor tensor Variable backward GradientTape Tape derivative differentiate tape",
    _LOOP: "scan fori_loop while_loop cond switch lax",
    "zyg.compile(f)": "jit njit function trace script",
    "zyg.stop_gradient(x)": "no_grad stop_grad detach inference_mode ignore_derivatives",
    'zyg.jacobian(f, x, mode="reverse")[0]': "jacrev",
    'zyg.jacobian(f, x, mode="forward")[0]': "jacfwd",
    "zyg.grad(f, has_aux=True)": "grad_and_aux",
    "zyg.value_and_grad(f, has_aux=True)": "value_and_grad_and_aux withgradient",
    "zyg.grad(lambda x: np.sum(f(x)))": "elementwise_grad egrad",
    "zyg.hvp(f, x, v)": "hessian_vector_product make_hvp vhp",
    "zyg.holomorphic(f, z)": "holomorphic_grad",
    "zyg.vmap(f), or zyg.threads.map(f, xs)": "pmap xmap shard_map",
    "zyg.checkpoint(f, *args)": "remat rematerialize",
    "zyg.map(f, *structures)": "tree_map tree",
    "zyg.flatten(x)": "ravel_pytree tree_flatten",
    "zyg.check_gradient(f, *args)": "check_grads gradcheck test_rrule",
    "zyg.optimize": "optim optimizers optimizer nn Optimizer",
    "zyg.numpy": "np anp",
    "zyg.numpy.linalg": "linalg",
    "zyg.numpy.random": "random",
}
_INSTEAD = {name: line for line, names in _LINES.items() for name in names.split()}


def no_attribute(name: str) -> Exception:
    """What is raised for a name that zyg does not have: by who asks, with what there is instead."""
    line = _INSTEAD.get(name)
    instead = f"; write {line}" if line else ""
    frame = sys._getframe(2)
    if line and frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]:  # which keeps no text
        return ImportError(f"cannot import name {name!r} from 'zyg'{instead}", name=name)
    of = {} if line else {"obj": sys.modules["zyg"]}  # of which Python suggests a similar name
    return AttributeError(f"module 'zyg' has no attribute {name!r}{instead}", name=name, **of)
