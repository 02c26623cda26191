"""What tests of compiled functions share."""

import pytest

import zyg
from zyg.compiling.functions import Compiled


@pytest.fixture
def machine_code_alone(monkeypatch):
    def in_python(self, args, kwargs):
        raise AssertionError("Python ran the function")

    monkeypatch.setattr(Compiled, "in_python", in_python)
    with zyg.config(fallback="error"):
        yield
