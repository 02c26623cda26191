"""Values that leave a verb by a side effect: their derivative is kept, or their use raises."""

import numpy as np
import pytest

import zyg
from zyg.errors import AdjointError
from zyg.verbs.effects import keeps_nothing

X = np.array([0.3, 0.7, -0.4])
global_log = []


class Holder:
    value = None


def fixed_point(f, x):
    return zyg.fixed_point(lambda s, q: 0.2 * s + f(q), np.zeros(3), x)


VERBS = {"checkpoint": zyg.checkpoint, "forwarddiff": zyg.forwarddiff, "fixed_point": fixed_point}


def into_list(verb, x):
    log = []
    return verb(lambda q: log.append(q * q) or q * 2, x), log[-1]


def into_dict(verb, x):
    seen = {}

    def f(q):
        seen["it"] = q * q
        return q * 2

    return verb(f, x), seen["it"]


def into_variable(verb, x):
    kept = None

    def f(q):
        nonlocal kept
        kept = q * q
        return q * 2

    return verb(f, x), kept


def into_attribute(verb, x):
    holder = Holder()

    def f(q):
        holder.value = q * q
        return q * 2

    return verb(f, x), holder.value


def into_function(verb, x):
    def f(q):
        f.kept = q * q
        return q * 2

    return verb(f, x), f.kept


def into_global(verb, x):
    global_log.clear()
    return verb(lambda q: global_log.append(q * q) or q * 2, x), global_log[-1]


def by_a_method(verb, x):
    log = []
    keep = log.append
    return verb(lambda q: keep(q * q) or q * 2, x), log[-1]


def by_another_function(verb, x):
    log = []

    def helper(q):
        log.append(q * q)
        return q * 2

    return verb(lambda q: helper(q), x), log[-1]


WAYS = [
    into_list, into_dict, into_variable, into_attribute, into_function, into_global, by_a_method,
    by_another_function,
]  # fmt: skip

USES = {
    "a sum": lambda y, left: np.sum(y + left),
    "a function": lambda y, left: np.sum(y) * np.max(np.sin(left)),
    "the result": lambda y, left: left[1],
    "an element": lambda y, left: left[0] * 2.0,
    "a view": lambda y, left: np.sum(left[1:]),
    "a mask": lambda y, left: np.sum(left[left > 0.1]),
    "a conversion": lambda y, left: float(left[0]) * y[0],
    "a new array": lambda y, left: np.stack([left[0], y[0]])[0],
    "an argument": lambda y, left: zyg.gradient(lambda v: v[0] * v[1], left)[0][0] * y[0],
    "a write": lambda y, left: np.sum(_written(y * 1.0, left)),
    "its own write": lambda y, left: np.sum(_written(left, y)),
    "a checkpoint": lambda y, left: zyg.checkpoint(lambda v: np.sum(v * left), y),
    "an operator in place": lambda y, left: np.sum(y.__iadd__(left)),
}


def _written(a, b):
    a[1:] = b[1:]
    return a


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("way", WAYS)
def test_a_later_use_raises_by_name(way, verb):
    with pytest.raises(AdjointError) as caught:
        zyg.gradient(lambda x: np.sum(sum(way(VERBS[verb], x))), X)
    text = str(caught.value)
    assert f"a value that left zyg.{verb} by a side effect is used" in text
    assert "test_side_effects.py" in text
    assert "return the value from the function as well" in text


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_every_use_raises(use, verb, mode):
    def f(x):
        return USES[use](*into_list(VERBS[verb], x))

    with pytest.raises(AdjointError, match="by a side effect"):
        zyg.jacobian(f, X, mode=mode)
    with pytest.raises(AdjointError, match="by a side effect"):
        zyg.hessian(f, X)


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_not_a_use_is_as_ever(verb):
    def f(x, look):
        log = []
        y = VERBS[verb](lambda q: log.append(q * q) or q * 2, x)
        z = VERBS[verb](lambda q: log.append(q) or q * 2, x)  # whose closure holds such values
        if look:
            assert log[0][0] > 0.0
            assert np.shape(log[0]) == (3,)
            assert zyg.is_traced(log[0])
            assert "0.09" in str(log[0]) + repr(log[0][0])
            y = y * zyg.stop_gradient(log[0])[0] + log[0].shape[0] + int(zyg.primal(log[0][0]))
        return np.sum(y * y + z), log

    value, (x_bar,) = zyg.value_and_gradient(lambda x: f(x, False), X)
    _, (again,) = zyg.value_and_gradient(lambda x: f(x, True), X)
    plain = f(X, False)[0]
    h = 1e-6
    units = np.eye(3) * h
    expected = [(f(X + u, False)[0] - f(X - u, False)[0]) / (2 * h) for u in units]

    assert value[0] == pytest.approx(plain)
    np.testing.assert_allclose(x_bar, expected, rtol=1e-7)
    assert np.all(np.isfinite(again))
    np.testing.assert_allclose(value[1][0] * 2.0, 2 * X * X)  # afterwards they are what they were


@pytest.mark.parametrize("verb", VERBS)
def test_outer_levels_count(verb):
    def f(x):
        log = []
        zyg.gradient(lambda p: np.sum(VERBS[verb](lambda q: log.append(q * p) or q * 2, p * x)), X)
        return np.sum(log[0])

    with pytest.raises(AdjointError, match="by a side effect"):
        zyg.gradient(f, X)


def test_what_can_keep_nothing_is_run_plainly():
    table, names, rng = np.ones(3), ("a", "b"), np.random.default_rng(1)

    def helper(q):
        made = [v * 2 for v in q]
        made[0] = made[1]
        return np.stack(made) * table * rng.normal() if names else q

    def writes(q):
        q.kept = 1
        return q

    def imports(q):
        import string

        string.kept = q
        return q

    held = [1.0]
    assert keeps_nothing((helper, (X,), {"k": 2}))
    assert keeps_nothing((lambda q: helper(q) + np.linalg.norm(q), ([X, 2.0],), {}))
    for f in (
        writes, imports, lambda q: held[0] * q, lambda q, a=held: q, Holder(), held.append,
        lambda q: globals()["X"] * q, lambda q: Holder().value, lambda q: writes(q),
    ):  # fmt: skip
        assert not keeps_nothing((f, (X,), {}))
