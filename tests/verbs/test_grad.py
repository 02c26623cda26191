"""`grad` and `value_and_grad`: functions that return bare gradients."""

import functools
import gc
import inspect
import weakref
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize

import zyg
from zyg.errors import ArgumentError, ConversionError, NonScalarOutputError


def loss(x, centre=1.0):
    """A quadratic."""
    return np.sum((x - centre) ** 2)


class Model:
    def __init__(self, w):
        self.w = w

    def loss(self, x):
        return np.sum(self.w * x**2)


def test_it_is_the_gradient_of_one_argument_alone():
    x = np.array([1.0, 2.0])
    assert zyg.grad(lambda x, y: x * y)(2.0, 3.0) == 3.0
    assert zyg.grad(lambda x, y: x * y, 1)(2.0, 3.0) == 2.0
    assert zyg.grad(lambda x, y: x * y, -1)(2.0, 3.0) == 2.0
    assert zyg.grad(lambda x, y: x * y, (1, 0))(2.0, 3.0) == (2.0, 3.0)
    assert zyg.grad(lambda x, y: x * y, (0,))(2.0, 3.0) == (3.0,)
    assert zyg.grad(loss)(x, centre=0.0).tolist() == [2.0, 4.0]
    assert zyg.grad(loss)(x, 0.0).tolist() == [2.0, 4.0]
    value, slope = zyg.value_and_grad(loss)(x, 0.0)
    assert value == 5.0
    assert slope.tolist() == [2.0, 4.0]


def test_other_arguments_are_not_watched():
    seen = []

    def f(x, y, z=0.0):
        seen.extend([zyg.is_traced(x), zyg.is_traced(y), zyg.is_traced(z)])
        return x * y

    zyg.grad(f)(1.0, 2.0, z=3.0)
    zyg.grad(f, 1)(1.0, 2.0)
    assert seen == [True, False, False, False, True, False]


def test_gradients_of_gradients():
    assert zyg.grad(zyg.grad(lambda x: x**3))(2.0) == 12.0
    assert zyg.grad(zyg.grad(zyg.grad(lambda x: x**4)))(2.0) == 48.0
    cross = zyg.grad(zyg.grad(lambda x, y: x**2 * y**3, 0), 1)
    assert cross(2.0, 3.0) == 2 * 2.0 * 3 * 9.0
    zyg.check_gradient(lambda x: zyg.dot(zyg.grad(loss)(x**2, 3.0), x), np.array([1.0, 2.0]))


def test_scipys_solvers_take_it_as_it_is():
    x0 = np.zeros(3)
    by_gradient = scipy.optimize.minimize(loss, x0, jac=zyg.grad(loss))
    by_both = scipy.optimize.minimize(zyg.value_and_grad(loss), x0, args=(4.0,), jac=True)
    assert np.allclose(by_gradient.x, 1.0)
    assert np.allclose(by_both.x, 4.0)


def test_what_nothing_depends_on_is_zero():
    assert zyg.grad(lambda x: 3.0)(2.0) == 0.0
    found = zyg.grad(lambda p: p["a"] * 2)({"a": 1.0, "b": np.ones(2), "name": "x"})
    assert found["a"] == 2.0
    assert found["b"].tolist() == [0.0, 0.0]
    assert found["name"] is None


def test_any_function():
    x = np.array([1.0, 2.0])

    async def square(x):
        return x * x

    assert zyg.grad(square)(3.0) == 6.0
    assert zyg.grad(Model(2.0).loss)(x).tolist() == [4.0, 8.0]
    assert zyg.grad(functools.partial(loss, centre=0.0))(x).tolist() == [2.0, 4.0]
    assert zyg.grad(zyg.compile(loss))(x, 0.0).tolist() == [2.0, 4.0]
    assert zyg.grad(zyg.elementwise(lambda x: x * x))(3.0) == 6.0
    assert zyg.grad(lambda x: x * x)(Fraction(1, 3)) == Fraction(2, 3)
    assert zyg.grad(lambda m: m.loss(x))(Model(2.0)) == zyg.Tangent("Model", w=5.0)
    assert zyg.grad(lambda x, zeros: x * zeros)(2.0, zeros=3.0) == 3.0


def test_a_method_made_by_it_is_bound():
    class Quadratic:
        def __init__(self, a):
            self.a = a

        def __call__(self, x):
            return self.a * x * x

        slope = zyg.grad(__call__, argnums=1)

    assert Quadratic(3.0).slope(2.0) == 12.0


def test_auxiliary_results():
    def f(x, y):
        return x * y, {"seen": x}

    assert zyg.grad(f, has_aux=True)(2.0, 3.0) == (3.0, {"seen": 2.0})
    assert zyg.value_and_grad(f, (0, 1), has_aux=True)(2.0, 3.0) == (
        (6.0, {"seen": 2.0}),
        (3.0, 2.0),
    )


@pytest.mark.parametrize("verb", [zyg.grad, zyg.value_and_grad])
def test_name_docstring_and_signature_are_those_of_f(verb):
    made = verb(loss)
    assert (made.__name__, made.__doc__, made.__wrapped__) == ("loss", "A quadratic.", loss)
    assert inspect.signature(made) == inspect.signature(loss)
    assert verb(functools.partial(loss, centre=2.0)).__name__ == "loss"
    assert verb(Model(1.0).loss).__name__ == "loss"


@dataclass
class Named:
    name: str


@pytest.mark.parametrize("argnums", [True, 1.0, "x", (), (0, 0), (0, "y"), [0], None])
@pytest.mark.parametrize("verb", [zyg.grad, zyg.value_and_grad])
def test_argnums_of_other_types_are_refused(verb, argnums):
    with pytest.raises(ArgumentError, match=r"given argnums=.*\n.*\n.*\n  fix:   pass an int"):
        verb(loss, argnums)


@pytest.mark.parametrize("argnums", [2, -3, (0, 2), (0, -2)])
@pytest.mark.parametrize("verb", [zyg.grad, zyg.value_and_grad])
def test_argnums_out_of_range_are_refused(verb, argnums):
    with pytest.raises(ArgumentError, match=r"loss by argnums=.* called with 2 positional arg"):
        verb(loss, argnums)(1.0, 2.0)
    with pytest.raises(ArgumentError, match="called with 0 positional arguments"):
        verb(loss)(x=1.0)


@pytest.mark.parametrize("x", ["text", None, True, np.array([True]), Named("x"), [], {"a": "b"}])
def test_an_argument_without_numbers_is_refused(x):
    with pytest.raises(ArgumentError, match=r"f by its argument 0, a .*\n.*\n.*no number in it"):
        zyg.grad(_named_f)(x, 2.0)
    with pytest.raises(ArgumentError, match="by its argument 1, a "):
        zyg.value_and_grad(lambda y, x: y, (0, 1))(2.0, x)


def _named_f(x, y):
    return y


def test_another_result_than_one_number_is_refused():
    with pytest.raises(NonScalarOutputError, match="returned a tuple; gradient needs one real"):
        zyg.grad(lambda x: (x, 1))(2.0)
    with pytest.raises(NonScalarOutputError, match=r"a tuple of 2; .*\n.*\n.*\n.*say has_aux=True"):
        zyg.value_and_grad(lambda x: (x, 1))(2.0)
    for verb in (zyg.grad, zyg.value_and_grad):
        with pytest.raises(NonScalarOutputError, match=r"returned a float.*needs a pair"):
            verb(lambda x: x, has_aux=True)(2.0)
        with pytest.raises(NonScalarOutputError, match="a tuple of 3"):
            verb(lambda x: (x, 1, 2), has_aux=True)(2.0)


def _weighted(n, x, y):
    return (x * y).sum() * n


@pytest.mark.parametrize("argnums", [0, 1, -1, (1, 2), (2, 1), (0, 1, 2), (-1, 0)])
@pytest.mark.parametrize("verb", [zyg.grad, zyg.value_and_grad])
@pytest.mark.parametrize("n", [2, 2.0])
def test_machine_code_gives_the_same(verb, argnums, n):
    args = n, np.arange(3.0), np.ones(3, np.float32)

    found = verb(zyg.compile(_weighted), argnums)(*args)

    assert repr(found) == repr(verb(_weighted, argnums)(*args))


def test_arguments_that_machine_code_does_not_use_have_zeros():
    def doubled(n, x, k, y):
        return y * 2.0

    args = 1, np.ones(2, np.float32), np.arange(2), 3.0

    for verb in (zyg.grad, zyg.value_and_grad):
        found = verb(zyg.compile(doubled), (0, 1, 2, 3))(*args)

        assert repr(found) == repr(verb(doubled, (0, 1, 2, 3))(*args))


@pytest.mark.parametrize("made", [lambda f: f, zyg.compile])
def test_other_arguments_are_written_to(made):
    def logged(x, log):
        log[0] += x
        return x * x

    def noted(x, log):
        log[0] += 1.0
        return x * x

    f, log = made(noted), np.zeros(2)

    assert [zyg.grad(f)(2.0, log), zyg.value_and_grad(f)(2.0, log)] == [4.0, (4.0, 4.0)]
    np.testing.assert_array_equal(log, [2.0, 0.0])
    with pytest.raises(ConversionError):
        zyg.grad(made(logged))(2.0, log)


def test_what_is_watched_outside_is_not_lost_in_machine_code():
    def slope(f, z):
        return zyg.grad(f, 1)(2.0, np.ones(3), z * np.ones(3)).sum()

    assert zyg.gradient(lambda z: slope(zyg.compile(_weighted), z), 3.0) == (6.0,)


def test_compiled_functions_are_freed_without_the_collector():
    f = zyg.compile(_weighted)
    zyg.grad(f, 1)(2.0, np.ones(2), np.ones(2))
    seen = weakref.ref(f)
    gc.disable()
    try:
        del f
        assert seen() is None
    finally:
        gc.enable()
