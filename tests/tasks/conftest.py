"""Every test here has a time limit, and fails where an error is logged."""

import sys

import pytest

from .guarded import nothing_logged, pytest_pyfunc_call  # noqa: F401 - pytest finds them here


@pytest.fixture
def threads_change_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)
