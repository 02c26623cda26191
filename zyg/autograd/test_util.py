"""autograd's checks of derivatives, by finite differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from zyg.autograd._absent import names_from
from zyg.autograd.core import vspace
from zyg.autograd.wrap_util import unary_to_nary
from zyg.tools.testing import check_gradient
from zyg.verbs.vectors import flatten

__getattr__ = names_from()

TOL, RTOL, EPS = 1e-6, 1e-6, 1e-6
_MODES: dict[str, Any] = {"rev": "reverse", "fwd": "forward"}


def scalar_close(a: float, b: float) -> bool:
    """Whether two numbers agree, to 1e-6 or to a millionth of the larger."""
    return bool(abs(a - b) <= max(TOL, RTOL * max(abs(a), abs(b))))


def check_equivalent(x: Any, y: Any) -> None:
    """Raise AssertionError unless two values are of one vector space, and close."""
    assert vspace(x) == vspace(y), f"{vspace(x)} is not {vspace(y)}"
    a, b = (flatten(v)[0] for v in (x, y))
    np.testing.assert_allclose(a, b, RTOL, TOL)


@unary_to_nary
def check_grads(
    f: Callable[[Any], Any],
    x: Any,
    modes: Sequence[str] = ("fwd", "rev"),
    order: int = 2,
) -> None:
    """Returns a function that checks the derivatives of f, up to an order, in the modes.

    It raises GradientMismatchError, an AssertionError, where one is wrong.
    """
    check_gradient(f, x, order=order, modes=[_MODES[mode] for mode in modes])


def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """Check the first derivative of ``f(x)`` in reverse mode."""
    check_gradient(f, x, order=1, modes=["reverse"])


def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """Check the first derivative of ``f(x)`` in forward mode."""
    check_gradient(f, x, order=1, modes=["forward"])


def combo_check(fun: Callable[..., Any], argnums: Any, **options: Any) -> Callable[..., None]:
    """Returns a function that takes lists of arguments, and checks each combination of them."""
    check = check_grads(fun, [*argnums], **options)

    def check_all(*lists: Sequence[Any], **named: Sequence[Any]) -> None:
        for args, kwargs in _combinations(lists, named):
            check(*args, **kwargs)

    return check_all


def _combinations(lists: Any, named: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    for args in product(*lists):
        for values in product(*named.values()):
            yield args, dict(zip(named, values, strict=True))
