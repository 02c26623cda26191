"""Kernels compiled by tests are kept apart from the user's."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZYG_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        yield
