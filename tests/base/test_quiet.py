"""Where NumPy's warnings are off, and that they are on again afterwards."""

import importlib.util
import threading

import numpy as np
import pytest

from zyg.base import quiet as module


@pytest.fixture(params=["as NumPy keeps it", "by errstate"])
def quiet(request, monkeypatch):
    if request.param == "by errstate":  # as if NumPy had renamed what is set
        monkeypatch.delattr(np._core.umath, "_extobj_contextvar")
        spec = module.__spec__  # executed apart: others hold the SILENT of the one imported
        copy = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(copy)
        assert copy.errors_now is np.geterr
        return copy.quiet
    return module.quiet


def test_nothing_warns_inside_and_all_is_as_before_outside(quiet):
    with np.errstate(divide="raise", over="print", invalid="warn", under="call"):
        before = np.geterr()
        with quiet():
            assert np.geterr() == dict.fromkeys(before, "ignore")
            assert np.isinf(np.ones(2) / 0.0).all()
            with quiet(), np.errstate(divide="raise"), pytest.raises(FloatingPointError):
                np.ones(2) / 0.0
            assert np.isnan(np.zeros(2) / 0.0).all()
        assert np.geterr() == before
        with pytest.raises(KeyError), quiet():
            raise KeyError
        assert np.geterr() == before


def test_other_threads_are_warned(quiet):
    found = []
    with quiet():
        thread = threading.Thread(target=lambda: found.append(np.geterr()["divide"]))
        thread.start()
        thread.join()
    assert found == ["warn"]


def test_the_price_of_errstate_is_paid_by_no_numpy_that_is_supported():
    assert module.errors_now is not np.geterr
