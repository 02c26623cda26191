"""Programs that an incautious system gets silently wrong, and the arrays that are protected."""

import asyncio
import contextlib
import ctypes
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import zyg
from zyg import errors
from zyg.core.kept import owns_memory, sample
from zyg.core.protection import _overlapping

from .checks import LINE, check, loss

# What would be silently wrong


@zyg.adjoint
def affine(x, terms):
    def affine_pullback(y_bar):
        return y_bar * terms["w"] + terms["more"][0], None

    return x * terms["w"] + np.sum(terms["more"][0] * x), affine_pullback


def test_aliased_augmented_assignment():
    def f(x):
        y = x * 1
        z = y
        y += 1
        return np.sum(z * z)

    np.testing.assert_allclose(zyg.gradient(f, LINE)[0], 2 * (LINE + 1))


@pytest.mark.parametrize("n", [6, 512])
def test_small_plain_constant_overwritten_after_use(n):
    x = np.linspace(0.0, 1.0, n)

    def f(x):
        c = np.full(n, 2.0)
        y = x * c
        c[:] = 100.0
        c *= 3
        return np.sum(y)

    value, (slope,) = zyg.value_and_gradient(f, x)
    assert value == f(x)
    np.testing.assert_array_equal(slope, np.full(n, 2.0))


def test_large_plain_constant_overwritten_after_use_raises():
    x, c = np.linspace(0, 1, 1000), np.full(1000, 2.0)

    def f(x):
        y = x * c
        c[0] = 100.0
        return np.sum(y)

    with pytest.raises(ValueError, match="read-only") as caught:
        zyg.gradient(f, x)
    (told,) = caught.value.__notes__
    assert told.startswith("zyg: ")
    assert "zyg.numpy" in told
    assert "copy" in told
    c[0] = 100.0
    assert c.flags.writeable


@pytest.mark.parametrize(
    "write",
    [
        lambda c: c.__setitem__(0, 1.0), lambda c: c.__iadd__(1.0), lambda c: c.fill(1.0),
        lambda c: c.sort(), lambda c: np.copyto(c, 1.0), lambda c: np.add(c, 1.0, out=c),
        lambda c: c[3:].__setitem__(0, 1.0),
        lambda c: c.T.__setitem__(0, 1.0), lambda c: np.put(c, [0], 1.0),
    ],
)  # fmt: skip
def test_every_write_to_a_large_plain_operand_raises(write):
    c = np.linspace(1.0, 2.0, 1000).copy()

    def f(x):
        y = x * c
        write(c)
        return np.sum(y)

    with pytest.raises(ValueError, match="read-only") as caught:
        zyg.gradient(f, np.ones(1000))
    assert any("zyg" in note for note in caught.value.__notes__)
    write(c)


@pytest.mark.parametrize("n", [3, 1000])
def test_view_made_before_its_base_became_an_operand(n):
    base = np.linspace(1.0, 2.0, n).copy()
    view = base[1:]

    def f(x):
        y = x * base
        view[0] = 50.0
        return np.sum(y)

    try:
        (slope,) = zyg.gradient(f, np.ones(n))
    except (ValueError, errors.ZygError):
        return
    np.testing.assert_array_equal(slope, np.linspace(1.0, 2.0, n))


WRITES_PAST_THE_FLAG = {
    "a view": lambda c, view: view.__setitem__(0, 50.0),
    "all of a view": lambda c, view: view.fill(50.0),
    "a memoryview": lambda c, view: memoryview(view).__setitem__(0, 50.0),
}
if np.lib.NumpyVersion(np.__version__) < "2.5.0":  # which heeds the flag there, too
    WRITES_PAST_THE_FLAG["ufunc.at"] = lambda c, view: np.add.at(c, [1], 1.0)


@pytest.mark.parametrize("write", WRITES_PAST_THE_FLAG.values(), ids=WRITES_PAST_THE_FLAG)
@pytest.mark.parametrize("role", ["operand", "argument"])
@pytest.mark.parametrize("n", [1000, 1024, 100_000])
def test_write_past_the_flag_of_a_large_array_raises(n, role, write):
    c = np.linspace(1.0, 2.0, n).copy()
    view = c[1:]

    def f(x):
        y = x * c if role == "operand" else x * x
        write(c, view)
        return np.sum(y)

    x = np.ones(n) if role == "operand" else c
    everything = zyg.config(check_operands=True) if n > 1024 else contextlib.nullcontext()
    with everything, pytest.raises(errors.MutationError, match="was written after") as caught:
        zyg.gradient(f, x)
    assert ("y = x * c" in str(caught.value)) is (n > 1024 and role == "operand")
    assert c.flags.writeable


@pytest.mark.parametrize("shape", [(20_000,), (1000, 1000), (100, 20, 3), (3, 7, 2000)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, complex])
def test_a_long_stretch_written_past_the_flag_is_noticed(shape, dtype):
    rng = np.random.default_rng(3)
    for axes in (None, (1, 0, 2)):
        c = np.ones(shape, dtype)
        c = np.copy(c.transpose(axes), order="K") if axes and c.ndim == 3 else c
        before = sample(c).tobytes()
        flat = c.ravel(order="K")
        assert np.shares_memory(flat, c)
        length = max(4200, c.size // 128) if c.size >= 65_000 else c.size // 4
        for start in rng.integers(0, c.size - length + 1, 20):
            flat[start : start + length] += 1
            assert sample(c).tobytes() != before
            flat[start : start + length] -= 1
        assert sample(c).tobytes() == before


def test_a_write_to_a_column_past_the_flag_is_noticed():
    for columns in (2, 16, 64, 100):
        c = np.ones((200_000 // columns, columns))
        before = sample(c).tobytes()
        for k in range(columns):
            c[:, k] = 5.0
            assert sample(c).tobytes() != before
            c[:, k] = 1.0


@pytest.mark.parametrize("use", [lambda x, c: x * c, lambda x, c: x @ c, affine])
def test_a_write_past_the_flag_that_no_derivative_sees_is_allowed(use):
    c = np.full(1000, 2.0)
    view = c[1:]

    def f(x):
        logged = use(x, {"w": c, "more": [c]} if use is affine else c)
        view[0] = 50.0
        return np.sum(x * x) + 0 * zyg.primal(np.sum(logged))

    np.testing.assert_array_equal(zyg.gradient(f, np.ones(1000))[0], np.full(1000, 2.0))


def test_a_write_past_the_flag_between_pullback_and_back_raises():
    c = np.full(1000, 2.0)
    view = c[1:]
    _y, back = zyg.pullback(lambda x: x * c, np.ones(1000))
    np.testing.assert_array_equal(back(np.ones(1000))[0], c)
    view[0] = 50.0

    with pytest.raises(errors.MutationError, match=r"shape \(1000,\) was written"):
        back(np.ones(1000))


def test_a_write_past_the_flag_in_a_task_raises():
    c = np.full(1000, 2.0)
    view = c[1:]

    def f(x):
        y = zyg.threads.map(lambda k: np.sum(x * c) * k, [1.0, 2.0])
        view[0] = 50.0
        return sum(y)

    with pytest.raises(errors.MutationError, match="was written after"):
        zyg.gradient(f, np.ones(1000))


def test_a_write_past_the_flag_in_an_async_function_raises():
    c = np.full(1000, 2.0)
    view = c[1:]

    async def f(x):
        y = x * c
        view[0] = 50.0
        return np.sum(y)

    async def main():
        await zyg.gradient_async(f, np.ones(1000))

    with pytest.raises(errors.MutationError, match="was written after"):
        asyncio.run(main())


@pytest.mark.parametrize("n", [3, 1000])
def test_base_of_a_view_that_became_an_operand(n):
    for base in (np.linspace(1.0, 2.0, n + 1), np.linspace(1.0, 2.0, n + 1).copy()):
        view = base[1:]
        found = view.copy()

        def f(x, base=base, view=view):
            y = x * view
            base[1] = 50.0
            return np.sum(y)

        try:
            (slope,) = zyg.gradient(f, np.ones(n))
        except (ValueError, errors.ZygError):
            continue
        np.testing.assert_array_equal(slope, found)


def test_result_of_a_kernel_overwritten_after_a_view_of_it_in_another_shape_became_an_operand():
    c = zyg.broadcast(lambda t: 2.0 * t, np.ones((256, 256)))
    view = c.reshape(-1)

    def f(x):
        y = x * view
        c[0, 0] = 100.0
        return np.sum(y)

    (slope,) = zyg.gradient(f, np.ones(view.size))
    np.testing.assert_array_equal(slope, np.full(view.size, 2.0))


def test_result_of_a_kernel_in_another_shape_is_not_copied():
    c = zyg.broadcast(lambda t: 2.0 * t, np.ones((256, 256))).reshape(-1)
    assert owns_memory(c)


@pytest.mark.parametrize("n", [3, 1000])
@pytest.mark.parametrize(
    "use",
    [
        lambda x, c: x * c, lambda x, c: c / (x + 3), lambda x, c: x @ c, lambda x, c: np.dot(c, x),
        lambda x, c: np.maximum(x, c), lambda x, c: np.where(c > 1.5, x * c, x), lambda x, c: x**c,
        lambda x, c: np.arctan2(x, c), lambda x, c: np.einsum("i,i", x, c),
        lambda x, c: np.linalg.norm(x - c), lambda x, c: np.hypot(x, c),
        lambda x, c: np.clip(x, c - 1, c), lambda x, c: np.stack([x, c])[0] * x,
        lambda x, c: np.tensordot(x, c, 1),
        lambda x, c: np.vdot(c, x), lambda x, c: np.outer(x, c),
    ],
)  # fmt: skip
def test_plain_operand_of_any_function_overwritten_after_use(use, n):
    c, x = np.linspace(1.0, 2.0, n), np.linspace(0.1, 1.7, n)

    def f(x, write):
        y = use(x, c)
        if write:
            c[:] = 50.0
        return np.sum(y)

    expected = zyg.gradient(f, x, False)[0]
    try:
        slope = zyg.gradient(f, x, True)[0]
    except ValueError as error:
        assert "read-only" in str(error)  # noqa: PT017 - either outcome is right
    else:
        np.testing.assert_array_equal(slope, expected)


def _reshape(c):
    c.shape = (len(c) // 2, 2)


def _restride(c):
    c.strides = (0,)


def _retype(c):
    c.dtype = np.int64


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "change",
    [
        _reshape, _restride, _retype,
        lambda c: c.resize(len(c) // 2, 2),
        lambda c: c.resize((len(c) // 2, 2), refcheck=False),
        lambda c: c.resize(3, refcheck=False), lambda c: c.resize(10**6, refcheck=False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("use", [lambda x, c: x * c, lambda x, c: x @ c, lambda x, c: x[:] / c])
@pytest.mark.parametrize("n", [4, 1000])
def test_operand_in_another_shape_dtype_or_size_after_use(use, change, n):
    c = np.full(n, 2.0)
    (expected,) = zyg.gradient(lambda x: np.sum(use(x, c)), np.ones(n))

    def f(x):
        y = use(x, c)
        with contextlib.suppress(ValueError):  # of NumPy: other arrays refer to it
            change(c)
        return np.sum(y)

    np.testing.assert_array_equal(zyg.gradient(f, np.ones(n))[0], expected)
    assert c.flags.writeable


def test_what_primal_gives_of_a_large_argument_is_writable_after_the_gradient():
    seen = []

    zyg.gradient(lambda x: seen.append(zyg.primal(x)) or np.sum(x * x), np.ones(1000))

    seen[0][0] = 2.0


def _overwrite(parts):
    for a in parts:
        if type(a) is list:
            a[:] = [5] * len(a)
        elif a.flags.writeable:
            a.fill(5)


N, LARGE_N = 4, 600
CONTAINERS = {
    "np.where": lambda x, n: (
        mask := [True, False] * (n // 2), lambda: np.where(mask, x * 2, x)
    ),
    "nested lists": lambda x, n: (
        mask := [[True] * n, [False] * n], lambda: np.where(mask, x * 2, x)
    ),
    "np.stack": lambda x, n: (c := np.full(n, 2.0), lambda: np.stack([x, c, x]) * x),
    "np.einsum": lambda x, n: (c := np.full(n, 2.0), lambda: np.einsum(x, [0], c, [0], [0])),
    "np.select": lambda x, n: (c := np.ones(n, bool), lambda: np.select([c], [x * 3], x)),
    "np.average": lambda x, n: (
        c := np.linspace(1.0, 2.0, n), lambda: np.average(x * x, weights=c)
    ),
    "where": lambda x, n: (c := np.arange(n) > 1, lambda: np.sum(x * x, where=c)),
    "multi_dot": lambda x, n: (
        c := np.ones((n, n)) + np.eye(n), lambda: np.linalg.multi_dot([x, c, x])
    ),
}  # fmt: skip


@pytest.mark.parametrize("n", [N, LARGE_N])
@pytest.mark.parametrize("made", CONTAINERS.values(), ids=CONTAINERS)
def test_plain_operand_in_a_container_overwritten_after_use(made, n):
    def f(x, write):
        held, call = made(x, n)
        y = call()
        if write:
            _overwrite([held])
        return np.sum(y)

    x = np.linspace(0.5, 1.0, n)
    expected = zyg.gradient(f, x, False)[0]
    try:
        slope = zyg.gradient(f, x, True)[0]
    except ValueError as error:
        assert "read-only" in str(error)  # noqa: PT017 - either outcome is right
    else:
        np.testing.assert_array_equal(slope, expected)


@pytest.mark.parametrize("n", [3, 1000])
def test_arrays_in_a_dict_given_to_a_rule_of_ones_own_overwritten_after_use(n):
    def f(x, write):
        terms = {"w": np.full(n, 2.0)[:], "more": [np.full(n, 3.0)[:]]}
        y = affine(x, terms)
        if write:
            _overwrite([terms["w"], *terms["more"]])
            terms["more"][0] = terms["w"] = None
        return np.sum(y)

    x = np.linspace(0.5, 1.0, n)
    expected = zyg.gradient(f, x, False)[0]
    np.testing.assert_array_equal(expected, np.full(n, 5.0))
    try:
        slope = zyg.gradient(f, x, True)[0]
    except ValueError as error:
        assert "read-only" in str(error)  # noqa: PT017 - either outcome is right
    else:
        np.testing.assert_array_equal(slope, expected)


def test_a_list_given_to_a_rule_of_ones_own_to_be_filled_is_the_callers():
    @zyg.adjoint
    def logged(x, log):
        log.append(1)
        return x * 2, lambda y_bar: (y_bar * 2, None)

    log = []
    zyg.gradient(lambda x: np.sum(logged(x, log)), np.ones(3))
    assert log == [1]


def test_index_arrays_overwritten_after_use():
    def f(x):
        index, mask = np.array([0, 2, 2]), np.array([True, False] * 3)
        y = x[index] * x[mask]
        z = x * 1
        z[index] = y * 2
        z[mask] += y
        np.add.at(z, index, y)
        t = np.take(x, index) * 2
        index[:] = 5
        mask[:] = True
        return loss(y) + loss(z) + loss(t)

    check(f, LINE)


def test_value_written_is_a_copy():
    def f(x):
        c = np.ones(6)
        y = np.zeros_like(x)
        y[:] = c
        y *= x
        c[:] = 50.0
        v = x * 1
        y[:3] += v[:3]
        v *= 9
        return loss(y)

    check(f, LINE)


def test_caller_overwrites_the_argument_between_pullback_and_back():
    for n in (3, 1000):
        x = np.linspace(0.1, 1.0, n)
        found = x.copy()
        _y, back = zyg.pullback(lambda x: np.sum(x * x), x)
        x[:] = 50.0
        np.testing.assert_array_equal(back(1.0)[0], 2 * found)


def test_caller_overwrites_a_constant_between_pullback_and_back():
    for n in (3, 1000):
        x, c = np.linspace(0.1, 1.0, n), np.full(n, 2.0)
        _y, back = zyg.pullback(lambda x, c=c: np.sum(x * c), x)
        try:
            c[:] = 50.0
        except ValueError as error:
            assert "read-only" in str(error)  # noqa: PT017 - either outcome is right
        np.testing.assert_array_equal(back(1.0)[0], np.full(n, 2.0))
        del back
        c[:] = 60.0


def test_float_of_a_watched_value_raises():
    with pytest.raises(errors.ConversionError, match=r"float\(x\)"):
        zyg.gradient(lambda x: x * float(x), 3.0)


def test_nan_in_the_branch_not_taken():
    def f(x):
        return np.sum(np.where(x > 0, np.sqrt(x), 0.0))

    with np.errstate(invalid="ignore"):
        (slope,) = zyg.gradient(f, np.array([-1.0, 4.0]))
    np.testing.assert_array_equal(slope, [0.0, 0.25])


def test_plain_scratch_buffer_raises_and_names_the_line_and_the_fix():
    def f(x):
        scratch = np.zeros(6)
        scratch[2] = x[2] ** 2
        return np.sum(scratch)

    with pytest.raises(errors.ConversionError) as caught:
        zyg.gradient(f, LINE)
    text = str(caught.value)
    assert "scratch[2] = x[2] ** 2" in text
    assert __file__ in text
    assert "import zyg.numpy as np" in text or "zyg.numpy" in text


@pytest.mark.parametrize(
    "store",
    [
        lambda b, x: b.__setitem__(slice(None), x), lambda b, x: b.__setitem__([0, 1], x[:2]),
        lambda b, x: b.__setitem__(b > 0, x), lambda b, x: np.sin(x, out=b),
        lambda b, x: np.copyto(b, x), lambda b, x: np.add.at(b, [0], x[0]),
        lambda b, x: b.fill(x[0]), lambda b, x: b.__iadd__(x), lambda b, x: np.putmask(b, b > 0, x),
        lambda b, x: np.put(b, [0], x[0]), lambda b, x: np.place(b, b > 0, x),
        lambda b, x: np.put_along_axis(b, np.array([1]), x[:1], 0),
        lambda b, x: np.cumsum(x, out=b), lambda b, x: b.__setitem__(0, [x[0]][0]),
        lambda b, x: b.__setitem__(slice(2), [x[0], x[1]]), lambda b, x: b.put([0], x[0]),
        lambda b, x: np.fill_diagonal(np.reshape(b, (2, 3)), x[0]), lambda b, x: b.__imul__(x[0]),
    ],
)  # fmt: skip
def test_every_store_of_a_watched_value_in_a_plain_array_raises(store):
    def f(x):
        b = np.ones(6)
        store(b, x)
        return np.sum(b)

    with pytest.raises((errors.ConversionError, errors.MutationError)) as caught:
        zyg.gradient(f, LINE)
    assert "fix:" in str(caught.value)


def test_augmented_assignment_of_a_plain_array_makes_it_watched_or_raises():
    # b += x writes into b: the plain array that others hold would not see it.
    def f(x):
        b = np.ones(6)
        held = b
        b += x
        return np.sum(held)

    with pytest.raises(errors.ConversionError):
        zyg.gradient(f, LINE)


def test_math_of_a_watched_number_raises():
    with pytest.raises(errors.ConversionError, match="math"):
        zyg.gradient(lambda x: math.sin(x), 3.0)


# Protected arrays become writable again


def test_operands_are_writable_after_the_gradient():
    c, base = np.ones(1000), np.ones((1000, 2))
    view = base[:, 1]

    def f(x):
        return np.sum(x * c * view) + np.sum(base @ x[:2])

    zyg.gradient(f, np.ones(1000))
    assert c.flags.writeable
    assert base.flags.writeable
    assert view.flags.writeable
    y, back = zyg.pullback(f, np.ones(1000))
    assert not c.flags.writeable
    assert not base.flags.writeable
    del y, back
    assert c.flags.writeable
    assert base.flags.writeable
    assert view.flags.writeable


def test_operands_are_writable_after_exceptions():
    c = np.ones(1000)

    def in_f(x):
        y = x * c
        raise KeyError(y.shape)

    def not_a_number(x):
        return x * c

    def in_the_reverse_pass(x):
        return np.sum(zyg.hook(lambda c: {}[0], x) * c)

    for f in (in_f, not_a_number, in_the_reverse_pass):
        with contextlib.suppress(KeyError, errors.ZygError):
            zyg.gradient(f, np.ones(1000))
        assert c.flags.writeable, f.__name__
        c[0] = 2.0


def test_operand_of_two_pullbacks_is_writable_when_both_are_gone():
    c = np.ones(1000)
    _, first = zyg.pullback(lambda x: x * c, np.ones(1000))
    _, second = zyg.pullback(lambda x: x * c, np.ones(1000))
    del first
    assert not c.flags.writeable
    del second
    assert c.flags.writeable


def test_array_that_was_read_only_stays_so():
    c = np.ones(1000)
    c.flags.writeable = False
    view = np.broadcast_to(np.float64(2.0), 1000)
    zyg.gradient(lambda x: np.sum(x * c * view), np.ones(1000))
    assert not c.flags.writeable
    assert not view.flags.writeable


def test_view_and_base_of_two_pullbacks_become_writable_in_any_order():
    for order in ((0, 1), (1, 0)):
        base = np.ones(1000)
        view = base[1:]
        backs = [
            zyg.pullback(lambda x, view=view: x * view, np.ones(999))[1],
            zyg.pullback(lambda x, base=base: x * base, np.ones(1000))[1],
        ]
        backs[order[0]] = None
        backs[order[1]] = None
        assert base.flags.writeable
        assert view.flags.writeable


def test_nested_gradients_release_what_they_kept():
    c = np.ones(1000)

    def f(x):
        return np.sum(np.sin(x * c) * c)

    zyg.gradient(lambda x: np.sum(zyg.gradient(f, x)[0] * c), np.ones(1000))
    assert c.flags.writeable


def test_protection_from_many_threads():
    c = np.ones(1000)
    start = threading.Barrier(8, timeout=100)

    def some(k):
        start.wait()
        for _ in range(50):
            zyg.gradient(lambda x: np.sum(x * c * x), np.ones(1000))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(some, range(8), timeout=300))
    assert c.flags.writeable


def _fails_in_reverse(x):
    def fail(x_bar):
        raise RuntimeError("in the reverse pass")

    return np.sum(zyg.hook(fail, x) * np.ones(1000))


@pytest.mark.parametrize("f", [_fails_in_reverse, np.sin, lambda x: x @ np.ones(7), lambda x: 1j])
@pytest.mark.parametrize("verb", [zyg.gradient, zyg.value_and_gradient])
def test_arrays_are_writable_again_while_an_exception_is_kept(verb, f):
    x = np.ones(1000)

    with pytest.raises(Exception) as kept:  # noqa: PT011 - any: what matters is what it leaves
        verb(f, x)

    x[0] = 2.0
    assert kept.value.__traceback__ is not None


def _writes_to(x):
    def f(w):
        y = w * w
        x[0] = 100.0
        return np.sum(y)

    return f


def test_a_small_argument_written_behind_the_back_of_f_is_right():
    x = np.array([0.5, 1.0, 1.5])

    np.testing.assert_array_equal(zyg.gradient(_writes_to(x), x)[0], [1.0, 2.0, 3.0])


def test_a_large_argument_written_behind_the_back_of_f_raises():
    x = np.linspace(0.5, 1.5, 1000).copy()

    with pytest.raises(ValueError, match="read-only") as caught:
        zyg.gradient(_writes_to(x), x)
    assert "zyg" in "".join(caught.value.__notes__)
    x[0] = 1.0


@pytest.mark.parametrize("n", [10, 2000])
@pytest.mark.parametrize("kind", ["a view", "a read-only view", "bytes"])
def test_an_argument_whose_base_is_written_behind_the_back_of_f_is_right(kind, n):
    big = np.frombuffer(bytearray(8 * (n + 20)), float) if kind == "bytes" else np.empty(n + 20)
    big[:] = np.linspace(0.5, 1.5, n + 20)
    x = big[10 : n + 10]
    if kind == "a read-only view":
        x.flags.writeable = False
    found = x.copy()

    def f(x):
        y = x * x
        big[:] = 100.0
        return np.sum(y * x)

    np.testing.assert_allclose(zyg.gradient(f, x)[0], 3 * found * found)
    big[:] = 1.0


class Borrowed:
    """Memory that NumPy does not make writable again, as that of another library's arrays."""

    def __init__(self, n):
        self.memory = np.linspace(1.0, 2.0, n)
        self.__array_interface__ = self.memory.__array_interface__


def test_borrowed_memory_is_copied_and_left_writable():
    lender = Borrowed(1000)
    x = np.asarray(lender)
    found = x.copy()

    def f(w, c):
        y = w * w * c
        lender.memory[:] = 50.0
        return np.sum(y)

    np.testing.assert_array_equal(zyg.gradient(f, x, c=x)[0], 2 * found**2)
    assert x.flags.writeable
    assert lender.memory[0] == 50.0


@pytest.mark.parametrize("n", [100, 100_000])
def test_what_zyg_returned_is_an_operand_and_an_argument_and_stays_writable(n):
    for made in (
        zyg.broadcast(lambda t: 2.0 * t, np.ones(n)),
        zyg.gradient(lambda x: np.sum(x * x), np.ones(n))[0],
        zyg.pullback(lambda x: x * 2, np.ones(n))[0],
    ):
        (slope,) = zyg.gradient(lambda x, c=made: np.sum(x * x * c), made)

        np.testing.assert_array_equal(slope, np.full(n, 8.0))
        made[0] = 1.0


def test_spans_that_overlap_those_of_another_argument_are_all_found():
    rng = np.random.default_rng(3)
    for _ in range(1000):
        n = int(rng.integers(2, 12))
        starts = rng.integers(0, 30, n)
        ends = starts + rng.integers(1, 9, n)
        columns = starts.tolist(), ends.tolist(), rng.integers(0, 3, n).tolist(), range(n)
        spans = list(zip(*columns, strict=True))
        expected = {
            p[3] for p in spans for q in spans if p[2] != q[2] and p[0] < q[1] and q[0] < p[1]
        }

        assert {*_overlapping(spans)} == expected


def test_many_views_of_one_array_beside_another_argument_are_not_compared_in_pairs(monkeypatch):
    base = np.ones(4 * 3000)
    views = [base[4 * k : 4 * k + 4] for k in range(3000)]
    compared = []
    monkeypatch.setattr(np, "may_share_memory", lambda *args: compared.append(1))

    rows, whole = zyg.gradient(lambda v, b: np.sum(v[7] * b[0]), views, base)

    assert len(compared) == 0
    np.testing.assert_array_equal(rows[7], np.ones(4))
    assert whole[0] == 4.0


def test_an_outer_array_overwritten_before_the_inner_pullback_runs():
    def f(x):
        y = x * 1.0
        _, back = zyg.pullback(lambda w: np.sum(w * w * y) + np.sum(np.tanh(w @ y)), x)
        y[0] = 5.0
        return np.sum(back(1.0)[0] * x)

    x = np.array([0.3, 0.7, 0.2])
    step = 1e-6
    for k in range(3):
        e = step * np.eye(3)[k]
        expected = (f(x + e) - f(x - e)) / (2 * step)
        assert zyg.gradient(f, x)[0][k] == pytest.approx(expected, rel=1e-6)


def _lent_by_ctypes():
    return np.ctypeslib.as_array((ctypes.c_double * 2000)(*range(2000)))


def _lent_by_torch():
    return pytest.importorskip("torch").arange(2000.0).double().numpy()


def _lent_by_dlpack():
    return np.from_dlpack(pytest.importorskip("torch").arange(2000.0).double())


@pytest.mark.parametrize("lent", [_lent_by_ctypes, _lent_by_torch, _lent_by_dlpack])
@pytest.mark.parametrize("part", [lambda x: x, lambda x: x.reshape(40, 50), lambda x: x[::2]])
def test_memory_of_others_which_no_flag_protects_is_copied_and_left_writeable(lent, part):
    x = part(lent())
    ours, expected = np.ones(x.shape), x.copy()

    def overwritten(y):
        z = np.sum(y * x)
        x[...] = 0
        return z

    assert np.array_equal(zyg.gradient(lambda x: np.sum(x * x), x)[0], 2 * x)
    _, back = zyg.pullback(lambda x: np.sum(x * x), x)
    x += 1
    assert np.array_equal(back(1.0)[0], 2 * expected)
    x -= 1
    assert np.array_equal(zyg.gradient(overwritten, ours)[0], expected)
    assert x.flags.writeable
