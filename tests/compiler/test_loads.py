"""What memory has is loaded once, and again where it may have been written since."""

import numpy as np
import pytest

import zyg
from zyg.compiler.ir import Load, operations

from .wholes import read


def loads(f, *args):
    return sum(isinstance(op, Load) for op in operations(read(f, *args).program.body))


def twice(x):
    return x[0] * x[1] + x[0] / x[1]


def written_between(x):
    y = x[0]
    x[1] = 2.0 * y
    return x[0] * x[1] + y


def of_another(x, y):
    first, z = x[0], y.copy()
    z[0] = first * first
    return x[0] + z[0] * z[0]


def in_a_loop(x, n):
    total = 0.0
    for i in range(n):
        total += x[0] * x[i] + x[0]
        x[i] = total
        total += x[0]
    return total


def in_branches(x, n):
    if n > 1:
        x[0] = 2.0 * x[1]
    else:
        x[1] = 3.0 * x[0]
    return x[0] * x[1] + (x[0] if n > 2 else x[1])


def in_a_while(x):
    n = 0
    while x[0] < 5.0:
        x[0] = x[0] * x[0] + x[1]
        n += 1
    return x[0] * n


def added_to(x, n):
    for i in range(n):
        x[0] += x[i] * x[i]
        x[0] -= np.sin(x[1])
    return x[0] * x[0]


def by_rows(x, n):
    x = x.reshape(2, 2)
    for i in range(n):
        row = x[i % 2]
        row[0] = x[i % 2, 1] * row[1] + row[0]
    return x[0, 0] * x[1, 0]


def counted(x, n):
    counts = np.zeros(3, dtype=int)
    for i in range(n):
        counts[i % 3] += 1
        counts[0] = counts[0] + counts[1] * counts[1]
    return x[0] * counts[0] + x[1] * counts[2]


PROGRAMS = [(twice,), (written_between,), (of_another, np.array([2.0])),
            (in_a_loop, 3), (in_branches, 1), (in_branches, 2), (in_branches, 3), (in_a_while,),
            (added_to, 0), (added_to, 3), (by_rows, 4), (counted, 5)]  # fmt: skip


@pytest.mark.parametrize(("f", "rest"), [(f, rest) for f, *rest in PROGRAMS])
def test_values_and_writes_and_gradients_are_those_of_python(f, rest):
    x = np.array([1.5, 0.7, -0.4, 0.9])
    compiled = zyg.compile(f)
    ours, theirs = [[np.copy(a) if isinstance(a, np.ndarray) else a for a in (x, *rest)]
                    for _ in range(2)]  # fmt: skip
    with zyg.config(fallback="error"):
        assert compiled(*ours) == pytest.approx(f(*theirs), rel=1e-14)
        slope = zyg.gradient(compiled, x, *rest)[0]
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    np.testing.assert_allclose(slope, zyg.gradient(f, x, *rest)[0], rtol=1e-12, atol=1e-14)
    zyg.check_gradient(lambda x: compiled(x.copy(), *rest), x)


def test_how_often_memory_is_loaded():
    x = np.ones(4)
    assert loads(twice, x) == 2
    assert loads(written_between, x) == 3  # another place may be the same one
    assert loads(of_another, x, np.ones(1)) == 2  # one of them for the copy


def test_what_is_loaded_again_has_one_tape():
    def again(x):
        for i in range(len(x)):
            x[i] = np.exp(x[i] * x[i] * x[i])
        return x[0] * x[1] * x[2]

    kept = zyg.compile(again).inspect(np.ones(3))["forms"]["gradient"]["kept"]
    assert len(kept) <= 4  # of seven


def test_a_reciprocal_is_computed_again_from_what_its_slope_asks_for():
    def gates(x):
        for i in range(len(x)):
            x[i] = np.sin(x[i] * (1 / (1 + np.exp(-x[i]))))
        return x[0] * x[1] * x[2]

    kept = zyg.compile(gates).inspect(np.ones(3))["forms"]["gradient"]["kept"]
    assert len(kept) <= 5  # of six
    zyg.check_gradient(lambda x: zyg.compile(gates)(x.copy()), np.array([0.3, -0.7, 1.1]))


def test_what_rests_on_numbers_before_a_loop_is_made_again_not_kept_in_each_round():
    def waves(x, n, m):
        total = 0.0
        for k in range(n):
            phase = np.sin(k * x[0])
            shift = np.cos(k * x[1])
            for i in range(m):
                bent = phase * i + shift
                total = np.sin(total + bent * bent * bent)
        return total

    x = np.array([0.3, 0.7])
    compiled = zyg.compile(waves)
    found, *_ = zyg.gradient(compiled, x, 4, 6)
    steps = 1e-6 * np.eye(2)
    expected = [(waves(x + h, 4, 6) - waves(x - h, 4, 6)) / 2e-6 for h in steps]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    kept = compiled.inspect(x, 4, 6)["forms"]["gradient"]["kept"]
    assert sum(size == 4 * 6 * 8 for size in kept.values()) == 1  # what the sine is of
