"""The exceptions of kernels on the GPU, in zyg's message template."""

from __future__ import annotations

from zyg.errors import ZygError


class DeviceArrayError(ZygError, TypeError):
    """Operands that no kernel on the GPU can take.

    Examples: arrays on two devices; a NumPy array among device arrays; complex numbers. Remedy: the
    message says what to convert.
    """

    tag = "device-array"


class DriverError(ZygError, RuntimeError):
    """There is no CUDA driver, or it does not start.

    Remedy: a machine with an NVIDIA GPU and its driver; without one, NUMBA_ENABLE_CUDASIM=1 runs
    small kernels in numba's simulator.
    """

    tag = "driver"
