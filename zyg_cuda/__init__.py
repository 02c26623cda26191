"""Broadcast kernels on the GPU: what `zyg.broadcast` does on the CPU, through numba.cuda.

`run` runs a kernel over device arrays. The text of the scalar function is that of the CPU; around
it stand loops over the grid. Where nothing else is said, a file has its counterpart in zyg/kernels.

errors               what goes wrong with device arrays and drivers
memory simulated     loads and stores by address: on the GPU, in numba's simulator of one
functions names      functions that kernels call, and where they are from
text plans           the text of a kernel; which kernels a call launches
arrays operands      device arrays of several libraries; which of them go together
ptx                  what a kernel takes of a processor, found without one
launch               results, streams, launches
"""

from zyg_cuda.arrays import is_device_array
from zyg_cuda.errors import DeviceArrayError, DriverError
from zyg_cuda.launch import run

__all__ = ["DeviceArrayError", "DriverError", "is_device_array", "run"]
