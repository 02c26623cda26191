"""Loops that change what they go through see the change, and loops that are left test no more."""

import numpy as np
import pytest

import zyg
from zyg.errors import CompileError

pytestmark = pytest.mark.usefixtures("machine_code_alone")


def elements(a, n):
    u, total = np.full((3, n), 0.25), 0.0
    for t in u[1]:
        u *= a
        total += t
    return total


def elements_with_exits(a, n):
    u, total = np.full(n, 0.25), 0.0
    for t in u:
        if t > 2.0:
            continue
        u += a
        total += t * t
        if total > 1.5:
            break
    return total


def rows(a, n):
    u, total = np.full((n, 3), 0.25), 0.0
    for row in u:
        u[-1] += a
        for t in row:
            row += t
            total += t
    return total


def enumerated(a, n):
    u, total = np.full((3, n), 0.25), 0.0
    for k, t in enumerate(u[0]):
        u[0, -1] += a + k
        total += t * k
    return total


def zipped(a, n):
    u, total = np.full((3, n), 0.25), 0.0
    for (k, t), row in zip(enumerate(u[0]), u, strict=False):
        u[0, -1] += a + k
        total += t * k + row[-1]
    return total


def backwards(a, n):
    u, total = np.full((3, n), 0.25), 0.0
    for t in reversed(u[0]):
        u[0, 0] += a
        total += t
    return total


def generated(a, n):
    u = np.full(n, 0.25)

    def next_of(t):
        u[-1] += a
        return t

    return sum(next_of(t) for t in u) + sum(map(next_of, u)) + sum([next_of(t) for t in u])


def a_list(a, n):
    items, total = [a * k for k in range(n)], 0.0
    for t in items:
        items[-1] = 10.0 * a
        total += t
    return total


def a_short_list(a, n):
    items, total = [a, 2.0 * a, n * a], 0.0
    for k, (s, t) in enumerate(zip(items, reversed(items), strict=True)):
        items[2] = 10.0 * a * s
        items[0] = a * t
        total += t * s * k
    return total


def a_growing_list_that_is_left(a, n):
    items, total = [a * k for k in range(n)], 0.0
    for t in items:
        if t > 0.5:
            items.append(t)
            break
        total += t
    return total + items[-1]


def a_dict(a, n):
    table, total = {"a": a, "b": 2.0 * a}, 0.0
    for _, value in table.items():  # noqa: PERF102
        table["b"] = a * n
        total += value
    return total + sum(table.values())


def left_at_the_end(a, n):
    u, k, total = np.full(n, a), 0, 0.0
    while u[k] > 0.0:
        total += u[k] * u[k]
        k += 1
        if k == n:
            break
    return total


def left_by_a_return(a, n):
    x = float(n)
    while 1.0 / x > 0.01:
        a = a * x
        x -= 1.0
        if x == 0.0:
            return a * a
    return a


PROGRAMS = [
    elements, elements_with_exits, rows, enumerated, zipped, backwards, generated, a_list,
    a_short_list, a_growing_list_that_is_left, a_dict, left_at_the_end, left_by_a_return,
]  # fmt: skip


@pytest.mark.parametrize("n", [3, 7])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_derivatives_are_those_of_python(f, n):
    compiled = zyg.compile(f, wrt=0)

    assert compiled(0.3, n) == pytest.approx(f(0.3, n), rel=1e-12)
    slope = (f(0.3 + 1e-6, n) - f(0.3 - 1e-6, n)) / 2e-6
    assert zyg.gradient(compiled, 0.3, n)[0] == pytest.approx(slope, rel=1e-6)
    assert zyg.pushforward(compiled, (0.3, n), (1.0, None))[1] == pytest.approx(slope, rel=1e-6)


def grows(a):
    items, total = [a], 0.0
    for t in items:
        if len(items) < 4:
            items.append(t * 2.0)
        total += t
    return total


def test_a_list_that_grows_while_it_is_gone_through_is_pythons():
    with pytest.raises(CompileError, match="while it is gone through"):
        zyg.compile(grows)(0.3)


def keys_grow(a):
    table = {1: a, 2: 2.0 * a}
    for k in table:
        table[k + 10] = a
    return table[11]


def keys_go(a):
    table = {1: a, 2: 2.0 * a}
    return sum([table.pop(k) for k in table.keys()])  # noqa: SIM118


@pytest.mark.parametrize("f", [keys_grow, keys_go])
def test_a_dict_that_changes_while_its_keys_are_gone_through_is_pythons(f, monkeypatch):
    monkeypatch.undo()
    with zyg.config(fallback="silent"):
        for run in (f, zyg.compile(f), lambda a: zyg.gradient(zyg.compile(f), a)):
            with pytest.raises(RuntimeError, match="changed size during iteration"):
                run(0.3)


def grows_in_memory(a, n):
    items, total = [a * k for k in range(n)], 0.0
    for t in items:
        if len(items) < 20:
            items.append(t)
        total += t
    return total


def test_a_list_in_memory_that_grows_while_it_is_gone_through_is_pythons(monkeypatch):
    monkeypatch.undo()
    with zyg.config(fallback="silent"):
        assert zyg.compile(grows_in_memory)(0.3, 12) == pytest.approx(grows_in_memory(0.3, 12))
