"""Functions written for the GPU, run as Python on awkward numbers, against NumPy."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.75, 2.5, -2.5, 3.7, -3.7, np.inf, -np.inf, np.nan, 1e30, -1e30]
WHOLE = [0, 1, -1, 2, -2, 3, -3, 7, -7, 1 << 40, -(2**63)]
ONE = ["absolute", "sign", "signbit", "deg2rad", "rad2deg"]
TWO = ["maximum", "minimum", "fmax", "fmin", "fmod", "remainder", "floor_divide", "heaviside",
       "logaddexp", "logaddexp2"]  # fmt: skip


@pytest.fixture
def functions(monkeypatch):
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: pip install 'zyg[cuda]'")
    from zyg_cuda import functions

    # The device's functions do not raise; NumPy's are like them.
    names = ("fmod", "copysign", "floor", "log1p", "exp")
    device = SimpleNamespace(**{name: getattr(np, name) for name in names})
    monkeypatch.setattr(functions, "math", device)
    return functions


@pytest.mark.parametrize("name", [*ONE, *TWO])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_floats_follow_numpy(name, dtype, functions):
    form = functions._of_floats(dtype)[name]
    numbers = [dtype(x) for x in NUMBERS]
    with np.errstate(all="ignore"):
        for args in itertools.product(numbers, repeat=1 if name in ONE else 2):
            y, right = form(*args), getattr(np, name)(*args)
            assert np.asarray(y).dtype == right.dtype, args
            np.testing.assert_allclose(y, right, 4 * np.finfo(dtype).eps, err_msg=f"{args}")
            if name in ("fmod", "remainder", "floor_divide") and y == 0:
                assert np.signbit(y) == np.signbit(right), args


@pytest.mark.parametrize("name", ["sign", "remainder", "floor_divide", "fmod"])
def test_functions_of_ints_follow_numpy(name, functions):
    form = functions._OF_INTS[name]
    with np.errstate(all="ignore"):
        whole = map(np.int64, WHOLE) if name == "floor_divide" else WHOLE
        for args in itertools.product(whole, repeat=1 if name == "sign" else 2):
            assert form(*args) == getattr(np, name)(*args), args


def test_sums_and_products_of_ints_wrap_around(functions):
    numbers = [*map(np.int64, WHOLE)]
    with np.errstate(all="ignore"):
        for name in ("add", "subtract", "multiply"):
            form = functions._WRAPPING[f"wrapping_{name}"]
            for x, y in itertools.product(numbers, repeat=2):
                assert form(x, y) == getattr(np, name)(x, y)
        for x, n in itertools.product(numbers, [0, 1, 2, 7, 40]):
            assert functions._WRAPPING["int_power"](x, n) == np.power(x, np.int64(n))
