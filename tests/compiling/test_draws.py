"""Generators of random numbers as arguments: draws are called back, in order, each once."""

import gc
import warnings

import numpy as np
import pytest

import zyg
import zyg.numpy
from zyg.compiler import draws
from zyg.errors import ConversionError, PerformanceWarning

X = np.linspace(0.1, 1, 8)


def noise(x, rng):
    return np.sum(x * rng.normal(size=8)) + rng.random() * x[0]


def in_branches_and_loops(x, rng):
    s = 0.0
    for k in range(len(x)):
        if x[k] > 0.5:
            s += x[k] * rng.random()
        else:
            s += rng.normal(0.0, 2.0) * x[k] ** 2
    return s + rng.integers(5) * x[0]


def unused(x, rng):
    rng.normal()
    return np.sum(x) * rng.random()


def until(x, rng):
    s, k = 0.0, 0
    while s < 3.0:
        s += rng.random() * x[k % 8]
        k += 1
    return s


def of_helpers(x, rng):
    return np.sum(pair(rng) * x[:2]) + pair(rng)[1] * x[3]


def pair(rng):
    return rng.normal(size=2)


def recursive(x, rng):
    return down(5, x, rng) + rng.random()


def down(n, x, rng):
    return x[n] * rng.random() + down(n - 1, x, rng) if n else 0.0


def of_a_drawn_size(x, rng):
    y = rng.normal(size=rng.integers(2, 10))
    y = y * x[0]
    return np.sum(y * y)


def a_long_loop(x, rng):
    p = 1.0
    for k in range(3000):
        p = np.sin(p * x[k % 8]) + rng.random() * x[0]
    return p


def inside_a_gradient(x, rng):
    n = rng.normal(size=8)
    return np.sum(zyg.gradient(lambda y: np.sum(y**2 * n), x)[0] * x)


LOSSES = [
    noise, in_branches_and_loops, unused, until, of_helpers, recursive, of_a_drawn_size,
    a_long_loop, inside_a_gradient,
]  # fmt: skip


class Pair:
    """A generator for the compiled function, and one for Python."""

    def __init__(self, f):
        self.ours, self.pythons = np.random.default_rng(3), np.random.default_rng(3)
        self.f, self.compiled = f, zyg.compile(f)

    def demand(self, verb):
        """What a verb gives of both, and that both generators have gone as far."""
        found = verb(lambda x: self.compiled(x, self.ours))
        expected = verb(lambda x: self.f(x, self.pythons))
        for x, y in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)
        assert self.ours.bit_generator.state == self.pythons.bit_generator.state


@pytest.mark.parametrize("f", LOSSES)
def test_numbers_and_states_are_those_of_python(f):
    both = Pair(f)
    with zyg.config(fallback="error", tape_bytes=8000 if f is a_long_loop else 1 << 30):
        for _ in range(3):
            both.demand(lambda g: g(X))
        assert "machine code" in repr(both.compiled.inspect(X, both.ours))
        by_x, by_rng = zyg.gradient(both.compiled, X, both.ours)
        assert by_rng is None
        np.testing.assert_allclose(by_x, zyg.gradient(f, X, both.pythons)[0], rtol=1e-9)
        both.demand(lambda g: zyg.gradient(lambda x: g(x * 2.0) * 3.0, X)[0])
        both.demand(lambda g: zyg.pushforward(g, (X,), (X,))[1])


def test_each_call_of_a_pullback_has_the_numbers_of_its_call():
    both = Pair(noise)
    y, back = zyg.pullback(lambda x: both.compiled(x, both.ours), X)
    wanted, right = zyg.pullback(lambda x: noise(x, both.pythons), X)
    both.demand(lambda g: g(X))
    assert y == pytest.approx(wanted, rel=1e-12)
    for _ in range(2):
        np.testing.assert_allclose(back(1.0)[0], right(1.0)[0])
    both.demand(lambda g: g(X))


def arrays(x, rng):
    return x[rng.permutation(8)] * rng.choice([1.0, -1.0], size=8), rng.integers(
        0, 9, size=(2, 3), dtype=np.int16
    ), rng.random(), rng.standard_normal()  # fmt: skip


def test_results_have_their_types():
    ours, pythons = np.random.default_rng(5), np.random.default_rng(5)
    compiled = zyg.compile(arrays)
    with zyg.config(fallback="error"):
        found, expected = compiled(X, ours), arrays(X, pythons)
    for x, y in zip(found, expected, strict=True):
        assert type(x) is type(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_array_equal(x, y)


def beyond(x, rng):
    a = rng.normal()
    return a * x[int(a * 0) + 8]


def large(x, rng):
    n = int(rng.integers(2**62, 2**62 + 5))
    return n * n * x[0]


def test_what_stops_has_drawn_nothing():
    with zyg.config(fallback="silent"):
        Pair(large).demand(lambda g: g(X))
        both = Pair(beyond)
        for f, rng in ((both.compiled, both.ours), (beyond, both.pythons)):
            with pytest.raises(IndexError):
                f(X, rng)
        assert both.ours.bit_generator.state == both.pythons.bit_generator.state


def by_what_is_drawn(x, rng):
    return np.sum(rng.normal(x, 1.0) * x)


def test_a_watched_parameter_is_refused_as_in_python():
    both = Pair(by_what_is_drawn)
    both.demand(lambda g: g(X))
    for f, rng in ((both.compiled, both.ours), (by_what_is_drawn, both.pythons)):
        with pytest.raises(ConversionError):
            zyg.gradient(f, X, rng)
    with pytest.raises(ConversionError, match="cannot draw normal with a watched parameter"):
        zyg.gradient(both.compiled, X, both.ours)


def test_a_generator_whose_draws_move_is_left_to_python():
    rng = zyg.numpy.random.default_rng(3)
    with pytest.warns(PerformanceWarning, match="a generator whose draws move"):
        slopes = zyg.gradient(zyg.compile(by_what_is_drawn), X, rng)
    expected = zyg.gradient(by_what_is_drawn, X, zyg.numpy.random.default_rng(3))
    np.testing.assert_array_equal(slopes[0], expected[0])


def returned(x, rng):
    return x * rng.random(), rng


def shuffled(x, rng):
    y = x.copy()
    rng.shuffle(y)
    return y


def of_what_kind(x, rng):
    return isinstance(rng, np.random.Generator), isinstance(rng, int), rng is None


def twice(x, rng):
    return of_two(rng, rng)


def of_two(one, other):
    return one.random() + 2 * other.random()


def test_what_is_not_known_is_pythons():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for f in (shuffled, of_what_kind, twice):
            Pair(f).demand(lambda g: g(X))
        rng, one = np.random.default_rng(3), np.random.default_rng(3)
        assert zyg.compile(returned)(X, rng)[1] is rng
        assert zyg.compile(of_two)(one, one) == of_two(*[np.random.default_rng(3)] * 2)


def test_nothing_is_kept():
    compiled, before = zyg.compile(noise), {*draws._drawn}
    compiled(X, np.random.default_rng(3))
    zyg.gradient(compiled, X, np.random.default_rng(3))
    gc.collect()
    assert {*draws._drawn} <= before
