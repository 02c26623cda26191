"""What tests on a GPU need: they are skipped, with the reason, where it is missing."""

import pytest


@pytest.fixture(scope="session")
def device():
    """A CUDA device."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: pip install 'zyg[cuda]'")
    from numba import cuda

    if not cuda.is_available():
        pytest.skip("no CUDA device")
    return cuda.get_current_device()


@pytest.fixture(scope="session")
def compiler():
    """What turns kernels into PTX; no device is needed for that."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: pip install 'zyg[cuda]'")
    from zyg_cuda.ptx import ptx_of

    try:
        ptx_of('signature = "void(int64)"\ndef kernel(n): pass')
    except Exception as error:
        pytest.skip(f"numba-cuda has no CUDA libraries here: {str(error).splitlines()[0]}")
    return ptx_of


@pytest.fixture(scope="session")
def resources():
    """What says how many registers a kernel takes."""
    from zyg_cuda import ptx

    if ptx.ptxas() is None:
        pytest.skip("there is no ptxas: pip install nvidia-cuda-nvcc, or the CUDA toolkit")
    return ptx.resources
