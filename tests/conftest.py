"""One hypothesis profile for all tests: the same examples in every run, no deadline.

One thread of BLAS: the tests run in as many processes as there are cores. Kernels that tests
compile are kept apart from the user's.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
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


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZYG_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        yield
