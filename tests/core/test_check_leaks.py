"""config(check_leaks=True): a value kept from one gradient and used in another raises."""

from functools import cached_property

import numpy as np
import pytest

import zyg
from zyg.errors import LeakError

VERBS = {
    "gradient": lambda f, x: zyg.gradient(f, x),
    "pullback": lambda f, x: zyg.pullback(f, x),
    "pushforward": lambda f, x: zyg.pushforward(f, (x,), (x,)),
    "jacobian": lambda f, x: zyg.jacobian(f, x),
    "hessian": lambda f, x: zyg.hessian(f, x),
}
USES = {
    "product": lambda kept, x: np.sum(kept * x),
    "function": lambda kept, x: np.sum(np.sin(kept) + x),
    "linear algebra": lambda kept, x: np.sum(np.outer(kept, x)),
    "element": lambda kept, x: np.sum(np.atleast_1d(kept)[0] * x),
    "stacked": lambda kept, x: np.sum(np.stack([kept, x])),
    "written": lambda kept, x: np.sum(np.add(x * 1.0, kept)),
}


class Square:
    def __init__(self, x):
        self.x = x

    @cached_property
    def value(self):
        return self.x * self.x


@pytest.mark.parametrize("x", [2.0, np.array([2.0, 3.0])], ids=["number", "array"])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_kept_value_raises_with_both_lines(verb, use, x):
    kept = []
    with zyg.config(check_leaks=True):
        zyg.gradient(lambda x: kept.append(x * 1.0) or np.sum(x), x)
        with pytest.raises(LeakError) as caught:
            verb(lambda x: use(kept[0], x), x)

    text = str(caught.value)
    assert "kept.append(x * 1.0)" in text  # the gradient it is from
    assert "use(kept[0], x)" in text or "lambda kept, x" in text


def test_a_cached_property_of_an_object_that_lives_longer():
    square = Square(None)

    def f(x):
        square.x = x
        return square.value * x

    with zyg.config(check_leaks=True):
        assert zyg.gradient(f, 3.0) == (27.0,)
        with pytest.raises(LeakError, match="kept"):
            zyg.gradient(f, 3.0)


def test_what_is_right_does_not_raise():
    log = []

    def inner(y):
        log.append(y * y)
        return y**3

    def f(x):
        (slope,) = zyg.gradient(inner, x)
        return slope + log[-1]  # of a level that has ended, and of this one

    with zyg.config(check_leaks=True):
        assert zyg.gradient(f, 2.0)[0] == pytest.approx(16.0)
        assert zyg.is_traced(log[-1]) is False
        assert log[-1] + 1.0 == 5.0  # outside of gradients it is a number
        assert zyg.gradient(lambda x: x * float(zyg.stop_gradient(log[-1])), 2.0) == (4.0,)
        assert zyg.gradient(lambda x: x * x, log[-1]) == (8.0,)
        assert repr(log[-1]) == "4.0"


def test_without_the_setting_it_is_a_constant():
    kept = []
    zyg.gradient(lambda x: kept.append(x * 1.0) or x, 2.0)

    assert zyg.gradient(lambda x: kept[0] * x, 3.0) == (2.0,)
