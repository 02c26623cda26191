"""What a reverse pass finds and leaves in memory, and whose memory it is."""

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import zyg
import zyg.numpy as znp

from .checks import LINE, TABLE, check, differences, loss

# Memory that nobody wrote


def test_contents_of_empty_never_leak():
    def f(x):
        y = znp.empty(6)
        z = np.empty_like(x)
        for b in (y, z):
            b.fill(np.nan)  # what empty may hold
        y[:3] = x[:3] ** 2
        y[3:] = 1.0
        z[1] = x[0] * x[4]
        z[1] *= x[5]
        return loss(y) + z[1]

    check(f, LINE, order=3)


def test_contents_of_empty_overwritten_at_infinity():
    def f(x):
        y = np.full_like(x, np.inf)
        y[0] = x[0]
        y[1:] = np.sin(x[1:])
        return np.sum(y * y)

    check(f, LINE)


# The pullback


def program(x, log=None):
    y = np.sin(x)
    t = np.tanh(y)
    y[1:] *= x[:-1]
    v = y[::2]
    v += t[::2]
    if log is not None:
        log.extend([y, t, v])
    y[0] = x[5] * t[0]
    return y * t


def test_pullback_is_linear_and_reusable():
    _y, back = zyg.pullback(program, LINE)
    a, b = np.cos(np.arange(6)), np.arange(6.0)

    np.testing.assert_array_equal(back(a)[0], back(a)[0])
    np.testing.assert_allclose(back(a + 2 * b)[0], back(a)[0] + 2 * back(b)[0])
    jacobian = np.array([back(e)[0] for e in np.eye(6)])
    np.testing.assert_allclose(jacobian, differences(program, LINE), rtol=1e-6, atol=1e-8)


def test_pullback_survives_whatever_the_user_writes_afterwards():
    x, log = LINE.copy(), []
    y, back = zyg.pullback(program, x, log=log)
    seed = np.cos(np.arange(6))
    value, expected = y.copy(), back(seed)[0]

    x[:] = 99.0
    np.testing.assert_array_equal(back(seed)[0], expected)
    y[:] = 98.0
    np.testing.assert_array_equal(back(seed)[0], expected)
    given = back(seed)[0]
    given[:] = 97.0
    np.testing.assert_array_equal(back(seed)[0], expected)
    seed[:] = 0.0
    seed = np.cos(np.arange(6))
    np.testing.assert_array_equal(back(seed)[0], expected)
    for leaked in log:
        leaked[:] = 96.0
        np.testing.assert_array_equal(back(seed)[0], expected)
        leaked *= 2
        np.testing.assert_array_equal(back(seed)[0], expected)
    np.testing.assert_array_equal(y, np.full(6, 98.0))
    np.testing.assert_array_equal(value, program(LINE.copy()))


def test_leaked_arrays_are_as_numpy_leaves_them_after_any_number_of_reverse_passes():
    log, plain = [], []
    program(LINE.copy(), plain)
    _y, back = zyg.pullback(program, LINE, log=log)
    for _ in range(3):
        for mine, theirs in zip(log, plain, strict=True):
            np.testing.assert_array_equal(np.asarray(mine), theirs)
        back(np.ones(6))


def test_leaked_view_still_is_a_view_of_the_leaked_array():
    log = []
    zyg.pullback(program, LINE, log=log)
    y, _, v = log
    y[0] = 5.0
    assert v[0] == 5.0
    v[1] = 6.0
    assert y[2] == 6.0


def test_result_shares_no_memory_with_what_f_keeps():
    store = {}

    def f(x):
        store["y"] = y = x * 1
        y[0] = 3.0
        return y

    y, back = zyg.pullback(f, LINE)
    y[1] = 77.0
    assert np.asarray(store["y"])[1] == LINE[1]
    store["y"][2] = 78.0
    assert y[2] == LINE[2]
    np.testing.assert_array_equal(back(np.ones(6))[0], [0, 1, 1, 1, 1, 1])


def test_cotangent_given_to_back_is_not_modified():
    _y, back = zyg.pullback(program, LINE)
    seed = np.ones(6)
    back(seed)
    np.testing.assert_array_equal(seed, np.ones(6))


def test_reverse_passes_from_many_threads_are_each_right():
    def f(x):
        y = x * 1
        for k in range(30):
            y[k % 6] = np.sin(y[(k + 1) % 6]) * x[k % 5]
            y[::2] *= 1.01
        return y

    _y, back = zyg.pullback(f, LINE)
    seeds = [np.cos(k + np.arange(6)) for k in range(32)]
    expected = [back(seed)[0] for seed in seeds]
    start = threading.Barrier(8, timeout=100)

    def some(first):
        start.wait()
        return [back(seed)[0] for seed in seeds[first::8]]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(some, range(8), timeout=300))
    for first, slopes in enumerate(found):
        for slope, right in zip(slopes, expected[first::8], strict=True):
            np.testing.assert_array_equal(slope, right)


def test_exception_in_f_leaves_the_argument_and_later_gradients_alone():
    x = LINE.copy()

    def f(x, fail):
        x[1] = x[0] * x[2]
        if fail:
            raise KeyError("mine")
        return loss(x)

    right = zyg.gradient(f, x, False)[0]
    with pytest.raises(KeyError, match="mine"):
        zyg.gradient(f, x, True)
    np.testing.assert_array_equal(x, LINE)
    np.testing.assert_array_equal(zyg.gradient(f, x, False)[0], right)


def test_exception_in_the_reverse_pass_leaves_memory_as_it_was():
    log, fails = [], [True]

    def fail(c):
        if fails[0]:
            raise KeyError("mine")
        return c

    def f(x):
        y = zyg.hook(fail, x) * 1
        y[0] = 5.0
        log.append(y)
        return y * y

    _y, back = zyg.pullback(f, LINE)
    with pytest.raises(KeyError, match="mine"):
        back(np.ones(6))
    assert np.asarray(log[0])[0] == 5.0
    fails[0] = False
    np.testing.assert_allclose(back(np.ones(6))[0], [0, *2 * LINE[1:]])


# The argument


def test_argument_is_never_modified_whatever_it_is():
    for x in (
        LINE.copy(), np.asfortranarray(TABLE), TABLE.T.copy().T[::-1], np.arange(12.0)[::2],
        np.arange(24.0).reshape(2, 3, 4)[:, ::-1, ::2], np.array(1.5), np.zeros((0, 3)),
        np.broadcast_to(np.float64(2.0), (3,)).copy(),
    ):  # fmt: skip
        found = x.copy()

        def f(x):
            x *= 2
            x[...] = np.sin(x)
            x.fill(3.0) if x.size == 2 else x.__iadd__(1.0)
            x.T[...] += 1.0
            return np.sum(x * x)

        expected = f(found.copy())
        assert zyg.value_and_gradient(f, x)[0] == pytest.approx(expected, rel=1e-14)
        assert zyg.pullback(f, x)[0] == pytest.approx(expected, rel=1e-14)
        np.testing.assert_array_equal(x, found)


def test_views_are_seen_in_arguments_of_any_layout():
    def f(x):
        x[1:] *= x[:-1]
        x.T[0] += 0.5
        x.reshape(-1)[3] = x[0, 1]
        return loss(x)

    for x in (
        TABLE.copy(),
        np.asfortranarray(TABLE),
        TABLE[::-1, ::-1],
        np.repeat(TABLE, 2, 1)[:, ::2],
    ):
        plain = np.copy(x, order="K")
        value, (slope,) = zyg.value_and_gradient(f, x)
        np.testing.assert_array_equal(x, plain)

        def along(v, x=x):
            y = x.copy(order="K") if x.flags.f_contiguous else x.copy()
            y[...] = v
            return f(y)

        assert value == along(x)
        np.testing.assert_allclose(slope, differences(along, x), rtol=1e-6, atol=1e-7)


def test_same_array_twice_in_one_argument_is_one_variable():
    def f(pair):
        a, b = pair
        a[0] = b[1] * b[2]
        b *= 2
        return loss(a) + np.sum(a * b)

    x = LINE.copy()
    (slopes,) = zyg.gradient(f, [x, x])
    expected = differences(lambda x: f([x, x]), LINE)

    np.testing.assert_allclose(slopes[0], expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(slopes[0], slopes[1])
    assert not np.shares_memory(*slopes)
    np.testing.assert_array_equal(x, LINE)


def test_array_and_a_view_of_it_in_one_argument_are_one_memory():
    def f(pair):
        a, b = pair
        b *= 2
        a[2] = b[0] * a[0]
        return loss(a) + np.sum(b**2)

    x = LINE.copy()
    value, (slopes,) = zyg.value_and_gradient(f, [x, x[1:]])
    plain = LINE.copy()
    assert value == f([plain, plain[1:]])
    expected = differences(lambda x: f([x, x[1:]]), LINE)

    np.testing.assert_allclose(slopes[0], expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(slopes[1], expected[1:], rtol=1e-6, atol=1e-7)
    assert not np.shares_memory(*slopes)
    np.testing.assert_array_equal(x, LINE)


def test_views_of_one_array_in_two_arguments_stay_numpys_value():
    # Two arguments are two variables; when one is written, plain NumPy lets the other see it.
    def f(a, b):
        return np.sum(a * a) + np.sum(b)

    x = LINE.copy()
    a, b = zyg.gradient(f, x, x[1:])
    np.testing.assert_allclose(a, 2 * x)
    np.testing.assert_allclose(b, np.ones(5))


@pytest.mark.parametrize(
    "write",
    [
        lambda b: np.copyto(b, 0.0), lambda b: np.put(b, [0], 9.0), lambda b: b.fill(9.0),
        lambda b: np.putmask(b, b > 0, 9.0), lambda b: b.sort(), lambda b: b.__setitem__(0, 9.0),
        lambda b: np.add.at(b, [0], 9.0), lambda b: np.sin(b, out=b), lambda b: b[1:].fill(9.0),
        lambda b: b.reshape(3, 1).fill(9.0), lambda b: np.place(b, b > 0, [9.0]),
    ],
)  # fmt: skip
def test_writes_to_what_outlived_its_gradient_do_not_reach_the_pullback(write):
    leaked = []

    def f(x):
        b = np.exp(x)
        leaked.append(b)
        return np.sum(b * b)

    x = np.array([0.3, -0.2, 0.5])
    _, back = zyg.pullback(f, x)
    expected = back(1.0)[0]
    plain = np.exp(x)
    write(plain)
    write(leaked[0])

    np.testing.assert_array_equal(np.asarray(leaked[0]), plain)
    np.testing.assert_array_equal(back(1.0)[0], expected)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.stack([x, x * 2]) ** 2), lambda x: np.sum(np.tanh(x) @ np.tanh(x)),
        lambda x: np.sum(np.concatenate([x[1:], x]) * 2), lambda x: sum(v * v for v in x[:3]),
        lambda x: zyg.gradient(lambda y: np.sum(np.stack([x, y]) ** 3), x)[0].sum(),
    ],
)  # fmt: skip
def test_a_gradient_holds_no_memory_when_it_is_done(f):
    """Nothing waits for the cyclic collector, which does not know how large arrays are."""
    x = np.linspace(0.1, 1.0, 1000)
    alive = []

    def watched(x):
        y = np.sin(x)
        alive.append(weakref.ref(y.primal))
        return f(y)

    gc.disable()
    try:
        zyg.gradient(watched, x)
        assert [reference() for reference in alive] == [None]
    finally:
        gc.enable()


@pytest.mark.parametrize("leaked", [False, True])
def test_an_inner_gradient_writes_into_an_outer_array_made_inside_of_it(leaked):
    def f(x):
        kept = []

        def inner(w):
            y = znp.array(x * 1.0)  # of the outer level alone, until w comes in
            part = y[1:]
            part *= w
            y[0] += w * w
            kept.append(y)
            return np.sum(y**2)

        (slope,) = zyg.gradient(inner, 1.3)
        y = kept[0]
        y[1] = slope
        return np.sum(y * y) if leaked else slope * x[0]

    check(f, np.array([0.3, 0.7, 0.2]))


@pytest.mark.parametrize("shape", [(2,), (3, 3), (6,), (2, 3), (0,)])
def test_resize_keeps_the_elements_and_fills_with_zeros(shape):
    def f(x):
        y = x * x
        z = np.sin(y)  # keeps y
        y.resize(shape)
        y += 1.0
        return np.sum(y**2) + np.sum(z)

    def resized_argument(x):
        x.resize(*shape)
        return np.sum((x + 1.0) ** 3)

    x = np.array([0.3, 0.7, 0.2, 0.9, 0.4, 0.6])
    check(f, x)
    kept = x.copy()
    (slope,) = zyg.gradient(resized_argument, x)
    n = min(int(np.prod(shape)), 6)
    np.testing.assert_array_equal(x, kept)
    np.testing.assert_allclose(slope, np.where(np.arange(6) < n, 3 * (x + 1) ** 2, 0.0))
