"""Watched device arrays, on a stand-in for CuPy's: the gradients of the same programs over NumPy.

The stand-in raises where CuPy would copy to the host in silence, so that a program that passes here
makes no transfer.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import zyg
from zyg.base.structure import Structure
from zyg.core.entries import is_result
from zyg.errors import ConversionError, MissingRuleError, MutationError, ZygError
from zyg.watched.device import _READY

from ..calls.tables import NUMPY
from .device_array import LIBRARY, DeviceArray

CALLS = [*NUMPY.items()]
RNG = np.random.default_rng(0)
X, W, V, B = (RNG.normal(size=shape) for shape in ((4, 3), (3, 5), (5, 2), 5))
SQUARE = RNG.normal(size=(5, 5)) + 3 * np.eye(5)


def is_array(x):
    return isinstance(x, np.ndarray)


def is_on_device(x):
    return type(x) is DeviceArray


def on_device(x):
    """A structure whose arrays are device arrays."""
    arrays = Structure(x, is_array, shared=True)
    return arrays.rebuild([DeviceArray(np.copy(a)) for a in arrays.leaves]) if arrays.leaves else x


def on_host(x):
    arrays = Structure(x, is_on_device)
    return arrays.rebuild([a.host for a in arrays.leaves]) if arrays.leaves else x


def assert_same(found, wanted):
    """Bit for bit, but for -0.0 and for where the order of sums differs; found on a device."""
    assert type(found) is DeviceArray
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found.host, wanted, rtol=1e-14, atol=1e-15)


# Programs


def mlp(w1, b, w2):
    return np.sum(np.tanh(np.maximum(X_LIKE(w1) @ w1 + b, 0.0) @ w2) ** 2)


MAKERS = {np.ndarray: np.asarray, DeviceArray: DeviceArray}  # and CuPy's, where there is a GPU


def X_LIKE(w):  # noqa: N802 - X where `w` is
    return MAKERS[type(zyg.primal(w))](X)


def cross_entropy(x, w, b):
    z = x @ w + b
    z = z - np.max(z, axis=1, keepdims=True)
    return -np.mean((z - np.log(np.sum(np.exp(z), axis=1, keepdims=True)))[:, 2])


def logistic(x, w):
    z = x @ w[:, 0]
    return np.mean(np.logaddexp(0.0, z) - z * (z > 0.3)) + 0.1 * np.sum(w * w)


def normalised(x, gain):
    centred = (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5)
    return (centred * gain[0, :3] + np.std(x)).prod(axis=1).sum()


def convolution(x, kernel):
    parts = [x[i : i + 3, j : j + 2] * kernel[i, j] for i in range(2) for j in range(2)]
    left = np.concatenate([parts[0] + parts[1], np.stack(parts[2:])[0]], axis=1)
    return np.sum(np.pad(left, 1)[1:, ::2] ** 2) + left[0, 0] * left.T[-1, -1]


def choices(x):
    return np.sum(np.where(x > 0, x**2, np.clip(x, -0.5, None))) + np.sum(x[[0, 1, 1], 0] ** 3)


def gaussian_process(k, y):
    low = np.linalg.cholesky(k @ k.T)
    return np.sum(np.log(np.diagonal(low))) + y @ np.linalg.solve(k @ k.T, y)


def recurrent(w, h):
    for _ in range(4):
        h = np.tanh(h @ w * 0.3) + h[::-1]
    return h.sum() * h[0, 0] / len(h)


PROGRAMS = [
    (mlp, W, B, V), (cross_entropy, X, W, B), (logistic, X, W), (normalised, X, W),
    (convolution, X, W), (choices, X), (gaussian_process, SQUARE, B), (recurrent, SQUARE, SQUARE),
]  # fmt: skip
programs = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0].__name__)


@programs
def test_the_gradient_on_a_device_is_that_on_the_host(program):
    f, *args = program
    value, wanted = zyg.value_and_gradient(f, *args)
    device_value, found = zyg.value_and_gradient(f, *on_device(args))
    np.testing.assert_allclose(device_value.host, value, rtol=1e-15)
    for c, w in zip(found, wanted, strict=True):
        assert_same(c, w)


@programs
def test_single_precision_stays(program):
    f, *args = program
    args = [a.astype(np.float32) for a in args]
    with zyg.config(strong_zero=False):
        wanted = zyg.gradient(f, *args)
    for c, w in zip(zyg.gradient(f, *on_device(args)), wanted, strict=True):
        assert c.dtype == np.float32
        np.testing.assert_allclose(c.host, w, rtol=1e-4, atol=1e-5)


@programs
def test_forward_and_reverse_mode_agree_on_a_device(program):
    f, *args = program
    directions = [np.cos(np.arange(a.size)).reshape(a.shape) for a in args]
    _, y_dot = zyg.pushforward(f, tuple(on_device(args)), tuple(on_device(directions)))
    gradient = on_host(zyg.gradient(f, *on_device(args)))
    wanted = sum(np.vdot(c, d) for c, d in zip(gradient, directions, strict=True))
    np.testing.assert_allclose(y_dot.host, wanted, rtol=1e-10)


def test_second_derivatives_on_a_device_are_those_on_the_host():
    def f(x):
        return (
            np.sum(np.sin(x[1:]) * x[0] ** 2) + np.max(x, axis=1)[2] ** 3 + np.sum(x[[0, 0]] ** 3)
        )

    def squared(x):
        return np.sum(zyg.gradient(f, x)[0] ** 2)

    wanted = zyg.hvp(f, X, X[::-1])
    np.testing.assert_allclose(zyg.hvp(f, *on_device((X, X[::-1]))).host, wanted, rtol=1e-13)
    assert_same(zyg.gradient(squared, DeviceArray(X))[0], zyg.gradient(squared, X)[0])


def on_the_host(f, calls):
    """Of each call that the host has: a program of its arrays, these, what it gives, a cotangent of
    that, and the cotangents of the arrays."""
    for c in calls:
        inputs = Structure((c.args, c.kwargs), is_array, shared=True)

        def program(*arrays, inputs=inputs):
            args, kwargs = inputs.rebuild(arrays)
            return f(*args, **kwargs)

        try:
            y, back = zyg.pullback(program, *inputs.leaves)
            results = Structure(y, is_result)
            y_bar = results.rebuild([np.cos(np.asarray(v) + 1).real for v in results.leaves])
            wanted = back(y_bar)
        except Exception:
            continue
        yield program, inputs.leaves, results.leaves, y_bar, wanted


def compared(found, wanted, to_host):
    """How many cotangents of a device are those of the host: all."""
    for a, b in zip(found, wanted, strict=True):
        assert (a is None) is (b is None)
        if a is not None:
            assert a.dtype == b.dtype
            np.testing.assert_allclose(to_host(a), b, rtol=1e-9, atol=1e-9)
    return len(found)


@pytest.mark.parametrize(("f", "calls"), CALLS, ids=lambda v: getattr(v, "__name__", ""))
@pytest.mark.filterwarnings("ignore")
def test_a_rule_does_on_a_device_what_it_does_on_the_host_or_refuses_by_name(f, calls):
    done = 0
    for program, arrays, _, y_bar, wanted in on_the_host(f, calls):
        try:
            found = zyg.pullback(program, *on_device(arrays))[1](on_device(y_bar))
        except ZygError:
            continue
        done += compared(found, wanted, lambda a: a.host)
    assert done or f not in _READY


@given(
    mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3),
    st.sampled_from(
        [np.add, np.subtract, np.multiply, np.divide, np.arctan2, np.maximum, np.hypot]
    ),
)
def test_operands_of_all_shapes_that_broadcast(shapes, ufunc):
    a, b = (np.cos(1.0 + np.arange(np.prod(s, dtype=int))).reshape(s) for s in shapes.input_shapes)

    def f(a, b):
        return np.sum(np.sin(ufunc(a, b)))

    for c, w in zip(zyg.gradient(f, *on_device((a, b))), zyg.gradient(f, a, b), strict=True):
        assert_same(c, w)


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=6),
    st.one_of(st.integers(-4, 3), st.slices(4), st.lists(st.integers(-4, 3), max_size=5)),
)
def test_reads_of_all_kinds(first, second):
    def f(x):
        return (
            np.sum(x[first] ** 2) + np.sum(np.exp(x[second])) + np.sum(x[..., 1:][x[..., 1:] > 0])
        )

    assert_same(zyg.gradient(f, DeviceArray(X))[0], zyg.gradient(f, X)[0])


# Numbers, constants, structures


def test_a_device_array_that_nobody_watches_is_an_operand():
    x = DeviceArray(X)
    (c,) = zyg.gradient(lambda a: np.sum(2.0 * x * a - x / a), DeviceArray(3.0))
    assert_same(c, np.sum(2.0 * X + X / 9.0))


def test_structures_masks_and_integers():
    tree = {
        "w": DeviceArray(X),
        "mask": DeviceArray(X > 0),
        "n": DeviceArray(np.arange(3)),
        "k": "a",
    }
    (c,) = zyg.gradient(lambda t: np.sum(t["w"] * t["mask"] * t["n"] ** 2), tree)
    assert c["mask"] is None
    assert c["k"] is None
    assert_same(c["w"], (X > 0) * np.arange(3.0) ** 2)
    assert_same(c["n"], np.sum(X * (X > 0), axis=0) * 2.0 * np.arange(3))


def test_zeros_and_none_where_nothing_depends():
    a, b = DeviceArray(X), DeviceArray(B)
    assert zyg.gradient(lambda a, b: np.sum(a), a, b)[1] is None
    assert_same(zyg.gradient(lambda a, b: np.sum(a), a, b, zeros=True)[1], np.zeros(5))


def test_no_two_results_and_no_argument_share_memory():
    a = DeviceArray(X)
    y, back = zyg.pullback(lambda a, b: a + b, a, a)
    y_bar = DeviceArray(np.ones((4, 3)))
    first, second = back(y_bar)
    arrays = [a.host, y.host, y_bar.host, first.host, second.host]
    assert not any(np.may_share_memory(p, q) for k, p in enumerate(arrays) for q in arrays[:k])


def test_a_pullback_keeps_its_argument_though_the_caller_writes_to_it():
    a = DeviceArray(np.copy(X))
    _, back = zyg.pullback(lambda a: np.sum(a * a), a)
    a.host[...] = 0.0
    assert_same(back(1.0)[0], 2 * X)


def test_what_outlives_its_gradient_is_the_plain_array():
    kept = []
    zyg.gradient(lambda a: kept.append(a * 2) or np.sum(a), DeviceArray(X))
    assert_same(kept[0] + 0, 2 * X)
    assert_same(np.median(kept[0], axis=0), np.median(2 * X, axis=0))


# Exact zeros


def test_an_untaken_branch_does_not_poison_the_gradient():
    def f(x):
        return np.sum(np.where(x > 0, np.sqrt(x), 0.0)) + np.sum(np.where(x > 9, 1 / (x - x), 0.0))

    x = np.array([4.0, 0.0, 1.0])
    with np.errstate(all="ignore"):
        assert_same(zyg.gradient(f, DeviceArray(x))[0], np.array([0.25, 0.0, 0.5]))
        with zyg.config(strong_zero=False):
            assert np.isnan(zyg.gradient(f, DeviceArray(x))[0].host).all()


def test_a_result_that_is_not_used_does_not_poison_the_gradient():
    def f(x):
        return np.sum(x) + np.sum(
            np.where(x[:, None] > 9, np.full_like(W_NAN, 1.0) * (x @ W_NAN), 0.0)
        )

    W_NAN = DeviceArray(np.array([[np.nan, np.inf]] * 3))  # noqa: N806 - a matrix
    assert_same(zyg.gradient(f, DeviceArray(np.ones(3)))[0], np.ones(3))


# Kernels


def test_a_kernel_runs_on_watched_device_arrays(monkeypatch):
    from zyg.broadcasting import calls

    on_the_host = calls.launch

    def launch(kernel, operands, *rest, **options):
        made, _ = on_the_host(kernel, [on_host(x) for x in operands], *rest, **options)
        return on_device(made), ()

    def loss(w, b, x):
        return np.sum(zyg.broadcast(lambda u, v: u * v if u > 0 else u - v, x @ w, b) ** 2)

    wanted = zyg.gradient(loss, W, B, X)
    monkeypatch.setattr(calls, "launch", launch)
    for c, w in zip(zyg.gradient(loss, *on_device((W, B, X))), wanted, strict=True):
        assert type(c) is DeviceArray
        np.testing.assert_allclose(c.host, w, rtol=1e-14)


# Refusals


def in_place(write):
    def f(x):
        y = x * 2.0
        write(y)
        return np.sum(y)

    return f


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.__setitem__(0, 1.0), lambda y: y.__iadd__(1.0), lambda y: y.__imul__(2.0),
        lambda y: y.fill(0.0), lambda y: y.sort(), lambda y: np.exp(y, out=y),
        lambda y: np.add.at(y, 0, 1.0), lambda y: setattr(y, "real", 1.0),
    ],
)  # fmt: skip
def test_a_write_into_a_watched_device_array_is_refused(write):
    with pytest.raises(MutationError, match="a watched device array cannot be written"):
        zyg.gradient(in_place(write), DeviceArray(X))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: float(x[0, 0]), lambda x: x[0, 0].item(), lambda x: x.tolist()[0][0],
        lambda x: x.get()[0, 0], lambda x: np.asarray(x)[0, 0],
    ],
)  # fmt: skip
def test_what_would_drop_the_derivative_on_its_way_to_the_host_is_refused(f):
    with pytest.raises(ConversionError):
        zyg.gradient(f, DeviceArray(X))


def test_the_protocol_of_the_memory_is_not_offered():
    def f(x):
        assert not hasattr(x, "__cuda_array_interface__")
        assert not isinstance(x, DeviceArray)  # compiled code would read its fields
        return np.sum(x)

    zyg.gradient(f, DeviceArray(X))


def test_a_number_of_the_host_gets_no_gradient_from_the_device():
    x = DeviceArray(X)
    with pytest.raises(
        ConversionError, match="an array of the device is the cotangent of a number"
    ):
        zyg.gradient(lambda a: np.sum(a * x), 2.0)
    with pytest.raises(ConversionError, match="an array of the host is the cotangent of an array"):
        zyg.pullback(np.sin, x)[1](X)


def test_functions_without_a_rule_for_device_arrays_are_named():
    x = DeviceArray(SQUARE)
    for f, name in (
        (lambda x: np.median(x), "np.median of a watched device array has no rule"),
        (lambda x: x.cumprod()[0], "np.cumprod of a watched device array has no rule"),
        (lambda x: np.sum(np.linalg.svd(x)[1]), "np.svd of a watched device array has no rule"),
        (lambda x: np.sum(np.vecdot(x, x)), "np.vecdot of arrays of"),
        (lambda x: np.sum(x, initial=1.0), "np.sum of arrays of .* takes a, axis"),
        (lambda x: np.sum(x * np.ones(5)), "np.mul of arrays of .* Unsupported type"),
        (lambda x: zyg.checkpoint(np.sum, x), "zyg.checkpoint of device arrays"),
        (lambda x: zyg.jacobian(np.sin, x)[0], "argument 0 of the function is on a device"),
        (lambda x: zyg.hessian(np.sum, x), "argument 0 of the function is on a device"),
    ):
        with pytest.raises(MissingRuleError, match=name):
            zyg.gradient(f, x)


def test_a_library_that_cannot_add_at_repeated_places_is_named(monkeypatch):
    monkeypatch.delattr(LIBRARY, "add")
    with pytest.raises(MissingRuleError, match=r"np.add.at of arrays of"):
        zyg.gradient(lambda x: np.sum(x[[0, 0]]), DeviceArray(X))


def test_an_array_is_no_loss():
    with pytest.raises(ZygError, match=r"returned an array of shape \(4, 3\)"):
        zyg.gradient(lambda x: x, DeviceArray(X))


def test_explain_knows_device_arrays():
    text = str(zyg.explain(lambda x: np.sum(np.sin(x)), DeviceArray(X)))
    assert "argument 0: the value depends on it" in text
