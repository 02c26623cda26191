"""Every program of the list: its value, and its derivatives by three ways beside each other."""

import copy

import numpy as np
import pytest

import zyg

from ..marks import slow_after
from . import programs
from .oracles import (
    direction_for,
    inner_product,
    is_complex,
    is_real,
    mapped,
    parts,
    parts_like,
    slope_by_differences,
    traced_module,
)

TRACED = traced_module()
NAMES = [*programs.CALLS]


def call_of(name):
    f, args, kwargs = programs.CALLS[name]
    return f, copy.deepcopy(args), kwargs


def within(name, single, double):
    return single if name == "single_precision" else double


def tangent(x, along):
    """A direction as forward mode takes it: None for what does not move."""
    inner = parts(x)
    if inner is None:
        return along if is_real(x) or is_complex(x) else None
    return inner[1]([tangent(*pair) for pair in zip(inner[0], parts_like(x, along), strict=True)])


def assert_alike(name, expected, found):
    def compare(a, b):
        assert type(a) is type(b)
        np.testing.assert_allclose(b, a, rtol=within(name, 1e-6, 1e-9), atol=1e-12)

    mapped(compare, expected, found)


@pytest.fixture(autouse=True)
def no_warning():
    with zyg.config(fallback="silent"):
        yield


@pytest.mark.parametrize("name", NAMES)
def test_it_is_machine_code(name):
    f, args, kwargs = call_of(name)
    with zyg.config(fallback="error"):
        zyg.compile(f)(*args, **kwargs)


@pytest.mark.parametrize("name", slow_after(8, NAMES))
def test_the_value_is_that_of_python(name):
    f, args, kwargs = call_of(name)
    expected = f(*args, **kwargs)
    _, given, _ = call_of(name)

    assert_alike(name, expected, zyg.compile(f)(*given, **kwargs))
    assert_alike(name, args, given)  # written as Python writes


@pytest.mark.parametrize("name", slow_after(8, NAMES))
def test_the_pullback_is_that_of_the_tracer_and_of_differences(name):
    f, args, kwargs = call_of(name)
    y_bar = direction_for(f(*args, **kwargs), 1)
    _, args, _ = call_of(name)
    _, traced_args, _ = copy.deepcopy(TRACED.CALLS[name])
    along = direction_for(args, 2)

    found = zyg.pullback(zyg.compile(f), *args, **kwargs)[1](y_bar)
    expected = zyg.pullback(getattr(TRACED, name), *traced_args, **kwargs)[1](y_bar)
    slope = inner_product(args, found, along)
    rel = within(name, 1e-5, 1e-8)
    assert slope == pytest.approx(inner_product(args, expected, along), rel=rel, abs=1e-10)
    assert slope == pytest.approx(
        slope_by_differences(
            lambda *x: f(*x, **kwargs), args, along, lambda y: inner_product(y, y, y_bar)
        ),
        rel=within(name, 1e-2, 1e-5), abs=1e-6,
    )  # fmt: skip


@pytest.mark.parametrize("name", slow_after(8, NAMES))
def test_forward_and_reverse_agree(name):
    f, args, kwargs = call_of(name)
    compiled = zyg.compile(f)
    y_bar, along = direction_for(f(*copy.deepcopy(args), **kwargs), 1), direction_for(args, 2)

    bars = zyg.pullback(compiled, *copy.deepcopy(args), **kwargs)[1](y_bar)
    y, y_dot = zyg.pushforward(compiled, args, tangent(args, along), **kwargs)
    assert inner_product(y, y_dot, y_bar) == pytest.approx(
        inner_product(args, bars, along), rel=within(name, 1e-5, 1e-8), abs=1e-10
    )


@pytest.mark.parametrize("name", slow_after(8, NAMES))
def test_the_gradient_alone_is_that_of_the_pullback(name):
    f, args, kwargs = call_of(name)
    compiled, y = zyg.compile(f), f(*copy.deepcopy(args), **kwargs)
    if not is_real(y) or np.ndim(y):
        pytest.skip("its result is no real number")
    bars = zyg.pullback(compiled, *copy.deepcopy(args), **kwargs)[1](type(y)(1))

    value, found = zyg.value_and_gradient(compiled, *copy.deepcopy(args), **kwargs)
    assert_alike(name, y, value)
    along = direction_for(args, 3)
    assert inner_product(args, found, along) == pytest.approx(
        inner_product(args, bars, along), rel=within(name, 1e-5, 1e-12), abs=1e-14
    )
