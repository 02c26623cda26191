"""Broadcast kernels on the GPU: what `zyg.broadcast` does on the CPU, through numba.cuda.

Not written yet. It will hold `zyg_cuda.broadcast`, which runs a plain scalar function over device
arrays as one fused kernel, with forward-mode duals inside and the partial derivatives kept for the
reverse pass. It imports `zyg`, never the reverse.
"""
