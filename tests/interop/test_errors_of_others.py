"""A watched value in the code of another library: the exception names the bridge to use."""

import ctypes
import ctypes.util

import numpy as np
import pytest

import zyg
from zyg.errors import ConversionError

X = np.array([1.0, 2.0])


def raised(f, x):
    """What leaves a gradient of f, with its notes."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever the library raises
        zyg.gradient(lambda x: (f(x), 0.0)[1], x)
    error = caught.value
    return error, "\n".join([str(error), *getattr(error, "__notes__", ())])


TORCH = {
    "function": (lambda t: t.sin, X),
    "of a number": (lambda t: t.sin, 1.0),
    "made of it": (lambda t: t.tensor, X),
    "shared with it": (lambda t: t.from_numpy, X),
    "module": (lambda t: t.nn.Linear(2, 1), X),
    "in a list": (lambda t: t.stack, [X, X]),
    "stored": (lambda t: lambda x: t.ones(2).__setitem__(0, x), 1.0),
}


@pytest.mark.parametrize("name", TORCH)
def test_functions_of_pytorch(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    make, x = TORCH[name]
    error, text = raised(make(torch), x)
    assert "zyg.torch.wrap(f)(x)" in text
    refused = name in ("function", "of a number", "module", "in a list", "stored")
    assert isinstance(error, ConversionError) == refused


def test_a_value_that_outlived_its_gradient_is_a_number_to_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    kept = []
    zyg.gradient(lambda x: (kept.append(x), x * x)[1], 3.0)
    assert (torch.ones(2) * kept[0]).tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda jax, jnp: jnp.sin,
        lambda jax, jnp: jnp.asarray,
        lambda jax, jnp: jax.jit(lambda x: x * 2),
        lambda jax, jnp: jax.grad(lambda x: (x * x).sum()),
    ],
)
def test_functions_of_jax(make):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    _, text = raised(make(jax, jax.numpy), X)
    assert "zyg.jax.wrap(f)(x)" in text


def test_functions_of_numba():
    import numba

    assert "zyg.numba.wrap(f)(x)" in raised(numba.njit(lambda x: x.sum()), X)[1]


def test_functions_of_c():
    name = ctypes.util.find_library("m")
    if name is None:
        pytest.skip("there is no library of C that ctypes finds")
    libm = ctypes.CDLL(name)
    libm.cosh.restype, libm.cosh.argtypes = ctypes.c_double, [ctypes.c_double]
    assert "zyg.foreign(f" in raised(lambda x: libm.cosh(x), 1.0)[1]
    assert "zyg.foreign(f" in raised(lambda x: x.ctypes.data, X)[1]
    cffi = pytest.importorskip("cffi", reason="cffi is not installed")
    ffi = cffi.FFI()
    ffi.cdef("double cosh(double);")
    lib = ffi.dlopen(name)
    assert "zyg.foreign(f" in raised(lambda x: lib.cosh(x), 1.0)[1]
