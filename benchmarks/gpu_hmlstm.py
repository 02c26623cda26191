"""The HM-LSTM update and kernels of 1 to 20 arguments on a GPU, in one run of a few minutes.

``python -m benchmarks.gpu_hmlstm [--json FILE] [--plot FOLDER] [--dry-run]``

Repeats the measurements of Revels et al. (2018, figures 1 to 3) on any NVIDIA GPU: the cell, whose
branches diverge, against others; the cost of more arguments; what it does to occupancy. Values are
checked against NumPy in float64 before anything is timed. A contestant that is not installed is
named with its reason. ``--dry-run`` takes tiny sizes in numba's simulator of a GPU: it exercises
the program, and its times mean nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

SIZES, ARITIES, ARITY_SIZE = (512, 1024, 2048, 4096), range(1, 21), 1024
WARMUPS, LAUNCHES, REPEATS = 10, 50, 7
FLUSH_BYTES, COPY_BYTES = 128 << 20, 512 << 20
BUDGET = 300  # seconds, after which nothing new is begun
RTOL, ATOL = 2e-5, 2e-6


class OutOfTimeError(Exception):
    """The time of a run is over."""


class Clock:
    """Times calls by events on the default stream, alone and with the second cache emptied."""

    def __init__(self, tiny: bool) -> None:
        from numba import cuda

        from benchmarks.gpu_kernels_by_hand import fill, spend_time

        self.cuda = cuda
        self.warmups, self.launches, self.repeats = (
            (1, 1, 2) if tiny else (WARMUPS, LAUNCHES, REPEATS)
        )
        self.trash = cuda.device_array(16 if tiny else FLUSH_BYTES // 4, np.float32)
        self.fill, self.spend_time = fill, spend_time
        self.tiny = tiny
        spend_time[1, 1](self.trash, 1)
        rounds = 1 if tiny else 10**7
        seconds = self._events(lambda: spend_time[1, 1](self.trash, rounds), 1, lambda: None)
        self.per_second = 1 if tiny else int(rounds / seconds)

    def flush(self) -> None:
        threads = min(256, self.trash.size)
        self.fill[-(-self.trash.size // threads), threads](self.trash, np.float32(1))

    def keep_busy(self, seconds: float) -> None:
        """Give the device something to do, so that the host runs ahead of it."""
        rounds = 1 if self.tiny else int(seconds * self.per_second)
        self.spend_time[1, 1](self.trash, rounds)

    def _events(self, call: Callable[[], Any], launches: int, before: Callable[[], None]) -> float:
        before()
        start, stop = self.cuda.event(), self.cuda.event()
        start.record()
        for _ in range(launches):
            call()
        stop.record()
        stop.synchronize()
        milliseconds = max(start.elapsed_time(stop), 1e-6)  # the simulator says 0
        return milliseconds / 1e3 / launches

    def measure(self, call: Callable[[], Any], on_default_stream: bool = True) -> dict[str, Any]:
        """Seconds of a call: on the device, after a flush, and from call to call on the host."""
        for _ in range(self.warmups):
            call()
        self.cuda.synchronize()
        walls = []
        for _ in range(self.repeats):
            start = time.perf_counter()
            for _ in range(self.launches):
                call()
            self.cuda.synchronize()
            walls.append((time.perf_counter() - start) / self.launches)
        if not on_default_stream:
            return {"wall": spread(walls)}
        # So long the host takes at most to launch them all: the device must not wait for it.
        ahead = 2 * max(walls)

        def busy() -> None:
            self.keep_busy(min(ahead * self.launches, 0.1))

        def busy_and_cold() -> None:
            self.keep_busy(ahead)
            self.flush()

        rounds = [self._events(call, self.launches, busy) for _ in range(self.repeats)]
        cold = [self._events(call, 1, busy_and_cold) for _ in range(self.launches)]
        return {"device": spread(rounds), "cold": spread(cold), "wall": spread(walls)}


def spread(seconds: list[float]) -> dict[str, float]:
    low, middle, high = statistics.quantiles(seconds, n=4) if len(seconds) > 1 else seconds * 3
    return {"median": middle, "iqr": high - low}


def inputs_of(n: int, uniform: bool) -> list[np.ndarray]:
    """Operands of seed 0; controls per element, or in runs of 32 as long as a warp."""
    rng = np.random.default_rng(0)
    c, f, i, g = rng.standard_normal((4, n, n)).astype(np.float32)
    z = np.round(rng.random((2, n))).astype(np.float32)
    if uniform:
        z = np.repeat(z[:, ::32], 32, axis=1)[:, :n]
    z[:, :3] = [[1, 0, 0], [1, 0, 1]]  # FLUSH, COPY, UPDATE
    return [c, f, i, g, *z]


def cell_rows(clock: Clock, sizes: tuple[int, ...], bandwidth: float, late: Any) -> Iterator[Any]:
    from benchmarks.gpu_contestants import CONTESTANTS, WORDS, reference, to_host

    for n in sizes:
        for uniform in (False, True):
            inputs = inputs_of(n, uniform)
            y_bar = np.random.default_rng(1).standard_normal((n, n)).astype(np.float32)
            right = reference(inputs, y_bar)
            for name, contestant in CONTESTANTS.items():
                row = {"group": "cell", "n": n, "controls": "warps" if uniform else "random",
                       "contestant": name}  # fmt: skip
                try:
                    late()
                    calls = contestant(inputs, y_bar)
                    for what, call in calls.items():
                        for y, exact in zip(call(), right[what], strict=True):
                            np.testing.assert_allclose(to_host(y), exact, RTOL, ATOL)
                        roof = WORDS[what] * 4 * n * n / bandwidth
                        times = clock.measure(call, on_default_stream=name != "JAX jit")
                        yield row | {"call": what, "roof": roof} | times
                except OutOfTimeError as reason:
                    yield row | {"missing": str(reason)}
                except Exception as reason:
                    if name == "zyg" or isinstance(reason, AssertionError):
                        raise  # wrong values are no reason to go on
                    yield row | {"missing": str(reason).partition("\n")[0]}


def product(*xs: float) -> float:
    y = 1.0
    for x in xs:
        y = y * math.tanh(1 / (1 + math.exp(-x)))
    return y


def arity_rows(clock: Clock, arities: Any, n: int, bandwidth: float, late: Any) -> Iterator[Any]:
    import zyg_cuda
    from benchmarks.gpu_contestants import kernel_of, library, to_host

    _, put, _ = library()
    for arity in arities:
        row = {"group": "arity", "n": n, "arity": arity, "contestant": "zyg"}
        try:
            late()
        except OutOfTimeError as reason:
            yield row | {"missing": str(reason)}
            continue
        xs = np.random.default_rng(arity).standard_normal((arity, n, n)).astype(np.float32)
        operands = [put(x) for x in xs]
        both, _ = kernel_of(product, arity).partials(tuple(range(arity)))
        for y, exact in zip(zyg_cuda.run(both, operands), products(xs), strict=True):
            np.testing.assert_allclose(to_host(y), exact, RTOL, ATOL)
        times = clock.measure(lambda both=both, operands=operands: zyg_cuda.run(both, operands))
        roof = (2 * arity + 1) * 4 * n * n / bandwidth
        yield row | {"call": "forward", "roof": roof} | times | resources(both, operands)


def products(xs: np.ndarray) -> list[np.ndarray]:
    s = 1 / (1 + np.exp(-xs.astype(np.float64)))
    t = np.tanh(s)
    slopes = (1 - t * t) * s * (1 - s)
    others = [np.prod(np.delete(t, k, 0), 0) for k in range(len(xs))]
    return [np.prod(t, 0), *(d * o for d, o in zip(slopes, others, strict=True))]


def resources(kernel: Any, operands: list[Any]) -> dict[str, Any]:
    """Registers of a kernel, and how many of the warps that a processor has room for can run."""
    from numba import config, cuda

    from zyg_cuda.arrays import library_of
    from zyg_cuda.launch import compiled
    from zyg_cuda.plans import Output, Planner

    if config.ENABLE_CUDASIM:
        return {"registers": None, "occupancy": None}
    arrays = [library_of(type(x)).array(x) for x in operands]
    dtype = np.dtype(np.float32)
    outputs = [Output(dtype)] * len(kernel.program.outputs)
    (launch,) = Planner(kernel.program, arrays, outputs, dtype).plan().launches
    registers = compiled(launch.text, arrays[0].device).attributes.num_regs
    device = cuda.get_current_device()
    warps = launch.block[0] * launch.block[1] // 32
    per_block = -(-registers * 32 // 256) * 256 * warps  # registers are given out in 256 per warp
    blocks = device.MAX_REGISTERS_PER_MULTIPROCESSOR // per_block
    most = device.MAX_THREADS_PER_MULTIPROCESSOR // 32
    return {"registers": registers, "occupancy": min(blocks * warps, most) / most}


METRICS = {
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "sm throughput",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "dram throughput",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "achieved occupancy",
}


def profiled(rows: list[Any]) -> None:
    """What Nsight Compute measures of the kernels of each arity, if it is there."""
    import csv
    import shutil
    import subprocess

    tool = shutil.which("ncu")
    if tool is None:
        print("ncu is not installed: no measured occupancy")
        return
    command = [tool, "--csv", "--kernel-name", "regex:.*kernel.*", "--metrics", ",".join(METRICS)]
    command += [sys.executable, "-m", "benchmarks.gpu_hmlstm", "--profile"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    except (subprocess.SubprocessError, OSError) as reason:
        print(f"ncu failed ({reason}): no measured occupancy")
        return
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    found: dict[str, dict[str, float]] = {}
    for entry in csv.DictReader(lines):
        name = METRICS.get(entry["Metric Name"])
        if name:
            found.setdefault(entry["ID"], {})[name] = float(entry["Metric Value"])
    arities = [row for row in rows if row["group"] == "arity" and "missing" not in row]
    if len(found) == len(arities):
        for row, metrics in zip(arities, found.values(), strict=True):
            row.update(metrics)
    else:
        print(f"ncu saw {len(found)} kernels, not {len(arities)}: no measured occupancy")


def profile() -> None:
    """One launch for each arity, for a profiler to look at."""
    import zyg_cuda
    from benchmarks.gpu_contestants import kernel_of, library

    _, put, _ = library()
    for arity in ARITIES:
        both, _ = kernel_of(product, arity).partials(tuple(range(arity)))
        x = np.zeros((ARITY_SIZE, ARITY_SIZE), np.float32)
        zyg_cuda.run(both, [put(x) for _ in range(arity)])


def machine(clock: Clock, tiny: bool) -> dict[str, Any]:
    """The device, versions, and how fast it copies."""
    from importlib.metadata import PackageNotFoundError, version

    from numba import config, cuda

    size = 64 if tiny else COPY_BYTES
    a, b = (cuda.device_array(size // 4, np.float32) for _ in range(2))
    copy = clock.measure(lambda: b.copy_to_device(a))["device"]["median"]
    found: dict[str, Any] = {"device": "numba's simulator", "bandwidth": 2 * size / copy}
    if not config.ENABLE_CUDASIM:
        device = cuda.get_current_device()
        clock_rate = getattr(device, "MEMORY_CLOCK_RATE", None)  # kHz; newer drivers hide it
        nominal = clock_rate and clock_rate * 2e3 * device.GLOBAL_MEMORY_BUS_WIDTH / 8
        found |= {
            "device": device.name.decode() if isinstance(device.name, bytes) else device.name,
            "capability": device.compute_capability,
            "nominal bandwidth": nominal,
            "runtime": cuda.runtime.get_version(),
        }
    found["python"] = platform.python_version()
    for name in ("numpy", "numba", "numba-cuda", "cupy-cuda13x", "cupy-cuda12x", "torch", "jax"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def show(row: dict[str, Any]) -> str:
    what = f"n={row['n']:<5}" + (
        f"{row['controls']:7}" if "controls" in row else f"arity {row['arity']:2} "
    )
    if "missing" in row:
        return f"{what} {row['contestant']:17} skipped: {row['missing']}"
    seconds = row.get("device", row["wall"])["median"]
    text = f"{what} {row['contestant']:17} {row['call']:9} {seconds * 1e6:9.1f} us"
    text += f"  {row['roof'] / seconds:6.1%} of the roof"
    return text + (f"  {row['registers']} registers" if row.get("registers") else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("gpu_hmlstm.json"))
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="draw the figures there")
    parser.add_argument("--dry-run", action="store_true", help="tiny sizes, without a GPU")
    parser.add_argument("--profile", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.profile:
        profile()
        return
    warnings.filterwarnings("ignore", message=".*(under-utilization|timings are bogus)")
    tiny = options.dry_run
    started = time.monotonic()

    def late() -> None:
        if time.monotonic() - started > BUDGET:
            raise OutOfTimeError(f"the {BUDGET} seconds of a run are over")

    clock = Clock(tiny)
    about = machine(clock, tiny)
    print(json.dumps(about, indent=1))
    sizes, arities, n = ((4,), range(1, 4), 4) if tiny else (SIZES, ARITIES, ARITY_SIZE)
    rows = []
    for found in (
        cell_rows(clock, sizes, about["bandwidth"], late),
        arity_rows(clock, arities, n, about["bandwidth"], late),
    ):
        for row in found:
            rows.append(row)
            print(show(row), flush=True)
    if not tiny:
        profiled(rows)
    options.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1))
    if options.plot:
        from benchmarks.gpu_figures import draw

        draw(options.json, options.plot)


if __name__ == "__main__":
    if "--dry-run" in sys.argv:
        os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")  # before numba is imported
    main()
