"""Optimizers: known values, structures, dtypes, and that steps can be differentiated.

Beside optax itself: tests/interop/test_optax.py, which made the literal values.
"""

import copy
import pickle
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import zyg
from zyg import optimize
from zyg.errors import ConversionError, OptimizationError, StructureError

KNOWN = {
    "sgd": (optimize.sgd(0.1), [0.8878414992690974, -0.9857083243352001]),
    "momentum": (optimize.sgd(0.1, 0.9), [0.7809157722055817, 0.4024860542248003]),
    "nesterov": (optimize.sgd(0.1, 0.9, True), [0.7534295389844877, 0.6178819913659102]),
    "adam": (optimize.adam(0.1), [0.7339117278264607, -1.7036208904291468]),
    "adamw": (optimize.adamw(0.1, weight_decay=0.5), [0.6419727908449613, -1.4387007291814666]),
    "rmsprop": (optimize.rmsprop(0.1), [0.7931042781115559, -1.4145251862409167]),
    "rmsprop, momentum": (
        optimize.rmsprop(0.1, momentum=0.9), [0.5479439853303231, -0.7835202567984189],
    ),
    "lion": (optimize.lion(0.1, weight_decay=0.5), [0.7721250000000001, -1.4295]),
    "clip the norm": (
        optimize.chain(optimize.clip(norm=1.0), optimize.sgd(0.1)),
        [0.9779107708707862, -1.700828339169026],
    ),
    "clip the values": (
        optimize.chain(optimize.clip(value=0.5), optimize.sgd(0.1)),
        [0.8878414992690974, -1.8499999999999999],
    ),
}  # fmt: skip
ALL = pytest.mark.parametrize("opt", [opt for opt, _ in KNOWN.values()], ids=[*KNOWN])


@pytest.mark.parametrize(("opt", "known"), KNOWN.values(), ids=[*KNOWN])
def test_three_steps_are_those_of_optax(opt, known):
    p = np.array([1.0, -2.0, 0.0])
    state = opt.init(p)
    for k in range(3):
        p, state = opt.step(p, p**3 - np.array([0.5, -0.25 * k, 0.0]), state)
    np.testing.assert_allclose(p, [*known, 0.0], rtol=1e-14)


@dataclass(frozen=True, slots=True)
class Model:
    weights: np.ndarray
    offset: float
    name: str = "line"


Pair = namedtuple("Pair", "a b")


class Layer:
    def __init__(self):
        self.matrix, self.inner = np.full((2, 2), 0.5), Model(np.array([1.0, -2.0]), 0.5)


def closure():
    weights, offset = np.array([1.0, -2.0]), 0.5
    return lambda x: weights @ x + offset


STRUCTURES = {
    "number": (0.5, lambda p: (p - 1.0) ** 2),
    "numpy number": (np.float32(0.5), lambda p: (p - 1) ** 2),
    "int": (3, lambda p: (p - 1.0) ** 2),
    "array": (np.full((2, 3), 0.5), lambda p: np.sum(np.sin(p))),
    "0-d": (np.array(0.5), lambda p: p**2),
    "nested": (
        {"a": [np.ones(2), (0.5, np.ones((1, 2), np.float32))], "name": "x", "none": None, "e": []},
        lambda p: np.sum(p["a"][0]) ** 2 + p["a"][1][0] ** 2 + np.sum(p["a"][1][1] ** 2),
    ),
    "unused": ({"a": np.ones(2), "b": np.ones(3), "c": [1.0]}, lambda p: np.sum(p["a"] ** 2)),
    "namedtuple": (Pair(1.0, np.ones(2)), lambda p: p.a**2 + np.sum(p.b**2)),
    "dataclass": (Model(np.array([1.0, -2.0]), 0.5), lambda m: m.offset**2 + m.weights @ m.weights),
    "object": (Layer(), lambda m: np.sum(m.matrix @ m.inner.weights) ** 2 + m.inner.offset),
    "closure": (closure(), lambda m: m(np.array([1.0, 2.0])) ** 2),
    "complex": ({"z": np.array([1j, 2.0]), "x": 1.0}, lambda p: np.sum(abs(p["z"]) ** 2) + p["x"]),
    "empty array": ({"a": np.ones((0, 2)), "b": np.ones(2)}, lambda p: np.sum(p["b"] ** 2)),
}


def numbers_of(x):
    return zyg.flatten(x)[0]


@pytest.mark.parametrize(
    ("opt", "structure"),
    [
        (opt, structure)
        for name, (opt, _) in KNOWN.items()
        for structure in STRUCTURES
        if (name, structure) != ("clip the values", "complex")  # refused
    ],
)
def test_any_structure(opt, structure):
    """As the vector of its numbers, and back; nothing that was given is touched."""
    start, loss = STRUCTURES[structure]
    vector, unflatten = zyg.flatten(start)
    before, params = vector.copy(), start
    tolerance = 1e-6 if structure in ("nested", "numpy number") else 1e-12  # with float32
    state, state_of_vector = opt.init(params), opt.init(vector)
    for _ in range(2):
        grads = zyg.gradient(loss, params)[0]
        kept = copy.deepcopy(grads)
        flat = zyg.gradient(lambda v: loss(unflatten(v)), vector)[0]
        updates, _ = opt.update(grads, state, params)
        applied = optimize.apply_updates(params, updates)
        params, state = opt.step(params, grads, state)
        vector, state_of_vector = opt.step(vector, flat, state_of_vector)
        np.testing.assert_allclose(numbers_of(params), vector, rtol=tolerance)
        np.testing.assert_allclose(numbers_of(applied), numbers_of(params), rtol=tolerance)
        np.testing.assert_array_equal(numbers_of(grads), numbers_of(kept))
        vector = numbers_of(params)
    assert type(params) is (float if structure == "int" else type(start))
    np.testing.assert_array_equal(numbers_of(start), before)


@ALL
def test_large_arrays_and_many_of_several_dtypes(opt):
    """As each by itself; but for the norm, which is that of all."""
    rng = np.random.default_rng(0)
    sizes = {"large": 9000, "small": 3, "half": 5000, "other half": 5000, "one": 1}
    params = {name: rng.normal(size=n) for name, n in sizes.items()}
    params |= {f"{name}, single": x.astype(np.float32) for name, x in params.items()}
    if "ValueClipped" not in repr(opt):
        params["z"] = rng.normal(size=4) * 1j
    clipped = "NormClipped" in repr(opt)
    state, states = opt.init(params), {name: opt.init(x) for name, x in params.items()}
    assert len(state.form.chunks) == 6 + ("z" in params)
    apart = params
    for k in range(3):
        grads = {name: x * (k + 1) for name, x in params.items()}
        norm = zyg.norm(grads)
        params, state = opt.step(params, grads, state)
        for name, g in grads.items():
            g = g / norm if clipped else g
            x, states[name] = opt.step(apart[name], g, states[name])
            apart = apart | {name: x}
            assert params[name].dtype == x.dtype
            rtol = 1e-6 if x.dtype == np.float32 or clipped else 1e-15
            np.testing.assert_allclose(params[name], x, rtol)
        apart = params


@ALL
def test_updates_share_no_memory_with_gradients(opt):
    params = {"large": np.ones(9000), "small": np.ones(2)}
    grads = {name: x * 1e-9 for name, x in params.items()}
    updates, _ = optimize.Optimizer(*opt.parts[:1]).update(
        grads, optimize.Optimizer(*opt.parts[:1]).init(params), params
    )
    for name in params:
        assert not np.shares_memory(updates[name], grads[name])


def test_what_is_no_number_stays_and_types_do():
    opt = optimize.adam(0.1)
    model = Model(np.ones(2, np.float32), 0.5)
    grads = zyg.Tangent("Model", weights=np.ones(2), offset=None)
    stepped, _ = opt.step(model, grads, opt.init(model))
    assert type(stepped) is Model
    assert stepped.name == "line"
    assert stepped.offset == 0.5
    assert stepped.weights.dtype == np.float32
    np.testing.assert_allclose(stepped.weights, 0.9)
    mixed = {"a": np.ones(2, np.float32), "b": np.ones(2), "c": np.float32(1.0), "d": 1.0}
    stepped, _ = opt.step(mixed, mixed, opt.init(mixed))
    assert [stepped[k].dtype for k in "abc"] == ["float32", "float64", "float32"]
    assert type(stepped["d"]) is float
    single = np.ones(2, np.float32)
    opt = optimize.sgd(np.float64(0.1))
    assert opt.step(single, np.ones(2), opt.init(single))[0].dtype == np.float32
    assert opt.update(np.ones(2), opt.init(single))[0].dtype == np.float32


class Polynomial:
    def __init__(self):
        self.degree, self.places, self.c = 3, np.arange(3), np.ones(3)

    def __call__(self, x):
        return sum(self.c[self.places[k]] * x**k for k in range(self.degree))


@ALL
def test_an_int_that_only_counts_goes_on_counting(opt):
    model = Polynomial()
    state = opt.init(model)
    for _ in range(3):
        (grads,) = zyg.gradient(lambda m: (m(0.5) - 3.0) ** 2, model, zeros=True)
        model, state = opt.step(model, grads, state)
        updates, _ = opt.update(grads, state, model)
        assert optimize.apply_updates(model, updates).degree == 3
    assert type(model.degree) is int
    assert model.places.dtype == int


def test_an_int_whose_step_is_watched_is_no_constant():
    def after(rate):  # the slope is 0 here, though not by the rate
        opt = optimize.sgd(1.0)
        params, _ = opt.step({"n": 2}, {"n": (rate - 1.0) * 5.0}, opt.init({"n": 2}))
        return params["n"] * 1.0

    assert zyg.gradient(after, 1.0) == (-5.0,)


def test_what_is_one_parameter_stays_one():
    w = np.ones(2)
    params = {"encoder": w, "decoder": [w]}
    grads = zyg.gradient(lambda p: np.sum(p["encoder"] * p["decoder"][0] * 3.0), params)[0]
    opt = optimize.sgd(0.1)
    stepped, state = opt.step(params, grads, opt.init(params))
    assert stepped["encoder"] is stepped["decoder"][0]
    np.testing.assert_allclose(stepped["encoder"], 0.4)
    again, _ = opt.step(stepped, grads, pickle.loads(pickle.dumps(state)))
    np.testing.assert_allclose(again["encoder"], -0.2)
    updates, _ = opt.update(grads, state)
    np.testing.assert_allclose(updates["decoder"][0], -0.6)


def test_none_is_zero_at_every_depth():
    opt = optimize.sgd(0.1, 0.9)
    params = {"a": np.ones(2), "b": {"c": 1.0, "d": 2.0}}
    state = opt.init(params)
    for grads in (None, {}, {"a": None}, {"a": np.zeros(2), "b": None}, {"b": {"c": None}}):
        updates, _ = opt.update(grads, state)
        np.testing.assert_array_equal(numbers_of(updates), np.zeros(4))
        assert numbers_of(opt.step(params, grads, state)[0]).tolist() == [1.0, 1.0, 1.0, 2.0]
        assert numbers_of(optimize.apply_updates(params, grads)).tolist() == [1.0, 1.0, 1.0, 2.0]
    _, state = opt.step(params, {"a": np.ones(2)}, state)
    updates, _ = opt.update({"a": None}, state)  # momentum goes on
    np.testing.assert_allclose(updates["a"], -0.09)


def test_the_order_of_keys_does_not_matter():
    opt = optimize.adam(0.1)
    params = {"a": 1.0, "b": np.ones(1), "c": {"x": 5.0, "y": 6.0}}
    turned = {"c": {"y": 6.0, "x": 5.0}, "b": np.ones(1), "a": 1.0}
    grads = {"b": np.array([0.0]), "a": 1.0, "c": {"y": -1.0, "x": 0.0}}
    _, state = opt.step(params, grads, opt.init(params))
    one, _ = opt.step(params, grads, state)
    other, _ = opt.step(turned, grads, state)
    assert one == other
    assert [*other] == ["c", "b", "a"]


@ALL
def test_states_and_optimizers_are_pickled(opt):
    for params in ({"w": np.ones((2, 2)), "b": 0.5}, Model(np.ones(2), 0.5), closure()):
        grads = zyg.gradient(lambda p: np.sum(numbers_of(p) ** 2), params)[0]
        after, state = opt.step(params, grads, opt.init(params))
        state2 = pickle.loads(pickle.dumps(state))
        opt2 = pickle.loads(pickle.dumps(opt))
        one, other = opt.step(after, grads, state)[0], opt2.step(after, grads, state2)[0]
        np.testing.assert_array_equal(numbers_of(one), numbers_of(other))
        assert opt2.parts == opt.parts


@ALL
def test_steps_are_differentiated(opt):
    """By the start and by data: gradients through several steps, each of them a gradient."""
    if "Sign" in repr(opt):
        return  # whose steps do not depend on the size of a gradient

    def trained(start, x):
        params = {"w": start, "b": 0.1}
        state = opt.init(params)
        for _ in range(3):
            grads = zyg.gradient(lambda p: np.sum((p["w"] * x + p["b"] - 1.0) ** 2), params)[0]
            params, state = opt.step(params, grads, state)
        return np.sum(params["w"] ** 2) + params["b"]

    zyg.check_gradient(trained, np.array([0.3, -0.4]), np.array([1.1, 0.7]), order=1)


def test_rates_and_decays_are_differentiated():
    def trained(rate, b1, b2, decay):
        opt = optimize.adamw(optimize.warmup(2, optimize.cosine(rate, 9)), b1, b2, 1e-8, decay)
        p = np.array([1.0, 2.0])
        state = opt.init(p)
        for _ in range(4):
            p, state = opt.step(p, p**3, state)
        return np.sum(p**2)

    zyg.check_gradient(trained, 0.1, 0.9, 0.99, 0.1, order=2)


def test_updates_are_differentiated_too():
    opt = optimize.chain(optimize.clip(norm=0.5), optimize.sgd(0.1, 0.9))

    def after(w):
        params = {"w": w}
        state = opt.init(params)
        for _ in range(3):
            updates, state = opt.update({"w": params["w"] ** 2}, state)
            params = optimize.apply_updates(params, updates)
        return np.sum(params["w"] ** 2)

    zyg.check_gradient(after, np.array([1.0, 2.0]), order=2)


def test_nothing_is_modified_and_nothing_shared():
    opt = optimize.adam(0.1)
    params = {"w": np.ones(2), "b": np.ones(2)}
    grads = {"w": np.ones(2), "b": np.ones(2)}
    for x in (*params.values(), *grads.values()):
        x.flags.writeable = False
    first = opt.init(params)
    one, state = opt.step(params, grads, first)
    two, _ = opt.step(params, grads, first)
    np.testing.assert_array_equal(one["w"], two["w"])
    one["w"][:] = 7.0
    assert one["b"][0] != 7.0
    again, _ = opt.step(two, grads, state)
    np.testing.assert_allclose(again["w"], 0.8, rtol=1e-6)


def raised(error, f, *args, **kwargs):
    with pytest.raises(error) as caught:
        f(*args, **kwargs)
    return str(caught.value).splitlines()[0]


@pytest.mark.parametrize("params", [{"w": np.ones(2)}, Layer(), np.ones(3), 2.0])
def test_a_gradient_in_its_tuple_is_to_be_taken_out_of_it(params):
    opt = optimize.adam(0.1)
    for grads in (zyg.gradient(lambda p: 1.0, params, zeros=True), (None,)):
        with pytest.raises(StructureError, match=r"take it out: zyg\.gradient\(f, x\)\[0\]"):
            opt.step(params, grads, opt.init(params))


def test_a_tuple_of_one_is_the_gradient_of_one_number():
    opt = optimize.sgd(1.0)
    for params in ([3.0], (3.0,), np.array([3.0])):
        assert [*opt.step(params, (1.0,), opt.init(params))[0]] == [2.0]


def test_what_does_not_fit_is_named():
    opt = optimize.adam(0.1)
    params = {"w": np.ones(2), "b": [1.0, 2.0]}
    state = opt.init(params)
    for f in (
        lambda grads: opt.step(params, grads, state),
        lambda grads: opt.update(grads, state),
    ):
        assert "the gradient does not fit the parameters: at the top it needs no key 'v'" in raised(
            StructureError, f, {"w": np.ones(2), "v": 1.0}
        )
        assert "at ['b']" in raised(StructureError, f, {"w": np.ones(2), "b": [1.0]})
        assert "the gradient at ['w'] has shape (3,)" in raised(
            StructureError, f, {"w": np.ones(3), "b": [1.0, 2.0]}
        )
        assert "the gradient at ['b'][1] has shape (1,)" in raised(
            StructureError, f, {"w": np.ones(2), "b": [1.0, np.ones(1)]}
        )
        assert "at ['w'] it needs a number or an array, got a str" in raised(
            StructureError, f, {"w": "up", "b": [1.0, 2.0]}
        )
        assert "the gradient is of another kind than the parameters" in raised(
            ConversionError, f, {"w": np.ones(2) * 1j}
        )
    assert "the update at ['w'] has shape (3,)" in raised(
        StructureError, optimize.apply_updates, params, {"w": np.ones(3)}
    )


def test_parameters_of_another_structure_than_the_states():
    opt = optimize.adam(0.1)
    state = opt.init({"w": np.ones(2), "b": [1.0, 2.0]})
    for other, lack in [
        ({"w": np.ones(3), "b": [1.0, 2.0]}, "the parameter at ['w'] has shape (3,)"),
        ({"w": np.ones(2)}, "the parameter at ['b'][0] is missing"),
        ({"w": np.ones(2), "b": [1.0, 2.0], "c": 1.0}, "no key 'c'"),
        ({"w": np.ones(2), "b": (1.0, 2.0, 3.0)}, "at ['b']"),
    ]:
        for f in (opt.step, lambda p, g, s: opt.update(g, s, p)):
            message = raised(StructureError, f, other, None, state)
            assert lack in message
            assert "[structure]" in message


def test_arguments_that_make_no_sense():
    for nothing in ({}, "x", {"name": "x"}, None):
        assert "an optimizer was given a" in raised(StructureError, optimize.sgd(0.1).init, nothing)
    for given in ({}, {"norm": 1.0, "value": 1.0}, {"norm": 0.0}, {"value": -1.0}):
        assert "[optimization]" in raised(OptimizationError, optimize.clip, **given)
    for schedule in (optimize.cosine, lambda a, b: optimize.exponential(a, b, 0.5)):
        assert "was given steps=0" in raised(OptimizationError, schedule, 0.1, 0)
    assert "was given steps=0" in raised(OptimizationError, optimize.warmup, 0, 0.1)
    opt = optimize.adamw(0.1)
    assert "was not given the parameters" in raised(
        OptimizationError, opt.update, 1.0, opt.init(1.0)
    )
    complex_clip = optimize.clip(value=1.0)
    assert "complex parameters" in raised(OptimizationError, complex_clip.init, 1j)


def test_they_say_what_they_are():
    opt = optimize.chain(optimize.clip(norm=1.0), optimize.adam(optimize.cosine(0.1, 100)))
    assert repr(opt) == (
        "Optimizer(NormClipped(norm=1.0), ByMoments(b1=0.9, b2=0.999, eps=1e-08), "
        "Scaled(rate=cosine(start=0.1, steps=100, end=0.0)))"
    )
    assert "3 numbers of float64" in repr(opt.init({"a": np.ones(2), "b": 1.0}))
