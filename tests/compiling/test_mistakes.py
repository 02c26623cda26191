"""A mistake of zyg's own, in deriving or in printing: the function runs, and it is said."""

import warnings

import numpy as np
import pytest

import zyg
from zyg.base import warned
from zyg.base.caches import Cache
from zyg.compiler.back import cpython_abi, native_function
from zyg.compiling import index, operations, specialize
from zyg.errors import CompileError, PerformanceWarning

X = np.array([0.5, -1.0, 2.0])


def loss(x):
    total = 0.0
    for v in x:
        total += v * v * np.sin(v)
    return total


def broken(*args, **kwargs):
    raise KeyError("%3")


@pytest.fixture(params=["printing", "deriving", "the reverse pass alone"])
def mistake(request, monkeypatch):
    monkeypatch.setattr(specialize, "_known", Cache(8))  # what is known, here and on disk
    monkeypatch.setattr(index, "recall", lambda *args: None)
    if request.param == "printing":
        monkeypatch.setattr(native_function, "Module", broken)
    elif request.param == "deriving":
        monkeypatch.setattr(operations.reverse, "gradient", broken)
        monkeypatch.setattr(operations.reverse, "vjp", broken)
    else:
        monkeypatch.setattr(operations.Tapes, "__init__", broken)
        monkeypatch.setattr(specialize, "gradient_form", broken)


def test_values_and_gradients_are_right_and_the_mistake_is_named(mistake):
    right, (slopes,) = zyg.value_and_gradient(loss, X)
    compiled = zyg.compile(loss)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warned._warned.clear()
        value, (gradient,) = zyg.value_and_gradient(compiled, X)
        assert compiled(X) == pytest.approx(right)

    assert value == pytest.approx(right)
    assert gradient == pytest.approx(slopes)
    assert said
    for warning in said:  # of the function, and of its gradient
        assert issubclass(warning.category, PerformanceWarning)
        assert "a mistake of zyg's: KeyError: '%3'" in str(warning.message)
        assert "Please report it" in str(warning.message)


def test_it_is_an_error_where_one_asked(mistake):
    compiled = zyg.compile(loss)
    with zyg.config(fallback="error"), pytest.raises(CompileError, match="a mistake of zyg's"):
        zyg.gradient(compiled, X)


def test_a_text_that_llvm_refuses_is_said_where_another_way_is_left(monkeypatch):
    def invalid(*args):
        return ["define ptr @kernel(ptr %self, ptr %arguments, i64 %n) {", "  ret ptr %none", "}"]

    monkeypatch.setattr(specialize, "_known", Cache(8))
    monkeypatch.setattr(index, "recall", lambda *args: None)
    monkeypatch.setattr(
        cpython_abi.Entry, "lines", property(invalid, lambda *args: None), raising=False
    )
    right, (slopes,) = zyg.value_and_gradient(loss, X)
    compiled = zyg.compile(loss)
    warned._warned.clear()

    with pytest.warns(PerformanceWarning, match="in a slower way") as said:
        value, (gradient,) = zyg.value_and_gradient(compiled, X)

    assert value == pytest.approx(right)
    assert gradient == pytest.approx(slopes)
    for warning in said:
        assert "CompilationError" in str(warning.message)
        assert "Please report it" in str(warning.message)
