"""Kernels on the CPU: a scalar function's program as one loop over arrays.

geometry                        in which order a loop runs through which axes
arrays                          operands as a loop takes them, results as it writes them
loops                           the text of a loop around a function's statements
vector_body                     what is in the innermost loop, on explicit vectors for LLVM
vector_loops                    the text of a loop for LLVM
plans                           one loop for operands of these layouts
launch                          a program over arrays: its plan, found or made, and run
scalar                          a scalar function with its programs and their derivatives
dtypes                          what a kernel computes in, and the dtypes of its results
"""

from zyg.base import buffers, caches


def clear() -> None:
    """Forget all kernels, plans and compiled functions of this process, and what they are made of.

    Memory kept for later results is given back too, and what was remembered of classes, of arrays'
    types and of the sources of functions. What is on disk stays, so the next call of a kernel loads
    it from there and compiles nothing; the results are the same, to the last bit. What runs
    meanwhile in other threads is not disturbed.

    >>> import numpy as np, zyg
    >>> square = zyg.elementwise(lambda x: x * x)
    >>> square(np.array([3.0]))
    array([9.])
    >>> zyg.kernels.clear()
    >>> square(np.array([3.0]))
    array([9.])

    """
    caches.clear()
    buffers.clear()
