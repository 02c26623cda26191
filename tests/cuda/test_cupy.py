"""Watched arrays of CuPy on a GPU: the gradients of the same programs over NumPy.

`test_device_arrays` holds a stand-in to the same; here is what it stands for.
"""

import numpy as np
import pytest

import zyg
from zyg.base.array_types import array_type, unseen_product
from zyg.base.structure import Structure
from zyg.core.entries import is_result
from zyg.errors import ConversionError, MutationError, ZygError
from zyg.watched.device import _READY

from .test_device_arrays import (
    CALLS,
    MAKERS,
    PROGRAMS,
    B,
    V,
    W,
    X,
    compared,
    is_array,
    on_the_host,
)  # fmt: skip

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]
programs = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0].__name__)


@pytest.fixture(scope="module")
def cupy():
    found = pytest.importorskip("cupy", reason="CuPy is not installed")
    MAKERS[found.ndarray] = found.asarray
    return found


@pytest.fixture(scope="module")
def on_device(cupy):
    def moved(x):
        arrays = Structure(x, is_array, shared=True)
        return arrays.rebuild([cupy.array(a) for a in arrays.leaves]) if arrays.leaves else x

    return moved


def assert_close(found, wanted, tolerance=1e-12):
    assert not isinstance(found, np.ndarray)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found.get(), wanted, rtol=tolerance, atol=tolerance)


def _is_close(found, wanted):
    found = found.get() if hasattr(found, "get") else found
    return np.shape(found) == np.shape(wanted) and np.allclose(found, wanted, 1e-9, 1e-9, True)


@programs
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-4)])
def test_the_gradient_on_a_device_is_that_on_the_host(program, dtype, tolerance, on_device):
    f, *args = program
    args = [a.astype(dtype) for a in args]
    value, wanted = zyg.value_and_gradient(f, *args)
    device_value, found = zyg.value_and_gradient(f, *on_device(args))
    np.testing.assert_allclose(device_value.get(), value, rtol=tolerance)
    for c, w in zip(found, wanted, strict=True):
        assert_close(c, w, tolerance)


@programs
def test_forward_and_reverse_mode_agree_on_a_device(program, on_device):
    f, *args = program
    directions = [np.cos(np.arange(a.size)).reshape(a.shape) for a in args]
    _, y_dot = zyg.pushforward(f, tuple(on_device(args)), tuple(on_device(directions)))
    wanted = sum(np.vdot(c, d) for c, d in zip(zyg.gradient(f, *args), directions, strict=True))
    np.testing.assert_allclose(y_dot.get(), wanted, rtol=1e-10)


def test_second_derivatives_on_a_device_are_those_on_the_host(on_device):
    def f(x):
        return np.sum(np.sin(x[1:]) * x[0] ** 2) + np.max(x, axis=1)[2] ** 3 + np.sum(x[[0, 0]])

    wanted = zyg.hvp(f, X, X[::-1].copy())
    assert_close(zyg.hvp(f, *on_device((X, X[::-1].copy()))), wanted)


@pytest.mark.parametrize(("f", "calls"), CALLS, ids=lambda v: getattr(v, "__name__", ""))
@pytest.mark.filterwarnings("ignore")
def test_a_rule_does_on_a_device_what_it_does_on_the_host_or_refuses_by_name(f, calls, on_device):
    done = 0
    for program, arrays, values, y_bar, wanted in on_the_host(f, calls):
        try:
            plain = Structure(program(*on_device(arrays)), is_result).leaves
        except Exception:  # what is none of CuPy's, but may be one of zyg's in CuPy's
            plain = None
        if plain and not all(map(_is_close, plain, values)):  # CuPy's value is another
            continue
        try:
            found = zyg.pullback(program, *on_device(arrays))[1](on_device(y_bar))
        except ZygError:
            continue
        except Exception:
            assert plain is None
            continue
        done += compared(found, wanted, lambda a: a.get())
    assert done or f not in _READY


def test_a_kernel_runs_on_watched_device_arrays(on_device):
    def loss(w, b, x):
        return np.sum(zyg.broadcast(lambda u, v: u * v if u > 0 else u - v, x @ w, b) ** 2)

    wanted = zyg.gradient(loss, W, B, X)
    for c, w in zip(zyg.gradient(loss, *on_device((W, B, X))), wanted, strict=True):
        assert_close(c, w)


def test_an_elementwise_function_and_its_second_derivative(on_device):
    @zyg.elementwise
    def swish(x: float, k: float) -> float:
        return x / (1 + np.exp(-k * x))

    def loss(x, w):
        return np.sum(swish(x @ w, 1.5) ** 2)

    wanted = zyg.gradient(loss, W, V)
    for c, w in zip(zyg.gradient(loss, *on_device((W, V))), wanted, strict=True):
        assert_close(c, w)
    wanted = zyg.hvp(lambda w: loss(W, w), V, V)
    w_on_device, v_on_device = on_device((W, V))
    assert_close(zyg.hvp(lambda w: loss(w_on_device, w), v_on_device, v_on_device), wanted)


@pytest.mark.parametrize("slopes", ["?", "e", "f", "d", "F", "D"])
@pytest.mark.parametrize("cotangents", ["e", "f", "d", "F", "D"])
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_the_product_in_one_launch_is_that_in_seven(cotangents, slopes, cupy):
    points = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan])
    g = cupy.asarray(points.astype(cotangents)[:, None])
    s = cupy.asarray(points.astype(slopes))
    turned = cupy.asfortranarray(s + g * 0)
    for c, d in ((g, s), (g[0, 0], s), (g, s[4]), (g[:, 0].reshape(7, 1, 1), turned)):
        found, wanted = array_type(c).strong_product(c, d), unseen_product(c, d)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(found.get(), wanted.get())


def test_what_would_copy_to_the_host_or_write_is_refused(on_device):
    x = on_device(X)
    for f in (lambda x: float(x[0, 0]), lambda x: x[0, 0].item(), lambda x: x.get()[0, 0],
              lambda x: np.asarray(x)[0, 0]):  # fmt: skip
        with pytest.raises(ConversionError):
            zyg.gradient(f, x)

    def in_place(x):
        y = x * 2.0
        y += 1.0
        return np.sum(y)

    with pytest.raises(MutationError, match="a watched device array cannot be written"):
        zyg.gradient(in_place, x)


def test_training_by_gradients_that_stay_on_the_device(cupy):
    rng = np.random.default_rng(0)
    x = cupy.asarray(rng.normal(size=(256, 8)))
    y = np.tanh(x @ cupy.asarray(rng.normal(size=8)))
    w = cupy.zeros(8)

    def loss(w):
        return np.mean((np.tanh(x @ w) - y) ** 2)

    first = float(loss(w))
    for _ in range(200):
        w = w - 0.5 * zyg.gradient(loss, w)[0]
    assert float(loss(w)) < 0.05 * first
