"""The checks themselves: what they accept, what they find, and what they say."""

import ctypes
import re
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import zyg
from zyg.errors import AdjointError, GradientMismatchError

X = np.array([0.5, -1.25, 2.0])
Pair = namedtuple("Pair", "first second")


def rule(value, pullback):
    """A function with a rule made of these two; the pullback also gets the arguments."""

    @zyg.adjoint
    def ruled(*args):
        def ruled_pullback(y_bar):
            return pullback(y_bar, *args)

        return value(*args), ruled_pullback

    return ruled


# What check_gradient accepts


@dataclass
class Model:
    weights: np.ndarray
    bias: float
    name: str = "linear"


ACCEPTED = {
    "no dependence": (lambda x: 1.0, (X,)),
    "an integer result": (lambda x: 3, (X,)),
    "a list": (lambda xs: xs[0] * xs[1], ([X, 2.0],)),
    "a dict": (lambda d: {"a": d["x"] ** 2, "b": [d["y"], "text"]}, ({"x": X, "y": 3.0},)),
    "a namedtuple": (lambda p: Pair(p.second * p.first, p.first), (Pair(X, 2.0),)),
    "an object": (lambda m, x: m.weights @ x + m.bias, (Model(X, 1.0), X + 1)),
    "an integer that counts": (lambda x, n: x[:n] ** n, (X, 2)),
    "None among the arguments": (lambda x, nothing: x, (X, None)),
    "complex to real": (lambda z: np.abs(z) ** 2, (X + 1j,)),
    "real to complex": (lambda x: np.exp(1j * x), (X,)),
    "not holomorphic": (lambda z: z * np.conj(z) + z.real, (X - 2j,)),
    "Python's complex": (lambda z: z * z, (1 + 2j,)),
    "a complex and a real argument": (lambda z, x: z * x, (X + 1j, X)),
    "float32": (lambda x: np.exp(x) * x, (X.astype(np.float32),)),
    "complex64": (lambda z: z * np.conj(z) * z, ((X + 1j).astype(np.complex64),)),
    "float16": (lambda x: x * x, (X.astype(np.float16),)),
    "float32 inside": (lambda x: x.astype(np.float32) ** 2, (X,)),
    "mixed precision": (lambda x, y: x * y, (X, X.astype(np.float32))),
    "numbers of numpy": (lambda x, y: x * y, (np.float64(2.0), np.float32(3.0))),
    "0-d": (lambda x: x * x, (np.array(2.0),)),
    "size 0": (lambda x: x * x, (np.zeros((0, 2)),)),
    "large": (lambda x: x**2, (1e9 * X,)),
    "small": (lambda x: np.log(np.abs(x)), (1e-9 * X,)),
    "the same array twice": (lambda pair: pair[0] * pair[1], ([X, X],)),
    "not contiguous": (lambda x: x[::-1] * x, (np.zeros((6, 2))[::2, 1] + X,)),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_right_gradients_are_accepted(name):
    f, args = ACCEPTED[name]
    zyg.check_gradient(f, *args)
    zyg.check_gradient(f, *args, order=3)


def test_order_zero_checks_nothing_and_negative_neither():
    wrong = rule(lambda x: x * x, lambda y_bar, x: (y_bar,))
    zyg.check_gradient(wrong, X, order=0)


def test_arguments_are_left_alone():
    x = X.copy()
    zyg.check_gradient(lambda x: x * x, x)
    zyg.check_adjoint(np.square, x)

    np.testing.assert_array_equal(x, X)


def test_the_global_random_state_is_left_alone():
    np.random.seed(3)
    before = np.random.get_state()[1].copy()
    zyg.check_adjoint(np.square, X)

    np.testing.assert_array_equal(np.random.get_state()[1], before)


# What check_gradient finds

# A rule that is right at first order only: its pullback hides a factor from the next level.
hidden = rule(lambda x: x**3, lambda y_bar, x: (y_bar * 3 * zyg.stop_gradient(x) ** 2,))

SINGLE = X.astype(np.float32)
WRONG = {
    "a factor": (rule(np.square, lambda y_bar, x: (y_bar * x,)), (X,), 1),
    "a sign": (rule(np.cos, lambda y_bar, x: (y_bar * np.sin(x),)), (X,), 1),
    "a part in a million": (
        rule(np.exp, lambda y_bar, x: (1.000001 * y_bar * np.exp(x),)),
        (X,),
        1,
    ),
    "None where something flows": (rule(np.square, lambda y_bar, x: (None,)), (X,), 1),
    "one element": (rule(np.positive, lambda y_bar, x: (y_bar * [1, 1, 0],)), (X,), 1),
    "no conjugate": (rule(lambda z: 1j * z, lambda y_bar, z: (1j * y_bar,)), (X + 1j,), 1),
    "one argument": (rule(np.multiply, lambda c, x, y: (c * y, c * y)), (X, X + 1), 1),
    "hidden from the second order": (hidden, (X,), 2),
    "a dropped dependence": (lambda x: zyg.stop_gradient(x) * x, (X,), 1),
    "a hook": (lambda x: zyg.hook(lambda x_bar: 2 * x_bar, x), (X,), 1),
    "float32": (rule(np.exp, lambda y_bar, x: (1.01 * y_bar * np.exp(x),)), (SINGLE,), 1),
    "NaN": (rule(np.exp, lambda y_bar, x: (y_bar * np.nan,)), (X,), 1),
    "inside a list": (lambda xs: xs[0] * zyg.stop_gradient(xs[1]), ([X, X + 1],), 1),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_gradients_are_found(name):
    f, args, order = WRONG[name]
    zyg.check_gradient(f, *args, order=order - 1)
    with pytest.raises(GradientMismatchError, match=f"order {order} "):
        zyg.check_gradient(f, *args)


def test_the_message_says_argument_order_and_both_numbers():
    wrong = rule(np.multiply, lambda y_bar, x, y: (y_bar * y, 2 * y_bar * x))
    with pytest.raises(GradientMismatchError) as caught:
        zyg.check_gradient(wrong, 2.0, 3.0)
    found = re.search(
        r"the derivative of ruled of order 1 by argument 1 is wrong: along a random direction "
        r"it is (\S+), finite differences give (\S+) \(float, float; taken in reverse mode\)",
        str(caught.value),
    )

    assert found
    assert float(found[1]) == pytest.approx(2 * float(found[2]))
    assert "test_testing.py" in str(caught.value)


def test_check_adjoint_names_arguments_by_their_places_in_the_call():
    wrong = rule(lambda n, x, y: x * y, lambda y_bar, n, x, y: (None, y_bar * y, y_bar))
    with pytest.raises(GradientMismatchError, match="by argument 2"):
        zyg.check_adjoint(wrong, 5, X, X + 1)


def test_tolerances_can_be_given():
    nearly = rule(np.exp, lambda y_bar, x: (y_bar * 1.001 * np.exp(x),))
    zyg.check_gradient(nearly, X, order=1, rtol=1e-2)
    zyg.check_gradient(nearly, X, order=1, atol=1.0)
    with pytest.raises(GradientMismatchError):
        zyg.check_gradient(nearly, X, order=1)


def test_an_unknown_mode_is_refused_and_the_known_ones_named():
    zyg.check_gradient(np.sin, X, modes=("reverse",))
    with pytest.raises(ValueError, match="unknown mode 'sideways'; there is: 'reverse'"):
        zyg.check_gradient(np.sin, X, modes=("reverse", "sideways"))


# What check_adjoint finds beside


def counted(y_bar, x, calls=[]):  # noqa: B006
    calls.append(1)
    return (y_bar * (1 + 1e-3 * len(calls)),)


def memory_of(x):
    """An array as C has it: NumPy refuses a write to what a rule gets, and C does not ask."""
    number = np.ctypeslib.as_ctypes_type(x.dtype)
    return np.ctypeslib.as_array(ctypes.cast(x.ctypes.data, ctypes.POINTER(number)), x.shape)


def double_in_place(x):
    memory = memory_of(zyg.primal(x))
    memory *= 2.0
    return x / 2.0


def overwrite(y_bar, x):
    memory = memory_of(x)
    memory *= 2.0
    return (y_bar,)


CONSTANT = np.ones(2)


class _Moody:
    calls = 0

    def __call__(self, x):
        _Moody.calls += 1
        return x + 1e-9 * (_Moody.calls % 2)


BROKEN = {
    "changed its arguments": rule(double_in_place, lambda y_bar, x: (y_bar,)),
    "pullback changed the arguments": rule(lambda x: x * 1.0, overwrite),
    "shares memory": lambda x: (x * 1.0, CONSTANT, CONSTANT[:1]),
    "another result when reused": rule(lambda x: x * 1.0, counted),
    "not linear": rule(lambda x: x * 1.0, lambda y_bar, x: (y_bar + 1.0,)),
    "under a gradient its value is": rule(_Moody(), lambda y_bar, x: (y_bar,)),
    "strided arguments": rule(
        lambda x: x * (1.0 if x.flags.c_contiguous else 2.0), lambda y_bar, x: (y_bar,)
    ),
}


@pytest.mark.parametrize("promise", BROKEN)
def test_broken_promises_are_found(promise):
    with pytest.raises(AdjointError, match=promise):
        zyg.check_adjoint(BROKEN[promise], X.copy())


def test_a_cotangent_of_another_shape_is_found():
    with pytest.raises(AdjointError, match="shape"):
        zyg.check_adjoint(rule(np.sum, lambda y_bar, x: (y_bar,)), X)


def test_a_rule_wrong_for_complex_numbers_only_is_found():
    wrong = rule(lambda x: 1j * x, lambda y_bar, x: (1j * y_bar,))
    with pytest.raises(GradientMismatchError, match=r"complex128|float64"):
        zyg.check_adjoint(wrong, X, complex=True)
    real_only = rule(lambda x: x * x, lambda y_bar, x: (2 * x * y_bar,))
    zyg.check_gradient(real_only, X)
    with pytest.raises(GradientMismatchError, match="complex128"):
        zyg.check_adjoint(real_only, X, complex=True)


def test_a_rule_for_real_numbers_is_tested_with_what_the_arguments_are():
    @zyg.adjoint
    def cube(x):
        return x**3, lambda y_bar: (y_bar * 3 * x**2,)

    for x in (2.0, np.float64(2.0), X, X.astype(np.float32), np.array(2.0)):
        zyg.check_adjoint(cube, x)
    for x, asked in ((2.0, True), (X, True), (X + 1j, False), (2 + 1j, False)):
        with pytest.raises(GradientMismatchError, match="complex"):
            zyg.check_adjoint(cube, x, complex=asked)


def test_a_rule_wrong_in_single_precision_only_is_found():
    def half(x):
        return 0.5 if x.dtype == np.float32 else 1.0

    wrong = rule(lambda x: x * 1.0, lambda y_bar, x: (y_bar * half(x),))
    zyg.check_gradient(wrong, X)
    with pytest.raises(GradientMismatchError, match="float32"):
        zyg.check_adjoint(wrong, X)


def test_a_rule_wrong_with_one_constant_operand_is_found():
    @zyg.adjoint
    def times(x, y):
        def times_pullback(y_bar):
            return y_bar * y, y_bar * x

        return x * y, times_pullback

    def dropped(x, y):
        return (
            times(x, y) if zyg.is_traced(x) and zyg.is_traced(y) else times(x, zyg.stop_gradient(y))
        )

    zyg.check_gradient(dropped, X, X + 1)
    with pytest.raises(GradientMismatchError, match="by argument 1"):
        zyg.check_adjoint(dropped, X, X + 1)


def test_a_function_that_refuses_complex_numbers_passes():
    zyg.check_adjoint(np.floor, X + 0.1, complex=True)
    zyg.check_adjoint(np.sign, X, complex=True)
    zyg.check_adjoint(np.arctan2, X, X + 1, complex=True)


def test_a_rule_is_called_with_its_keywords():
    zyg.check_adjoint(np.sum, np.ones((2, 3)), axis=0, keepdims=True, complex=True)


def test_what_gives_several_results_in_any_structure():
    zyg.check_adjoint(
        lambda x, y: {"sum": x + y, "parts": (x, [y, 2.0 * x])}, X, X + 1, complex=True
    )


# What both find in forward mode


def pushed(pushforward, value=np.square, pullback=lambda y_bar, x: (2 * y_bar * np.conj(x),)):
    """A function with the right pullback and this pushforward, which also gets the arguments."""
    made = rule(value, pullback)

    @made.pushforward
    def pushed_forward(*args):
        return value(*args), lambda *tangents: pushforward(*tangents, *args)

    return made


def linear(places, value, pullback):
    made = rule(value, pullback)
    made.linear = places
    return made


def test_right_forward_rules_are_accepted():
    zyg.check_adjoint(pushed(lambda x_dot, x: 2 * x * x_dot), X, complex=True)
    zyg.check_adjoint(pushed(lambda x_dot, x: 2 * x * x_dot), np.array(2.0), complex=True)
    times = linear((0, 1), np.multiply, lambda c, x, y: (c * np.conj(y), c * np.conj(x)))
    zyg.check_adjoint(times, X, X + 1, complex=True)
    both = pushed(
        lambda x_dot, x: {"a": 2 * x_dot, "b": [2 * x * x_dot, None]},
        lambda x: {"a": 2 * x, "b": [x * x, "text"]},
        lambda c, x: (2 * c["a"] + 2 * np.conj(x) * c["b"][0],),
    )
    zyg.check_adjoint(both, X, complex=True)


def stopped(x_dot, x):
    return 2 * zyg.stop_gradient(x) * x_dot


WRONG_FORWARD = {
    "a factor": (pushed(lambda x_dot, x: x * x_dot), (X,), 1),
    "a part in a million": (pushed(lambda x_dot, x: 2.000002 * x * x_dot), (X,), 1),
    "None where something moves": (pushed(lambda x_dot, x: None), (X,), 1),
    "a constant": (pushed(lambda x_dot, x: np.ones(3)), (X,), 1),
    "the tangent itself": (pushed(lambda x_dot, x: x_dot), (X,), 1),
    "NaN": (pushed(lambda x_dot, x: np.nan * x_dot), (X,), 1),
    "hidden from the second order": (pushed(stopped), (X,), 2),
    "not linear though marked": (
        linear((0,), np.square, lambda c, x: (2 * c * np.conj(x),)),
        (X,),
        1,
    ),
    "affine though marked linear": (linear((0,), lambda x: x + 1, lambda c, x: (c,)), (X,), 1),
    "linear in one of two marked": (
        linear((0, 1), lambda x, y: x * y * y, lambda c, x, y: (c * y * y, 2 * c * x * y)),
        (X, X + 1),
        1,
    ),
}


@pytest.mark.parametrize("name", WRONG_FORWARD)
def test_wrong_forward_rules_are_found(name):
    f, args, order = WRONG_FORWARD[name]
    zyg.check_gradient(f, *args, modes=("reverse",))
    zyg.check_gradient(f, *args, order=order - 1)
    for check in (zyg.check_gradient, zyg.check_adjoint):
        with pytest.raises(GradientMismatchError, match=f"order {order} .*taken in .*forward"):
            check(f, *args)


def test_a_forward_rule_wrong_for_one_moving_argument_is_found():
    def pushforward(x_dot, y_dot, x, y):
        if x_dot is None:
            return x * y_dot * 2
        return x_dot * y + (0 if y_dot is None else x * y_dot)

    wrong = pushed(pushforward, np.multiply, lambda c, x, y: (c * y, c * x))
    zyg.check_gradient(wrong, X, X + 1)
    with pytest.raises(GradientMismatchError, match=r"by argument 1.*forward"):
        zyg.check_adjoint(wrong, X, X + 1)


BROKEN_FORWARD = {
    r"the tangent of its result has shape \(\); the result \(3,\)": lambda x_dot, x: np.sum(x_dot),
    r"the tangent of its result has shape \(1, 3\)": lambda x_dot, x: (2 * x * x_dot)[None],
    "the tangent of its result is a list": lambda x_dot, x: [0.0, 0.0, 0.0],
    "changed the tangents or the values": lambda x_dot, x: x * x_dot.__imul__(2.0),
    "two equal tangents gave different": lambda x_dot, x: x_dot * 2 * x * _grown(),
}


def _grown(calls=[]):  # noqa: B006
    calls.append(1)
    return 1 + 1e-10 * len(calls)


@pytest.mark.parametrize("promise", BROKEN_FORWARD)
def test_broken_promises_of_forward_rules_are_found(promise):
    with pytest.raises(AdjointError, match=promise):
        zyg.check_adjoint(pushed(BROKEN_FORWARD[promise]), X.copy())


def test_a_forward_rule_that_writes_to_the_argument_is_found():
    def overwrites(x_dot, x):
        memory = memory_of(x)
        memory *= 2.0
        return x * x_dot

    with pytest.raises(AdjointError, match=r"the rule of .* is wrong"):
        zyg.check_adjoint(pushed(overwrites), X.copy())


def test_a_forward_rule_with_another_value_is_found():
    made = rule(np.square, lambda y_bar, x: (2 * y_bar * np.conj(x),))
    made.pushforward(lambda x: (x * x + 1e-9, lambda x_dot: 2 * x * x_dot))
    zyg.check_gradient(made, X)
    with pytest.raises(AdjointError, match="under a gradient its value is"):
        zyg.check_adjoint(made, X)


def test_modes_can_be_chosen():
    wrong = pushed(lambda x_dot, x: x * x_dot)
    zyg.check_gradient(wrong, X, modes=("reverse",))
    with pytest.raises(GradientMismatchError):
        zyg.check_gradient(wrong, X, modes=("forward",))
    hooked = lambda x: zyg.hook(lambda d: d, x) ** 2  # noqa: E731
    zyg.check_gradient(hooked, X, modes=("reverse",))


def test_arguments_keep_their_order_in_memory():
    def f(a):
        assert a.flags.f_contiguous
        assert not a.flags.c_contiguous
        return np.sin(a) @ np.arange(3.0)

    zyg.check_gradient(f, np.asfortranarray(np.arange(6.0).reshape(2, 3)))
