"""Times against peers, in one run: ``python -m benchmarks [names...] [--json FILE]``.

Importing this package pins the numerical libraries to one thread, before any of them is loaded.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"  # jax
