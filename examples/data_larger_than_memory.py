"""
Data larger than memory
=======================

Fit a model by data that do not fit the memory: lazy arrays of Dask, parameters of NumPy.

::

    pip install -e '.[examples-all]' && python examples/data_larger_than_memory.py  # takes seconds

The data are made block by block, as they would be read from files, and never held at once: each
step of the fit is one pass over them, and the peak of memory is that of some blocks. Needs Dask and
array-api-compat.
"""

import tracemalloc

import matplotlib.pyplot as plt
import numpy as np
from dask import array

import zyg

ROWS, BLOCK = 1_600_000, 20_000  # 77 MB of numbers, in blocks of 1 MB
TRUE = np.array([0.5, -1.0, 2.0, 0.25, 1.5])


def block(block_info=None):
    """The rows of one block: five inputs and what was observed."""
    rng = np.random.default_rng(block_info[None]["chunk-location"][0])
    x = rng.normal(size=(BLOCK, 5))
    y = np.tanh(x @ TRUE) + 0.1 * rng.normal(size=BLOCK)
    return np.column_stack([x, y])


data = array.map_blocks(block, chunks=((BLOCK,) * (ROWS // BLOCK), (6,)), dtype=float)
inputs, observed = data[:, :5], data[:, 5]


def loss(w):
    return np.mean((np.tanh(inputs @ w) - observed) ** 2)


def main() -> None:
    tracemalloc.start()
    w, steps = np.zeros(5), [np.zeros(5)]
    for step in range(8):
        (slope,) = zyg.gradient(loss, w)  # one pass over the data
        w -= 2.0 * slope
        print(step, w)
        steps.append(w.copy())
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    axes = plt.figure(figsize=(6, 4), layout="constrained").subplots()
    axes.plot(steps, "o-")
    for k, true in enumerate(TRUE):
        axes.axhline(true, color=f"C{k}", linestyle="--", linewidth=1)
    axes.set(xlabel="pass over the data", ylabel="parameters", title="dashed: the truth")
    print(f"{ROWS * 6 * 8 / 1e6:.0f} MB of data, peak {peak:.0f} MB")
    assert peak < 38
    assert np.linalg.norm(w - TRUE) < 0.25 * np.linalg.norm(TRUE)


# %%
# The run
# -------

if __name__ == "__main__":
    main()
    plt.show()
