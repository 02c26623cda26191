"""All that is said to compile does, and its derivatives are those of four other ways."""

import copy

import numpy as np
import pytest

import zyg
from tests.compiling.oracles import (
    direction_for,
    inner_product,
    mapped,
    moved,
    slope_by_differences,
    traced_module,
)
from tests.compiling.programs import CALLS

SEVERAL = {"several_results", "structured_result"}  # no single number comes back
# By ints, which a derivative is taken by; of a function, whose gradient is of its parts.
UNPRINTED = {
    "ints", "function_argument", "recursive_power", "recursion", "mutual_recursion"
}  # fmt: skip
ONE = [name for name in CALLS if name not in SEVERAL]


@pytest.fixture(scope="module")
def traced():
    return traced_module().CALLS


@pytest.fixture(autouse=True)
def nothing_falls_back():
    with zyg.config(fallback="error"):
        yield


def case(name):
    f, args, _ = CALLS[name]
    return f, zyg.compile(f), copy.deepcopy(args)


def tolerance(args):
    single = []
    mapped(lambda x: single.append(np.asarray(x).dtype.itemsize == 4), args)
    return {"rtol": 2e-3, "atol": 1e-3} if any(single) else {"rtol": 1e-7, "atol": 1e-8}


def same(a, b, rtol, atol):
    if isinstance(b, (tuple, list)):
        assert type(a) is type(b)
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y, rtol, atol)
    elif isinstance(b, dict):
        assert list(a) == list(b)
        same([*a.values()], [*b.values()], rtol, atol)
    else:
        assert type(a) is type(b), f"{type(a)} for {type(b)}"
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol, atol)


@pytest.mark.parametrize("name", CALLS)
def test_the_value_is_that_of_python(name):
    f, compiled, args = case(name)
    given = copy.deepcopy(args)

    y = compiled(*given)

    expected = f(*args)
    same(y, expected, rtol=1e-12, atol=1e-13) if "single" not in name else same(
        y, expected, rtol=1e-5, atol=1e-6
    )
    mapped(lambda a, b: np.testing.assert_allclose(a, b, 1e-12, 1e-13), given, args)


@pytest.mark.parametrize("name", ONE)
def test_the_gradient_is_that_of_differences_and_of_the_traced_engine(name, traced):
    f, compiled, args = case(name)
    before = copy.deepcopy(args)

    gradient = zyg.gradient(compiled, *args)

    mapped(np.testing.assert_array_equal, args, before)  # as they were
    near = tolerance(args)
    along = direction_for(args, 16)
    slope = inner_product(args, gradient, along)
    if "single" not in name:
        np.testing.assert_allclose(
            slope, slope_by_differences(f, args, along, float), rtol=1e-6, atol=1e-7
        )
    expected = inner_product(args, zyg.gradient(traced[name][0], *traced[name][1]), along)
    np.testing.assert_allclose(slope, expected, **near)


@pytest.mark.parametrize("name", CALLS)
def test_forward_agrees_with_reverse(name):
    _, compiled, args = case(name)
    along = direction_for(args, 17)

    y, back = zyg.pullback(compiled, *args)
    weights = direction_for(y, 18)
    _, y_dot = zyg.pushforward(compiled, args, along)

    ahead = inner_product(y, weights, y_dot)
    behind = inner_product(args, back(weights), along)
    np.testing.assert_allclose(ahead, behind, **tolerance(args))


@pytest.mark.parametrize("name", [n for n in ONE if n not in UNPRINTED])
def test_the_printed_text_runs_without_a_compiler(name):
    f, compiled, args = case(name)
    text = compiled.source(*args, of="gradient")
    assert "import zyg" not in text
    names = {}
    exec(compile(text, "printed.py", "exec"), names)
    gradient_of = names[f"{f.__name__}_gradient"]

    value, gradient = gradient_of(*copy.deepcopy(args))

    near = tolerance(args)
    np.testing.assert_allclose(value, f(*copy.deepcopy(args)), **near)
    along = direction_for(args, 16)
    expected = inner_product(args, zyg.gradient(compiled, *args), along)
    np.testing.assert_allclose(inner_product(args, gradient, along), expected, **near)


@pytest.mark.parametrize("name", [n for n in ONE if "single" not in n][::3])
def test_the_second_derivative_is_that_of_differences(name):
    _, compiled, args = case(name)
    along, across = direction_for(args, 19), direction_for(args, 20)

    def slope(*at):
        return inner_product(args, zyg.gradient(compiled, *at), along)

    def gradient(*at):
        return zyg.gradient(compiled, *at)

    _, change = zyg.pushforward(gradient, args, across)

    expected = slope_by_differences(slope, args, across, float)
    np.testing.assert_allclose(inner_product(args, change, along), expected, rtol=1e-5, atol=1e-6)
    assert moved(args, along, 0.0) is not args
