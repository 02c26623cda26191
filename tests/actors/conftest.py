"""One Ray for all tests that need it, on this machine alone, ended with them; see `guarded`."""

import os
from pathlib import Path

import pytest

from ..tasks.guarded import nothing_logged, pytest_pyfunc_call  # noqa: F401 - pytest finds them here


@pytest.fixture(scope="session")
def importable():
    """Processes that are begun find the modules of the tests."""
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        yield


@pytest.fixture(scope="session")
def ray(importable):
    pytest.importorskip("ray", reason="needs ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_DISABLE_IMPORT_WARNING", "1")
        from zyg import ray

        ray.init(
            num_cpus=2,
            object_store_memory=100 << 20,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="error",
            _node_ip_address="127.0.0.1",
        )
        yield ray
        ray.shutdown()
