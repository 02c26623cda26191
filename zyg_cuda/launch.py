"""Running a kernel over device arrays: `run` allocates the results, orders streams, launches.

Nothing waits for the device: a kernel is put on the stream that is current for the library of the
first device operand. Where another operand is made on another stream, that one's work so far is
waited for on the device, and its further work waits for the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from zyg.base.caches import Cache, remembered
from zyg.base.extras import installing
from zyg.errors import ShapeError
from zyg.kernels.dtypes import dtypes_of
from zyg_cuda.arrays import Library
from zyg_cuda.errors import DriverError
from zyg_cuda.operands import check, check_target, given, target_of
from zyg_cuda.plans import Array, Launch, Made, Output, Plan, Planner
from zyg_cuda.ptx import entry_of, executed, ptx_of
from zyg_cuda.text import THREADS

_SIMULATED_THREADS = 16  # each is a thread of the host
_NUMBERS: dict[str, type] = {"float": float, "int": int, "bool": bool}

_plans: Cache[Any, Plan] = Cache(4096)
_launchers: Cache[Any, Any] = Cache(4096)


def run(
    kernel: Any,
    operands: Sequence[Any],
    shapes: Sequence[Any] | None = None,
    out: Any = None,
) -> tuple[Any, ...]:
    """The results of a kernel at each element of device arrays and numbers that broadcast.

    `kernel` is a `zyg.kernels.scalar.Kernel`. Operands are arrays on one device, of any library
    with ``__cuda_array_interface__``, and numbers; results are arrays of the library of the first.
    A result with a shape in `shapes` is summed to it; `out` is a device array for the only result.
    dtypes are those of `zyg.broadcast`. Returns while the kernel may still run.

    Raises DeviceArrayError for operands that do not go together, ShapeError for shapes that do not
    broadcast, DriverError where there is no CUDA driver, ImportError without numba-cuda.
    """
    simulated = is_simulated()
    library, device, taken = given(operands)
    target = None if out is None else target_of(out, device, taken)
    layouts = [
        (a.address % 16, *a[1:4]) if isinstance(a, Array) else getattr(x, "dtype", None)
        for a, x in zip([*taken, target], [*operands, None], strict=True)
    ]
    key = (kernel, shapes and tuple(shapes), *layouts)
    plan = _plans.get(key)
    if plan is None:
        plan = _planned(kernel, operands, taken, shapes, target, simulated)
        _plans.put(key, plan)
    with library.on(device):
        made = [_made(library, m, plan) if out is None else out for m in plan.results]
        if plan.launches:
            numbers = [
                x.address if isinstance(x, Array) else _number(x, v.type, plan.dtype)
                for x, v in zip(taken, kernel.program.inputs, strict=True)
            ]
            streams = {x.stream for x in taken if isinstance(x, Array)}
            _Calls(library, device, simulated).all(plan, numbers, made, streams)
    return tuple(made)


def _number(x: Any, type: str, dtype: np.dtype[Any]) -> Any:
    """A number as the kernel takes it; a float in its own precision."""
    return dtype.type(x) if type == "float" else _NUMBERS[type](x)


def _planned(
    kernel: Any,
    operands: Sequence[Any],
    taken: list[Any],
    shapes: Sequence[Any] | None,
    target: Array | None,
    simulated: bool,
) -> Plan:
    arrays = [x if isinstance(x, Array) else None for x in taken]
    found = [x for x in arrays if x is not None]
    for x in found:
        check(x)
    dtype, dtypes = dtypes_of(kernel, [a or x for a, x in zip(arrays, operands, strict=True)])
    try:
        shape = np.broadcast_shapes(*[x.shape for x in found])
    except ValueError as error:
        raise ShapeError(
            f"operands of shapes {', '.join(str(x.shape) for x in found)} do not broadcast.",
            "lengths of axes, counted from the last, are equal or 1.",
            "insert axes, as x[:, None].",
        ) from error
    if target is not None:
        check_target(target, dtypes, shape)
    shapes = shapes or [None] * len(dtypes)
    outputs = [Output(d, s and tuple(s), target) for d, s in zip(dtypes, shapes, strict=True)]
    threads = _SIMULATED_THREADS if simulated else THREADS
    return Planner(kernel.program, arrays, outputs, dtype, threads, simulated).plan()


def _made(library: Library, made: Made, plan: Plan) -> Any:
    try:
        return library.empty(made) if plan.launches else library.zeros(made)
    except Exception as error:
        size = made.dtype.itemsize * int(np.prod(made.shape))
        error.add_note(f"zyg was allocating {size} bytes, for a result of shape {made.shape}")
        raise


class _Calls:
    """The launches of one call, on the stream that is current for a library."""

    def __init__(self, library: Library, device: int, simulated: bool) -> None:
        self.library, self.device, self.simulated = library, device, simulated
        self.stream = library.stream(device)

    def all(self, plan: Plan, numbers: list[Any], made: list[Any], streams: set[Any]) -> None:
        others = streams - {self.stream, None}
        for other in others:
            _wait(self.device, self.stream, other)
        places = [self.library.address(x) for x in made]
        for launch in plan.launches:
            self.one(launch, numbers, [places[k] for k in launch.results])
        for other in others:
            # So that memory which is freed there is not written over while the kernel reads it.
            _wait(self.device, other, self.stream)

    def one(self, launch: Launch, numbers: list[Any], places: list[int]) -> None:
        slots = {second.place: self.library.empty(second.slots) for second in launch.seconds}
        targets = [
            self.library.address(slots[i]) if i in slots else p for i, p in enumerate(places)
        ]
        call = self.launcher(launch.text, launch.grid, launch.block)
        call(*numbers, *targets, *launch.numbers)
        for second in launch.seconds:
            call = self.launcher(second.text, second.grid, second.block)
            call(targets[second.place], places[second.place], *second.slots.shape)

    def launcher(self, text: str, grid: tuple[int, ...], block: tuple[int, int]) -> Any:
        """A compiled kernel that knows its grid and stream."""
        if self.simulated:  # a kernel of the simulator remembers only the last grid
            return compiled(text, self.device)[grid, block]
        key = text, grid, block, self.device, self.stream
        return _launchers.get(key) or _launchers.put(key, _launcher(*key))


def _launcher(
    text: str, grid: tuple[int, ...], block: tuple[int, int], device: int, stream: int
) -> Callable[..., None]:
    """What launches a kernel: numba's own way there looks at the type of each argument."""
    from cuda.core import Device, LaunchConfig, launch
    from numba import cuda

    kernel = compiled(text, device)
    with cuda.gpus[device]:
        on = Device(device)
        on.set_current()
        made = on.create_stream(_Stream(stream))
    return partial(launch, made, LaunchConfig(grid=grid, block=block), kernel)


@remembered(1024)
def compiled(text: str, device: int) -> Any:
    """The kernel of this text for a device: one of `cuda.core`, or of numba's simulator."""
    from numba import cuda

    if is_simulated():
        module = executed(text)
        return cuda.jit(module["signature"])(module["kernel"])
    from cuda.core import ObjectCode

    with cuda.gpus[device]:
        ptx = ptx_of(text, cuda.get_current_device().compute_capability)
        return ObjectCode.from_ptx(ptx.encode()).get_kernel(entry_of(ptx))


class _Stream(NamedTuple):
    """A stream, by its handle, as `cuda.core` takes those of others."""

    handle: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


def _wait(device: int, stream: int, other: int) -> None:
    """Let what is put on a stream from now on wait for what is on another by now."""
    from numba import cuda

    with cuda.gpus[device]:
        event = cuda.event(timing=False)
        event.record(_stream(other))
        event.wait(_stream(stream))


def _stream(handle: int) -> Any:
    from numba import cuda

    return cuda.external_stream(handle) if handle else cuda.default_stream()


@cache
def is_simulated() -> bool:
    """Whether kernels run in numba's simulator; raises where they cannot run at all."""
    from numba import config, cuda

    if config.ENABLE_CUDASIM:  # type: ignore[attr-defined]
        return True
    if find_spec("numba_cuda") is None:
        raise ImportError(f"kernels on a GPU need numba-cuda: {installing('cuda')}")
    if not cuda.is_available():
        raise DriverError(
            f"there is no CUDA device ({' '.join(str(cuda.cuda_error()).split())}).",
            "numba-cuda launches kernels through the driver of NVIDIA.",
            "install the driver, and look at nvidia-smi; NUMBA_ENABLE_CUDASIM=1 simulates a GPU.",
        )
    try:
        import_module("numba.cuda.np.arrayobj")  # what its kernels need of NumPy
    except (AttributeError, ImportError) as error:
        raise ImportError(
            f"numba-cuda {version('numba-cuda')} does not work with NumPy {np.__version__} "
            f"({error}); there are versions that go together: {installing('cuda')}"
        ) from error
    return False
