"""Arguments of a pullback that kernels alone have asked for are not copied, and nobody notices."""

import gc
import math

import numpy as np
import pytest

import zyg
from zyg.base import buffers
from zyg.errors import MutationError

from ..kernels.backend import forget_plans, in_python

N = 1000  # numbers, more than 4 KB
BAR = np.cos(np.arange(N))


@pytest.fixture(autouse=True)
def _in_python(monkeypatch):
    in_python(monkeypatch)
    yield
    forget_plans()


def curve(x, a):
    return a / (1 + math.exp(-x))


def kernel(x, a, mode="cache"):
    return zyg.broadcast(curve, x, a, mode=mode)


def arrays():
    return np.linspace(-1, 1, N).copy(), np.linspace(1, 2, N).copy()  # of their own memory


@pytest.fixture(autouse=True)
def want(_in_python):
    """What a pullback gives of what the arrays are; and the next call is like one before."""
    x, a = arrays()
    zyg.pullback(kernel, x, a)
    return [curve_of(x, a), *slopes_of(x, a)]


def curve_of(x, a):
    return a / (1 + np.exp(-x))


def slopes_of(x, a):
    s = 1 / (1 + np.exp(-x))
    return BAR * a * s * (1 - s), BAR * s


def close(found, want):
    for one, other in zip(found, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def overwritten(*args):
    for x in args:
        assert x.flags.writeable
        x[:] = np.nan


@pytest.mark.parametrize("mode", ["cache", "recompute"])
@pytest.mark.parametrize("order", ["as they are", "transposed", "views", "read-only"])
def test_what_is_written_to_arguments_afterwards_does_not_reach_back(mode, order, want):
    for _ in range(2):
        x, a = arrays()
        given = [x, a]
        if order == "transposed":
            given = [np.asfortranarray(v.reshape(20, 50)) for v in given]
        elif order == "views":
            given = [v[:] for v in given]
        elif order == "read-only":
            x.flags.writeable = False
        y, back = zyg.pullback(lambda x, a: kernel(x, a, mode), *given)
        x.flags.writeable = True
        overwritten(*given)
        for _ in range(2):
            got = [y, *back(BAR.reshape(y.shape))]
            close(map(np.ravel, got), want)


def test_neither_arguments_nor_the_value_are_copied(monkeypatch, want):
    copied = []

    def counted(x):
        copied.append(x)
        return copy(x)

    copy = buffers.copy
    monkeypatch.setattr(buffers, "copy", counted)
    x, a = arrays()
    y, back = zyg.pullback(kernel, x, a)
    found = [y, *back(BAR)]
    zyg.pullback(lambda p: kernel(p["x"], p["a"]), {"x": x, "a": a})
    assert copied == []
    close(found, want)
    zyg.pullback(lambda x, a: kernel(x, a) + x.sum(), x, a)
    assert len(copied) == 1  # of x


@pytest.mark.parametrize("first", [True, False])
def test_what_else_asks_for_an_argument_has_a_copy(first, want):
    x, a = arrays()

    def f(x, a):
        if first:
            return kernel(x, a) + np.sin(x) * a
        z = np.sin(x) * a
        return z + kernel(x, a)

    _y, back = zyg.pullback(f, x, a)
    overwritten(x, a)
    x, a = arrays()
    bars = back(BAR)
    close(bars, [want[1] + BAR * np.cos(x) * a, want[2] + BAR * np.sin(x)])


def test_an_argument_that_leaks_is_what_it_was():
    x, a = arrays()
    log = []

    def f(x, a):
        log.append(x)
        log.append(a[2:5])
        return kernel(x, a)

    zyg.pullback(f, x, a)
    overwritten(x, a)
    x, a = arrays()
    np.testing.assert_array_equal(log[0] + 0, x)
    np.testing.assert_array_equal(log[1] + 0, a[2:5])


def test_an_argument_that_leaks_with_an_exception_is_what_it_was():
    x, a = arrays()
    log = []

    def f(x, a):
        log.append(x)
        kernel(x, a)
        raise KeyError("no")

    with pytest.raises(KeyError):
        zyg.pullback(f, x, a)
    overwritten(x, a)
    np.testing.assert_array_equal(log[0] + 0, arrays()[0])


def test_an_argument_that_is_the_value_is_a_copy():
    x, a = arrays()
    y, back = zyg.pullback(lambda x, a: (kernel(x, a), x)[1], x, a)
    y[:] = 3.0
    np.testing.assert_array_equal(x, arrays()[0])
    overwritten(x)
    np.testing.assert_array_equal(back(BAR)[0], BAR)


def test_writes_to_a_watched_argument_do_not_reach_the_callers():
    x, a = arrays()

    def f(x, a):
        y = kernel(x, a)
        x[:] = 0.0
        x += a
        return y + x

    _y, back = zyg.pullback(f, x, a)
    np.testing.assert_array_equal(x, arrays()[0])
    expected = slopes_of(x, a)
    overwritten(x, a)
    close(back(BAR), [expected[0], expected[1] + BAR])


def test_an_array_that_f_writes_although_it_is_lent_raises():
    x, a = arrays()

    def f(x_, a_):
        y = kernel(x_, a_)
        x[0] = 5.0
        return y

    with pytest.raises(ValueError, match="read-only") as caught:
        zyg.pullback(f, x, a)
    assert any("zyg" in note for note in caught.value.__notes__)
    x[0] = 5.0


@pytest.mark.parametrize("late", [False, True])
def test_an_array_that_f_writes_past_the_flag_although_it_is_lent_raises(late):
    x, a = arrays()
    view = x[:]

    def f(x_, a_):
        y = kernel(x_, a_)
        view[:] = 5.0
        return y + x_ if late else y

    with pytest.raises(MutationError, match=r"shape \(1000,\) was written"):
        zyg.pullback(f, x, a)
    overwritten(x, a)


def test_an_array_of_which_there_is_a_copy_already_may_be_written_past_the_flag():
    x, a = arrays()
    view = x[:]

    def f(x_, a_):
        y = np.sin(x_) + kernel(x_, a_)
        view[:] = 5.0
        return y + x_

    _y, back = zyg.pullback(f, x, a)
    x, a = arrays()
    expected = slopes_of(x, a)
    close(back(BAR), [expected[0] + BAR * (1 + np.cos(x)), expected[1]])


@pytest.mark.parametrize(
    "f",
    [
        lambda x, a, keep: keep.append(kernel(x, a)) or keep[0],
        lambda x, a, keep: keep.append((y := kernel(x, a))[3:]) or y,
        lambda x, a, keep: np.exp(kernel(x, a)),
        lambda x, a, keep: (y := kernel(x, a)) + 0 * np.sum(y * y) if keep is None else y.T,
        lambda x, a, keep: keep.append(lambda: y) or (y := kernel(x, a)),
    ],
)
def test_a_value_that_others_refer_to_is_a_copy(f):
    x, a = arrays()
    keep = []

    def g(x, a):
        keep.clear()
        try:
            return f(x, a, keep)
        except UnboundLocalError:
            return np.exp(kernel(x, a))

    y, back = zyg.pullback(g, x, a)
    before = back(BAR)
    values = [np.copy(k() if callable(k) else k + 0) for k in keep]
    y[:] = 77.0
    close(back(BAR), before)
    for k, value in zip(keep, values, strict=True):
        np.testing.assert_array_equal((k() if callable(k) else k) + 0, value)


def test_one_array_in_two_places():
    x, _ = arrays()
    _y, back = zyg.pullback(kernel, x, x)
    overwritten(x)
    x, _ = arrays()
    close(back(BAR), slopes_of(x, x))
    _y, back = zyg.pullback(lambda p: kernel(p[0], p[1]), [x, x])
    close([back(BAR)[0][0]], [sum(slopes_of(x, x))])


def test_inside_of_other_gradients():
    x, a = arrays()

    def f(x):
        _y, back = zyg.pullback(lambda x: kernel(x, a), x)
        return np.sum(back(BAR)[0])

    def g(x):
        _y, back = zyg.pullback(lambda a: kernel(x, a), a)  # a is lent, x is watched outside
        return np.sum(back(BAR)[0] * a)

    for _ in range(2):
        s = 1 / (1 + np.exp(-x))
        close(zyg.gradient(f, x), [BAR * a * s * (1 - s) * (1 - 2 * s)])
        close(zyg.gradient(g, x), [BAR * a * s * (1 - s)])
    assert a.flags.writeable


def test_in_tasks(want):
    x, a = arrays()
    for _ in range(2):
        _y, back = zyg.pullback(
            lambda x, a: sum(zyg.threads.map(lambda k: kernel(x, a) * k, [1.0, 2.0])), x, a
        )
        close(back(BAR), [3 * want[1], 3 * want[2]])
    overwritten(x, a)


def test_nothing_is_protected_any_more_when_f_has_ended():
    from zyg.core import kept

    x, a = arrays()
    gc.collect()
    before = dict(kept.kept_arrays)
    _y, back = zyg.pullback(kernel, x, a)
    assert x.flags.writeable
    assert kept.kept_arrays == before
    assert back(BAR)
