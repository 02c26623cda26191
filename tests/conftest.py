"""One hypothesis profile for all tests: the same examples in every run, no deadline.

One thread of BLAS: the tests run in as many processes as there are cores.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import HealthCheck, settings

settings.register_profile(
    "zyg",
    derandomize=True,
    deadline=None,
    max_examples=30,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("zyg")
