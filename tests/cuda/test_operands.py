"""Which operands go together, told by what they say of themselves; no device is needed."""

from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import zyg_cuda
from zyg_cuda import arrays, launch
from zyg_cuda.operands import check_target, given, target_of

DOUBLE = np.dtype(np.float64)


@pytest.fixture
def cupy(monkeypatch):
    """A library that calls itself CuPy: arrays with an interface, a device and a current stream."""
    module = ModuleType("cupy")

    class ndarray:  # noqa: N801 - as it is called there
        def __init__(self, host, device=0, stream=None, **more):
            self.device = SimpleNamespace(id=device)
            data = {"shape": host.shape, "typestr": host.dtype.str, "strides": None, "version": 3}
            self.told = {**data, "data": (host.ctypes.data, False), "stream": stream, **more}

        @property
        def __cuda_array_interface__(self):
            return self.told

    ndarray.__module__ = "cupy"
    module.ndarray = ndarray
    monkeypatch.setitem(arrays.sys.modules, "cupy", module)
    return module


def test_an_array_is_where_its_interface_says(cupy):
    host = np.zeros((3, 4))
    _, device, (found, number) = given([cupy.ndarray(host, device=1, stream=7), np.float32(2)])

    assert (found.address, found.shape, found.strides) == (host.ctypes.data, (3, 4), (32, 8))
    assert (found.dtype, found.device, found.stream, device) == (host.dtype, 1, 7, 1)
    assert number == 2.0


@pytest.mark.parametrize(("told", "stream"), [(None, None), (1, 0), (2, 2), (77, 77)])
def test_the_default_stream_has_one_name(told, stream, cupy):
    _, _, (found,) = given([cupy.ndarray(np.zeros(3), stream=told)])
    assert found.stream == stream


def test_operands_on_different_devices(cupy):
    with pytest.raises(zyg_cuda.DeviceArrayError, match="on the devices 0 and 1"):
        given([cupy.ndarray(np.zeros(3)), cupy.ndarray(np.zeros(3), device=1)])


def test_an_array_to_write_into_on_another_device(cupy):
    out = cupy.ndarray(np.zeros(3), device=1)
    with pytest.raises(zyg_cuda.DeviceArrayError, match="on device 1, the operands on 0"):
        target_of(out, 0, [])


def test_an_array_to_write_into_that_shares_its_own_memory(cupy):
    out = cupy.ndarray(np.zeros((3, 4)), strides=(0, 8))
    with pytest.raises(zyg_cuda.DeviceArrayError, match="share memory"):
        check_target(target_of(out, 0, []), [DOUBLE], (3, 4))


def test_a_masked_operand(cupy):
    with pytest.raises(zyg_cuda.DeviceArrayError, match="masked"):
        given([cupy.ndarray(np.zeros(3), mask=object())])


def test_tensors_of_the_host_are_not_device_arrays():
    class Tensor:
        is_cuda = False

        @property
        def __cuda_array_interface__(self):
            raise AttributeError("not on a GPU")

    assert not zyg_cuda.is_device_array(Tensor())
    assert not zyg_cuda.is_device_array(np.zeros(3))


@pytest.fixture
def undecided():
    launch.is_simulated.cache_clear()
    yield
    launch.is_simulated.cache_clear()


@pytest.mark.usefixtures("undecided")
def test_without_numba_cuda_its_installation_is_named(monkeypatch):
    monkeypatch.setattr(launch, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'zyg\[cuda\]'"):
        zyg_cuda.run(None, [])


@pytest.mark.usefixtures("undecided")
def test_without_a_driver_it_is_asked_for(monkeypatch):
    from numba import cuda

    monkeypatch.setattr(launch, "find_spec", lambda name: object())
    monkeypatch.setattr(cuda, "is_available", lambda: False)
    with pytest.raises(zyg_cuda.DriverError, match="there is no CUDA device"):
        zyg_cuda.run(None, [])
