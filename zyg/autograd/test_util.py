"""autograd's checks of derivatives: against differences of values, along random directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from zyg.autograd._absent import names_from
from zyg.autograd.core import make_jvp, make_vjp, vspace
from zyg.autograd.wrap_util import unary_to_nary
from zyg.errors import GradientMismatchError
from zyg.verbs.vectors import flatten

__getattr__ = names_from()

TOL, RTOL, EPS = 1e-6, 1e-6, 1e-6
Function = Callable[..., Any]


def scalar_close(a: Any, b: Any) -> bool:
    """Whether two numbers agree, to a millionth of their size or of 1."""
    return bool(abs(a - b) <= TOL + RTOL * max(abs(a), abs(b)))


def check_equivalent(x: Any, y: Any) -> None:
    """Raise AssertionError unless two values are of one vector space, and close."""
    assert vspace(x) == vspace(y), f"{vspace(x)} is not {vspace(y)}"
    np.testing.assert_allclose(flatten(x)[0], flatten(y)[0], RTOL, TOL)


def check_jvp(f: Function, x: Any) -> None:
    """Raise GradientMismatchError where the Jacobian-vector product of ``f(x)`` is wrong."""
    v = vspace(x).randn()
    y, y_dot = make_jvp(f, x)(v)
    _demand_space("JVP", f, y_dot, y)
    w = vspace(y).randn()
    _demand_close("JVP", f, _paired(w, y_dot), _paired(w, _difference(f, x, v)))


def check_vjp(f: Function, x: Any) -> None:
    """Raise GradientMismatchError where the vector-Jacobian product of ``f(x)`` is wrong."""
    vjp, y = make_vjp(f, x)
    v, w = vspace(x).randn(), vspace(y).randn()
    x_bar = vjp(w)
    _demand_space("VJP", f, x_bar, x)
    _demand_close("VJP", f, _paired(x_bar, v), _paired(w, _difference(f, x, v)))


def _paired(covector: Any, vector: Any) -> Any:
    space = vspace(vector)
    return space.inner_prod(space.covector(covector), vector)


def _difference(f: Function, x: Any, v: Any) -> Any:
    """The derivative of ``f(x)`` along v, by a central difference."""
    space = vspace(x)
    after, before = (f(space.add(x, space.scalar_mul(v, h))) for h in (EPS / 2, -EPS / 2))
    space = vspace(after)
    return space.scalar_mul(space.add(after, space.scalar_mul(before, -1.0)), 1 / EPS)


def _demand_space(kind: str, f: Function, found: Any, like: Any) -> None:
    if vspace(found) != vspace(like):
        raise _mismatch(kind, f, f"it is of {vspace(found)}, where {vspace(like)} is needed")


def _demand_close(kind: str, f: Function, found: Any, needed: Any) -> None:
    if not scalar_close(found, needed):
        raise _mismatch(kind, f, f"along a random direction it is {found}, by values {needed}")


def _mismatch(kind: str, f: Function, what: str) -> GradientMismatchError:
    return GradientMismatchError(
        f"({kind}) check of {f.__name__} failed: {what}.",
        "the derivative and the values of the function disagree.",
        "check its parts one by one; zyg.check_gradient takes more exact differences.",
    )


@unary_to_nary
def check_grads(f: Function, x: Any, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> None:
    """Returns a function of the arguments of f that checks its derivatives up to an order.

    Parameters
    ----------
    f : callable
        Its results may have any structure.
    argnum : int, or a tuple or list of ints
        By which arguments.
    modes : sequence of {"fwd", "rev"}
        In which modes, and mixtures of them.
    order : int
        Products with the Jacobian are differentiated by their vectors, too.

    Raises
    ------
    GradientMismatchError
        An AssertionError: where a derivative is wrong.
    """
    checks = {"fwd": (check_jvp, _tangent, "jvp"), "rev": (check_vjp, _cotangent, "vjp")}
    for check, derived, kind in (checks[mode] for mode in modes):
        check(f, x)
        if order > 1:
            product_of, vector = derived(f, x)
            product_of.__name__ = f"{kind}_{f.__name__}"
            check_grads(product_of, (0, 1), modes, order - 1)(x, vector)


def _tangent(f: Function, x: Any) -> tuple[Function, Any]:
    return (lambda x, v: make_jvp(f, x)(v)), vspace(x).randn()


def _cotangent(f: Function, x: Any) -> tuple[Function, Any]:
    return (lambda x, w: make_vjp(f, x)[0](w)), vspace(make_vjp(f, x)[1]).randn()


def combo_check(fun: Function, argnum: Any = 0, **options: Any) -> Function:
    """Returns a function of lists of arguments that checks each combination of them."""
    check = check_grads(fun, argnum, **options)

    def check_all(*lists: Sequence[Any], **named: Sequence[Any]) -> None:
        for args, kwargs in _combinations(lists, named):
            check(*args, **kwargs)

    return check_all


def _combinations(lists: Any, named: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    for args in product(*lists):
        for values in product(*named.values()):
            yield args, dict(zip(named, values, strict=True))
