"""Functions that `grad`, `value_and_grad` and `vmap` make, compiled and in compiled functions."""

import functools

import numpy as np
import pytest

import zyg
from zyg.errors import CompileError, PerformanceWarning

RNG = np.random.default_rng(3)
P = {"w": RNG.normal(size=(4, 3)), "b": RNG.normal(size=4)}
XS, YS = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 4))


def net(p, x, y):
    return np.sum((np.tanh(p["w"] @ x + p["b"]) - y) ** 2)


def with_more(p, x, y):
    return net(p, x, y), {"twice": x * 2}


def product(a, b):
    return a * a * b


def by_cases(x):
    return np.sum(x) if x[0] > 0 else np.prod(x)


@pytest.fixture
def compiled_or_error():
    with zyg.config(fallback="error"):
        yield


def alike(found, right):
    if isinstance(right, dict):
        assert found.keys() == right.keys()
        return [alike(found[key], right[key]) for key in right]
    if isinstance(right, tuple):
        return [alike(a, b) for a, b in zip(found, right, strict=True)]
    assert np.shape(found) == np.shape(right)
    return np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-14)


def slopes(f, x, step=1e-6):
    """Central differences, element by element."""
    made = np.empty(x.shape)
    for k in np.ndindex(*x.shape):
        d = np.zeros(x.shape)
        d[k] = step
        made[k] = (f(x + d) - f(x - d)) / (2 * step)
    return made


@pytest.mark.parametrize(
    ("argnums", "has_aux"), [(0, False), (1, False), (-1, False), ((2, 0), False), ((0, 1), True)]
)
@pytest.mark.parametrize("verb", [zyg.grad, zyg.value_and_grad])
def test_gradients_by_some_arguments(verb, argnums, has_aux, compiled_or_error):
    f = verb(with_more if has_aux else net, argnums, has_aux)
    alike(zyg.compile(f)(P, XS[0], YS[0]), f(P, XS[0], YS[0]))


def test_a_compiled_gradient_is_that_of_differences(compiled_or_error):
    found = zyg.compile(zyg.grad(net))(P, XS[0], YS[0])
    for name, x in P.items():
        right = slopes(lambda x, name=name: net({**P, name: x}, XS[0], YS[0]), x)
        np.testing.assert_allclose(found[name], right, rtol=1e-7, atol=1e-8)


def test_those_of_one_function_by_different_arguments_are_apart(compiled_or_error):
    """They have one code."""
    for argnums, right in ((0, 12.0), (1, 4.0), ((1, 0), (4.0, 12.0))):
        assert zyg.compile(zyg.grad(product, argnums))(2.0, 3.0) == right
    square = XS[:3]
    for axes in ((0, 0), (1, 0), (0, 1)):
        f = zyg.vmap(lambda x: x * 2.0, *axes)
        np.testing.assert_array_equal(zyg.compile(f)(square), f(square))


MAPPED = [
    (zyg.vmap(net, (None, 0, 0)), (P, XS, YS)),
    (zyg.vmap(zyg.grad(net), (None, 0, 0)), (P, XS, YS)),
    (zyg.vmap(lambda x: (np.sin(x), x[0], x[1:]), out_axes=-1), (XS,)),
    (zyg.vmap(lambda x: np.outer(x, x), -1), (XS,)),
    (zyg.vmap(lambda d: d["a"] @ d["b"]), ({"a": XS, "b": np.cos(XS)},)),
    (zyg.vmap(lambda a: zyg.vmap(lambda b: a @ b)(XS)), (XS,)),
    (zyg.vmap(by_cases), (XS,)),
    (zyg.vmap(lambda n, x: x * n), (np.arange(6), XS)),
    (zyg.vmap(lambda x: x[0] > 0), (XS,)),
    (zyg.vmap(lambda x: zyg.hessian(lambda v: np.sum(np.sin(v) * x), x)), (XS,)),
]


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize(("f", "args"), MAPPED)
def test_many_examples(f, args):
    right = f(*args)
    with zyg.config(fallback="error"):
        alike(zyg.compile(f)(*args), right)


@pytest.mark.parametrize("f", [
    lambda p: np.sum(np.sin(zyg.vmap(net, (None, 0, 0))(p, XS, YS))),
    lambda p: np.sum(zyg.vmap(zyg.grad(net), (None, 0, 0))(p, XS, YS)["w"] ** 2),
])  # fmt: skip
def test_derivatives_of_many_examples(f, compiled_or_error):
    found = zyg.gradient(zyg.compile(f), P)[0]
    right = slopes(lambda w: f({**P, "w": w}), P["w"])
    np.testing.assert_allclose(found["w"], right, rtol=1e-6, atol=1e-7)
    alike(zyg.compile(zyg.grad(f))(P), found)


def test_what_maps_a_compiled_function_is_compiled(compiled_or_error):
    right = zyg.vmap(zyg.grad(net), (None, 0, 0))(P, XS, YS)
    for f in (zyg.grad(zyg.compile(net)), zyg.compile(zyg.grad(net))):
        mapped = zyg.vmap(f, (None, 0, 0))
        assert mapped.inspect(P, XS, YS)["native"]
        alike(mapped(P, XS, YS), right)


HELD = zyg.grad(product)


@zyg.compile
def using_what_is_held(x):
    return HELD(x, 1.0)


@zyg.compile
def making_them(x):
    return zyg.grad(product, argnums=1)(x, 1.0) + np.sum(zyg.vmap(np.sin, in_axes=0)(XS[0] * x))


def test_in_compiled_functions(compiled_or_error, monkeypatch):
    assert using_what_is_held(3.0) == 6.0
    monkeypatch.setitem(globals(), "HELD", zyg.grad(product, 1))
    assert using_what_is_held(3.0) == 9.0
    alike(making_them(2.0), 4.0 + np.sum(np.sin(XS[0] * 2.0)))


def test_what_copies_their_attributes_is_none_of_them(compiled_or_error):
    @functools.wraps(zyg.grad(product))
    def five(a, b):
        return 5.0 * a + b

    assert zyg.compile(five)(2.0, 1.0) == 11.0


def writes_to_its_argument(x):
    x[0] = 1.0
    return np.sum(x)


@pytest.mark.parametrize(
    ("f", "args", "text"),
    [
        (zyg.vmap(writes_to_its_argument), (XS,), "writes to its argument, under vmap"),
        (zyg.vmap(np.sin, 1), (XS[0],), "along axis 1 of what has none"),
        (zyg.vmap(np.sin, ({"a": 0},)), ({"a": XS},), "in_axes="),
        (zyg.vmap(np.sin, None), (XS,), "no argument along an axis"),
        (zyg.vmap(lambda x: None), (XS,), "no number"),
        (zyg.grad(product, 2), (1.0, 2.0), "argnums=2 of 2 arguments"),
        (zyg.grad(product, 0, True), (1.0, 2.0), "what has_aux says"),
        (zyg.grad(lambda b: 2.0 if b else 1.0), (True,), "what holds no floats"),
    ],
)
def test_what_is_not_compiled_is_named(f, args, text, compiled_or_error):
    with pytest.raises(CompileError, match=text):
        zyg.compile(f)(*args)


def test_what_is_written_to_an_argument_is_written_by_python():
    mine, right = XS.copy(), [writes_to_its_argument(x) for x in XS.copy()]
    with pytest.warns(PerformanceWarning):
        found = zyg.compile(zyg.vmap(writes_to_its_argument))(mine)
    np.testing.assert_array_equal(found, right)
    np.testing.assert_array_equal(mine[:, 0], 1.0)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_arguments_that_do_not_fit_are_refused_as_they_are_in_python():
    f = zyg.compile(zyg.vmap(lambda x, y: x[0] * y[0]))
    with pytest.raises(zyg.errors.ArgumentError, match="6 examples and argument 1 with 4"):
        f(XS, YS[:4])
    assert zyg.compile(zyg.vmap(np.sin))(XS[:0]).shape == (0, 3)
    with pytest.raises(zyg.errors.StructureError, match="something else for example"):
        zyg.compile(zyg.vmap(lambda x: x[: 1 + int(x[0] > 0)]))(XS)
