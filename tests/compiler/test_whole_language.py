"""What a whole function may not hold, and what its program leaves to Python."""

import math

import pytest

from zyg.errors import KernelError

from ..programs.language import maybe
from .interpreted import Stopped
from .wholes import run


def test_none_where_a_number_was_is_left_to_python():
    assert run(maybe, 2.0) == maybe(2.0)
    with pytest.raises(Stopped):
        run(maybe, -2.0)


LOG = []


def appends_outside(x):
    LOG.append(x)
    return x


def changes_an_argument(xs):
    xs.append(1.0)
    return xs[0]


def prints(x):
    print(x)
    return x


def tries(x):
    try:
        return math.sqrt(x)
    except ValueError:
        return 0.0


def yields(x):
    yield x


def makes_a_class(x):
    class Inner:
        y = x

    return Inner.y


def sets_a_global(x):
    global LOG
    LOG = x
    return x


def computed_keys(x, n):
    return {n: x}[n]


def mixed_list(x, n):
    return [x, "a", None][n]


def of_three_kinds(x):
    return x if x > 0 else (x, x) if x < -1 else None


def always_raising(x):
    raise ValueError(x)


def consumed_twice(x):
    z = zip([x], [x])  # noqa: B905
    return sum(a for a, _ in z) + sum(b for _, b in z)


def growing_of_two_kinds(x, n):
    out = []
    for k in range(n):
        out.append(x if k < 2 else (x, x))  # noqa: PERF401
    return len(out)


def endless(x):
    return endless(x) + 1


def changes_around(x, n):
    total = 0.0

    def go(k):
        nonlocal total
        total += x
        return k if k < 1 else go(k - 1)

    return go(n) + total


REFUSED = {
    appends_outside: ((1.0,), "append"), changes_an_argument: (([1.0],), "an argument"),
    prints: ((1.0,), "print"), tries: ((1.0,), "a try"), yields: ((1.0,), "yield"),
    makes_a_class: ((1.0,), "ClassDef"), sets_a_global: ((1.0,), "global"),
    computed_keys: ((1.0, 1), "a computed key"), mixed_list: ((1.0, 1), "several types"),
    of_three_kinds: ((1.0,), "a number or a tuple"), always_raising: ((1.0,), "always raises"),
    consumed_twice: ((1.0,), "exhausted"), growing_of_two_kinds: ((1.0, 2), "several types|two"),
    endless: ((1.0,), "without an end"), changes_around: ((1.0, 3), "outer variables"),
}  # fmt: skip


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_what_is_not_in_the_language_is_refused(f):
    args, what = REFUSED[f]
    with pytest.raises(KernelError, match=what):
        run(f, *args)
    assert not LOG
