"""Refusals that f catches, and goes on without the derivative that they are about."""

import contextlib
import threading
import warnings

import numpy as np
import pytest

import zyg
from zyg.errors import ConversionError, MissingRuleError, MutationError

X = np.array([0.3, 0.7, 1.1])


def caught(x):
    try:
        y = float(x)
    except TypeError:
        y = 2.0
    return y * x


def suppressed(x):
    with contextlib.suppress(NotImplementedError):
        np.frompyfunc(abs, 1, 1)(x)
    return x


def stored(x):
    y = np.zeros(3)
    try:
        y[0] = x
    except ValueError as error:  # NumPy's, which the refusal caused
        y[0] = len(str(error))
    return x + y[0]


def stored_through_flat(x):
    y = np.zeros(3)
    with contextlib.suppress(ValueError):
        y.flat[0] = x
    return x + y[0]


def filled(x):
    y = np.zeros(3)
    with contextlib.suppress(ValueError):
        y.fill(x)
    return x + y[0]


def of_the_other_level(x):
    return zyg.gradient(lambda y: caught(x) * y, 2.0)[0]


def around_a_gradient(x):
    try:
        return zyg.gradient(lambda y: float(x) * y, 2.0)[0]
    except TypeError:
        return x


def in_a_thread(x):
    thread = threading.Thread(target=caught, args=(x,))
    thread.start()
    thread.join(60)
    return x


def in_threads(x):
    return sum(zyg.threads.map(caught, [x, 2 * x]))


async def in_a_task(x):
    import trio

    async with trio.open_nursery() as nursery:
        nursery.start_soon(later, x)
    return x


async def later(x):
    return caught(x)


EVERY = [
    caught,
    suppressed,
    stored,
    stored_through_flat,
    filled,
    of_the_other_level,
    around_a_gradient,
    in_a_thread,
    in_a_task,
]


@pytest.mark.parametrize("f", EVERY)
def test_a_refusal_that_f_swallows_is_raised_when_f_ends(f):
    for verb in (zyg.gradient, zyg.pullback, lambda f, x: zyg.pushforward(f, (x,), (1.0,))):
        with pytest.raises((ConversionError, MissingRuleError), match="\n  caught: ") as caught:
            verb(f, 2.0)
        assert 'zyg.config(swallowed="allow")' in str(caught.value)
    with zyg.config(swallowed="allow"):
        zyg.gradient(f, 2.0)


def test_the_message_names_the_line_of_the_conversion_and_the_line_that_caught_it():
    with pytest.raises(ConversionError) as error:
        zyg.gradient(caught, 2.0)
    text = str(error.value)
    assert "in caught: y = float(x)\n  caught: " in text
    assert "in caught: except TypeError:\n  why:   " in text
    assert text.count("caught: except") == 1


def test_tasks_of_zygs_own_tell_their_refusals():
    with pytest.raises(ConversionError, match="\n  caught: "):
        zyg.gradient(in_threads, 2.0)


def test_it_can_be_allowed_for_a_block():
    def f(x):
        with zyg.config(swallowed="allow"):
            return caught(x)

    assert zyg.gradient(f, 3.0) == (2.0,)
    with pytest.raises(ConversionError):
        zyg.gradient(lambda x: f(x) + caught(x), 3.0)
    with pytest.raises(ValueError, match="swallowed is one of"):
        zyg.config(swallowed="no")


def test_what_f_raises_itself_goes_first():
    def f(x):
        caught(x)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as error:
        zyg.gradient(f, 3.0)
    assert isinstance(error.value.__context__, ConversionError)


def test_checkpoints_tell_their_refusals():
    with pytest.raises(ConversionError, match="\n  caught: "):
        zyg.gradient(lambda x: zyg.checkpoint(caught, x), 2.0)


def test_writes_that_are_refused_count():
    def f(x):
        with contextlib.suppress(MutationError):
            x.setfield(1.0, float)
        return np.sum(x)

    with pytest.raises(MutationError, match=r"\n  caught: .*suppress"):
        zyg.gradient(f, X)


def test_a_caught_refusal_to_be_a_key_loses_nothing():
    def f(x):
        try:
            return {x: 1.0}[x]
        except TypeError:
            return x * x

    assert zyg.gradient(f, 3.0) == (6.0,)


ORDINARY = [
    lambda x: np.sum(np.array([x[0], 1.0]) * 2) + len(x),
    lambda x: np.mean([x[0], x[1]]) * hasattr(x, "__len__") * hasattr(x[0], "shape"),
    lambda x: np.sum(np.vectorize(lambda v: v * v)(x)) + np.ndim([x[0]]),
    lambda x: np.r_[x, 1.0].sum() + np.c_[x, x].sum(),
    lambda x: np.ones(3) @ x + np.float64(2) * x[0] + (np.ones(3) * x).sum(),
    lambda x: np.sum(np.block([[x, x]])) + np.shape([x, x])[0] * x[0],
    lambda x: sum(sorted([*x])) + max(x) + np.max(np.asarray(x)) * isinstance(x[0], float),
    lambda x: np.poly1d([x[0], 1.0])(2.0) * callable(x) + np.sum(x, where=[True, False, True]),
    lambda x: np.linspace(0, x[0], 3).sum() + np.zeros_like(x).sum() + np.full(2, x[0]).sum(),
    lambda x: np.arange(5)[np.argmax(x)] * x[0] + [1.0, 2.0][int(x[2])] * x[1],
    lambda x: x[0] if x[0] == "a" or x[0] in (1, None) else x[1] * (f"{x[0]:.9f}" != str(x)),
]


@pytest.mark.parametrize("f", ORDINARY)
def test_what_numpy_asks_in_vain_is_not_told(f):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zyg.errors.PerformanceWarning)
        zyg.check_gradient(f, X, order=1)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize("ask", [np.array_equal, np.array_equiv])
def test_numpys_answer_that_a_refused_list_equals_nothing_is_raised(ask):
    def f(x):
        with zyg.config(object_elements=2):
            return x if ask([x, x, x], [2.0, 2.0, 2.0]) else -x

    with pytest.raises(ConversionError, match=rf"caught: .*in {ask.__name__}"):
        zyg.gradient(f, 2.0)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize("ask", [np.array_equal, np.array_equiv])
def test_lists_of_watched_values_are_compared(ask):
    def f(x):
        assert ask([x, 2 * x], [2.0, 4.0])
        assert ask((2.0, 4.0), [x, 2 * x])
        assert not ask([x, 2 * x], [2.0, 5.0])
        assert ask([x * np.ones(2), [x, 3.0]], [[2.0, 2.0], [2.0, 3.0]])
        return x

    assert zyg.gradient(f, 2.0) == (1.0,)
