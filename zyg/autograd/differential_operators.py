"""autograd's operators: functions that return functions of the same arguments."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.autograd import core
from zyg.autograd._absent import names_from
from zyg.autograd._conventions import conjugate, covector, of_numpy
from zyg.autograd.core import vspace
from zyg.autograd.wrap_util import unary_to_nary
from zyg.base.signatures import users_signature
from zyg.core.trace import watchable
from zyg.errors import (
    ComplexOutputError,
    HolomorphicError,
    NonScalarOutputError,
)
from zyg.verbs import checkpoints
from zyg.verbs.gradients import pullback, value_and_gradient

Function = Callable[..., Any]
__getattr__ = names_from()

_make_vjp, _make_jvp = core.make_vjp, core.make_jvp  # which libraries import from here
make_vjp, make_jvp = unary_to_nary(_make_vjp), unary_to_nary(_make_jvp)


@unary_to_nary
def grad(fun: Function, x: Any) -> Any:
    """Returns a function of the arguments of `fun` that returns the gradient of fun.

    Parameters
    ----------
    fun : callable
        Returns a real number, or an array of one.
    argnum : int, or a tuple or list of ints
        The argument that is differentiated; of several, the gradients come in a tuple.

    Returns
    -------
    callable
        The gradient has the structure of the argument, zeros where nothing depends on it. By a
        complex z = x + iy it is du/dx - i du/dy.

    Raises
    ------
    NonScalarOutputError
        fun returns anything else.

    Examples
    --------
    >>> import zyg.autograd.numpy as np
    >>> from zyg.autograd import grad
    >>> grad(lambda x, y: np.sin(x) * y)(0.0, 3.0)
    np.float64(3.0)
    """
    return _value_and_gradient(fun, x)[1]


@unary_to_nary
def value_and_grad(fun: Function, x: Any) -> tuple[Any, Any]:
    """Returns a function that returns the value of `fun` and its gradient, as `grad` does."""
    return _value_and_gradient(fun, x)


def _value_and_gradient(fun: Function, x: Any) -> tuple[Any, Any]:
    shape: tuple[int, ...] = ()

    @functools.wraps(fun, updated=())
    def loss(x: Any) -> Any:
        nonlocal shape
        y = core.warned(fun(x))
        number = _number(y, fun.__name__)
        shape = () if number is y else np.shape(y)
        return number

    value, (x_bar,) = value_and_gradient(loss, of_numpy(x), zeros=True)
    return (np.reshape(value, shape) if shape else value), covector(x_bar, x)


def _number(y: Any, name: str) -> Any:
    """An array of one element as a number, and what else a function returned as it is."""
    if type(y) is tuple:  # which would pass for a loss with something else
        raise NonScalarOutputError(
            f"{name} returned a tuple; a gradient is one of a real number.",
            "only a number has a gradient.",
            "return the loss alone, or use grad_and_aux for a loss and something else.",
        )
    return np.reshape(y, ()) if watchable(y) and np.ndim(y) and np.size(y) == 1 else y


def _kind(y: Any) -> str:
    return f"an array of shape {np.shape(y)}" if hasattr(y, "shape") else f"a {type(y).__name__}"


@unary_to_nary
def elementwise_grad(fun: Function, x: Any) -> Any:
    """Returns a function that sums the Jacobian of `fun` over the results, in one reverse pass.

    Of a function that works elementwise, that is its derivative at each element.
    """
    vjp, y = core.make_vjp(fun, x)
    if vspace(y).iscomplex:
        raise ComplexOutputError(
            f"{fun.__name__} returned complex values; elementwise_grad needs real ones.",
            "a complex result has two derivatives, one of its real and one of its imaginary part.",
            "return np.real(y) or np.imag(y), or use make_vjp with a cotangent of y.",
        )
    return vjp(vspace(y).ones())


@unary_to_nary
def deriv(fun: Function, x: Any) -> Any:
    """Returns a function that sums the Jacobian of `fun` over the arguments, in forward mode."""
    return core.make_jvp(fun, x)(vspace(x).ones())[1]


@unary_to_nary
def jacobian(fun: Function, x: Any) -> Any:
    """Returns a function that returns the Jacobian of `fun`, of shape ``y.shape + x.shape``.

    Row by row, in reverse mode. Raises NonScalarOutputError where y is complex or no array.
    """
    vjp, y = core.make_vjp(fun, x)
    space = vspace(y)
    for what, value, refused in (
        ("returned", y, space.iscomplex),
        ("was to be differentiated by", x, False),
    ):
        if refused or type(vspace(value).shape) is not tuple:
            raise NonScalarOutputError(
                f"{fun.__name__} {what} {'complex values' if refused else _kind(value)}; "
                "jacobian needs one array, of real results.",
                "its own result is one array, with a row for each number of y.",
                "make one of it: np.concatenate, flatten; of complex results, np.real and np.imag.",
            )
    rows = [vjp(unit) for unit in space.standard_basis()]
    return np.reshape(np.stack(rows) if rows else [], np.shape(y) + np.shape(x))


@unary_to_nary
def hessian(fun: Function, x: Any) -> Any:
    """Returns a function that returns the Hessian of `fun`, of shape ``x.shape + x.shape``."""
    return jacobian(jacobian(fun))(x)


@unary_to_nary
def make_hvp(fun: Function, x: Any) -> tuple[Function, Any]:
    """Returns a function that returns the product with the Hessian of `fun`, and its gradient."""
    return core.make_vjp(grad(fun), x)


def hessian_tensor_product(fun: Function, argnum: Any = 0) -> Function:
    """Returns a function of the arguments of `fun` and a vector: the Hessian times that."""

    def product(*args: Any, **kwargs: Any) -> Any:
        *args, vector = args  # type: ignore[assignment]
        return make_vjp(grad(fun, argnum), argnum)(*args, **kwargs)[0](vector)

    return product


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Function, argnum: Any = 0) -> Function:
    """Returns a function of the arguments of `fun` and a tensor: that times the Jacobian.

    The axes of the tensor are the first of fun's result.
    """

    def contracted(*args: Any, **kwargs: Any) -> Any:
        *args, tensor = args  # type: ignore[assignment]
        return np.tensordot(tensor, fun(*args, **kwargs), axes=np.ndim(tensor))

    return jacobian(contracted, argnum)


vector_jacobian_product = tensor_jacobian_product


@unary_to_nary
def make_jvp_reversemode(fun: Function, x: Any) -> Function:
    """Returns a function that returns the function of a vector that is J times the vector."""
    jvp = core.make_jvp(fun, x)
    return lambda v: jvp(v)[1]


def _half_of_squares(y: Any) -> Any:
    return 0.5 * np.sum(y**2, axis=-1)


def make_ggnvp(f: Function, g: Function = _half_of_squares, f_argnum: Any = 0) -> Function:
    """Returns a function that returns the product with a generalized Gauss-Newton matrix.

    It is J^T H J, with the Jacobian J of f and the Hessian H of the loss g at f's result.
    """

    @unary_to_nary
    def gauss_newton_product(f: Function, x: Any) -> Function:
        vjp, y = core.make_vjp(f, x)
        jvp, (hvp, _) = core.make_jvp(f, x), make_hvp(g)(y)
        return lambda v: vjp(hvp(jvp(v)[1]))

    return gauss_newton_product(f, f_argnum)


@unary_to_nary
def grad_and_aux(fun: Function, x: Any) -> tuple[Any, Any]:
    """Returns a function that returns the gradient of the first result of `fun`, and the second."""

    @functools.wraps(fun, updated=())
    def loss_and_aux(x: Any) -> tuple[Any, Any]:
        loss, aux = fun(x)
        return _number(loss, fun.__name__), aux

    (_, aux), (x_bar,) = value_and_gradient(loss_and_aux, of_numpy(x), zeros=True)
    return covector(x_bar, x), aux


@unary_to_nary
def holomorphic_grad(fun: Function, x: Any) -> Any:
    """Returns a function that returns the complex derivative of `fun`, which returns one number.

    Raises HolomorphicError where fun does not satisfy the Cauchy-Riemann equations.
    """
    if not vspace(x).iscomplex:
        warnings.warn("Input to holomorphic_grad is not complex", stacklevel=2)
        return grad(lambda x: np.real(fun(x)))(x)
    _, back = pullback(lambda x: fun(x) + 0j, of_numpy(x))
    (by_real,), (by_imag,) = (back(unit, zeros=True) for unit in (1.0, 1j))
    wrong, size = (np.max(np.abs(d), initial=0.0) for d in (by_imag - 1j * by_real, by_real))
    if wrong > 1e-6 * size:
        raise HolomorphicError(
            f"{fun.__name__} is not holomorphic at this point.",
            "one complex number describes a derivative only where the Cauchy-Riemann equations "
            f"hold; they are off by {wrong:.3g}, where the derivative is {size:.3g}.",
            "use grad of its real and of its imaginary part.",
        )
    return conjugate(by_real)


def grad_named(fun: Function, argname: str) -> Function:
    """Returns a function that returns the gradient of `fun` by the argument of this name."""
    return grad(fun, [*users_signature(fun).parameters].index(argname))


def multigrad_dict(fun: Function) -> Function:
    """Returns a function that returns the gradients of `fun` by all its arguments, by their names.

    Those of ``*args`` come in a tuple, of ``**kwargs`` in a dict, each by its own name.
    """
    signature = users_signature(fun)

    def gradients(*args: Any, **kwargs: Any) -> OrderedDict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()

        @functools.wraps(fun, updated=())
        def of_dict(arguments: dict[str, Any]) -> Any:
            call = inspect.BoundArguments(signature, OrderedDict(arguments))
            return fun(*call.args, **call.kwargs)

        return OrderedDict(grad(of_dict)(dict(bound.arguments)))

    return gradients


def checkpoint(fun: Function) -> Function:
    """Returns `fun`, whose intermediate values are computed again in the reverse pass."""

    @functools.wraps(fun, updated=())
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        return checkpoints.checkpoint(fun, *args, **kwargs)

    return checkpointed
