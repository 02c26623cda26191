"""Which operands go together, told by what they say of themselves; no device is needed."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import zyg_cuda
from zyg_cuda import arrays, launch
from zyg_cuda.operands import check_target, given, target_of

DOUBLE = np.dtype(np.float64)


@pytest.fixture
def cupy(monkeypatch):
    """A library that calls itself CuPy: arrays know their memory, and that its device."""
    module = ModuleType("cupy")

    class ndarray:  # noqa: N801 - as it is called there
        __cuda_array_interface__ = None

        def __init__(self, host, device=0, strides=None):
            self.shape, self.dtype = host.shape, host.dtype
            self.strides = strides or host.strides
            self.data = SimpleNamespace(ptr=host.ctypes.data, device_id=device)

    ndarray.__module__ = "cupy"
    module.ndarray = ndarray
    monkeypatch.setitem(arrays.sys.modules, "cupy", module)
    return module


def test_an_array_of_cupy_is_where_its_memory_is(cupy):
    host = np.zeros((3, 4))
    _, device, (found, number) = given([cupy.ndarray(host, device=1), np.float32(2)])

    assert (found.address, found.shape, found.strides) == (host.ctypes.data, (3, 4), (32, 8))
    assert (found.dtype, found.device, found.stream, device) == (host.dtype, 1, None, 1)
    assert number == 2.0


class Told(arrays._Interface):
    """A library whose arrays are known by their interface."""

    def device(self, x, address):
        return 1


def exported(host, stream=None, **more):
    told = {"shape": host.shape, "typestr": host.dtype.str, "strides": None, "version": 3}
    told |= {"data": (host.ctypes.data, False), "stream": stream, **more}
    return SimpleNamespace(__cuda_array_interface__=told)


def test_an_array_is_where_its_interface_says():
    host = np.zeros((3, 4))
    found = Told().array(exported(host, stream=7))

    assert (found.address, found.shape, found.strides) == (host.ctypes.data, (3, 4), (32, 8))
    assert (found.dtype, found.device, found.stream) == (host.dtype, 1, 7)
    assert Told().address(exported(host)) == host.ctypes.data


@pytest.mark.parametrize(("told", "stream"), [(None, None), (1, 0), (2, 2), (77, 77)])
def test_the_default_stream_has_one_name(told, stream):
    assert Told().array(exported(np.zeros(3), stream=told)).stream == stream


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


def test_a_masked_operand():
    with pytest.raises(zyg_cuda.DeviceArrayError, match="masked"):
        Told().array(exported(np.zeros(3), mask=object()))


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


@pytest.mark.usefixtures("undecided")
def test_a_numpy_that_numba_cuda_does_not_know_is_named(monkeypatch):
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: pip install 'zyg[cuda]'")
    from numba import cuda

    monkeypatch.setattr(cuda, "is_available", lambda: True)
    monkeypatch.setitem(sys.modules, "numba.cuda.np.arrayobj", None)
    with pytest.raises(ImportError, match="does not work with NumPy"):
        zyg_cuda.run(None, [])
