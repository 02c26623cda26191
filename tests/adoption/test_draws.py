"""Draws in adopted modules: by whatever generator, as NumPy draws them."""

import numpy as np
import pytest

import zyg
from zyg import errors

DRAWS = """
    import numpy as np
    from numpy.random import default_rng, normal

    RNG = np.random.default_rng(3)
    OLD = np.random.RandomState(3)

    class Model:
        def __init__(self, rng): self.rng = rng
        def power(self, x): return 3 * x
        def sample(self, mu): return self.rng.normal(mu, 1.0, 3).sum() + self.power(mu)

    def passed(mu, rng): return rng.normal(mu, 1.0, 3).sum()
    def of_global(mu): return RNG.laplace(mu, 1.0, 3).sum()
    def made(mu): return default_rng(0).normal(loc=mu, scale=1.0, size=3).sum()
    def by_module(mu): return np.random.default_rng(0).normal(mu, size=3).sum()
    def old(mu): return OLD.normal(mu) + np.random.normal(mu) + normal(mu)
    def kept(mu):
        draw = default_rng(0).normal
        return draw(mu) * 3
    def inner(mu): return sum(RNG.gumbel(m) for m in [mu, mu, mu])
    def held(mu): return Model(RNG).sample(mu) / 2
    def other(mu): return np.power(mu, 2) + Model(None).power(mu)
    def whole(mu): return RNG.poisson(mu)
"""


@pytest.fixture
def draws(write):
    write({"draws.py": DRAWS})
    import draws

    return draws


@pytest.mark.parametrize("name", ["of_global", "made", "by_module", "old", "kept", "inner", "held"])
def test_a_location_moves_all_samples(draws, name):
    with zyg.adopt(draws):
        assert zyg.gradient(getattr(draws, name), 1.5) == (3.0,)


def test_a_generator_that_is_passed_in_is_drawn_of(draws):
    rng, plain = np.random.default_rng(0), np.random.default_rng(0)
    with zyg.adopt(draws):
        value, slopes = zyg.value_and_gradient(lambda mu: draws.passed(mu, rng), 1.5)
    assert (value, slopes) == (plain.normal(1.5, 1.0, 3).sum(), (3.0,))
    assert rng.bit_generator.state == plain.bit_generator.state


def test_what_has_the_name_of_a_draw_is_called_as_ever(draws):
    with zyg.adopt(draws):
        assert zyg.gradient(draws.other, 1.5) == (6.0,)


def test_whole_numbers_are_refused_and_without_adoption_all(draws):
    with zyg.adopt(draws), pytest.raises(errors.MissingRuleError, match="a draw of poisson"):
        zyg.gradient(draws.whole, 1.5)
    with pytest.raises(errors.ConversionError, match=r"zyg\.adopt"):
        zyg.gradient(draws.made, 1.5)
