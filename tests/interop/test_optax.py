"""zyg.optimize's optimizers beside optax's: the same parameters after each step."""

import numpy as np
import pytest

from zyg import optimize

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")

OPTIMIZERS = {
    "sgd": (optimize.sgd(0.1), lambda: optax.sgd(0.1)),
    "momentum": (optimize.sgd(0.1, 0.9), lambda: optax.sgd(0.1, 0.9)),
    "nesterov": (optimize.sgd(0.1, 0.9, True), lambda: optax.sgd(0.1, 0.9, True)),
    "adam": (optimize.adam(0.1), lambda: optax.adam(0.1)),
    "adam's options": (optimize.adam(0.1, 0.8, 0.9, 1e-3), lambda: optax.adam(0.1, 0.8, 0.9, 1e-3)),
    "adamw": (optimize.adamw(0.1), lambda: optax.adamw(0.1)),
    "adamw, more": (
        optimize.adamw(0.1, weight_decay=0.3), lambda: optax.adamw(0.1, weight_decay=0.3),
    ),
    "rmsprop": (optimize.rmsprop(0.1), lambda: optax.rmsprop(0.1)),
    "rmsprop, momentum": (
        optimize.rmsprop(0.1, 0.8, momentum=0.9, nesterov=True),
        lambda: optax.rmsprop(0.1, 0.8, momentum=0.9, nesterov=True),
    ),
    "lion": (optimize.lion(0.1), lambda: optax.lion(0.1)),
    "lion, more": (
        optimize.lion(0.1, 0.8, 0.9, weight_decay=0.3),
        lambda: optax.lion(0.1, 0.8, 0.9, weight_decay=0.3),
    ),
    "clip the norm": (
        optimize.chain(optimize.clip(norm=1.0), optimize.sgd(0.1)),
        lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1)),
    ),
    "clip the values": (
        optimize.chain(optimize.clip(value=0.5), optimize.adam(0.1)),
        lambda: optax.chain(optax.clip(0.5), optax.adam(0.1)),
    ),
    "a schedule": (
        optimize.adam(optimize.cosine(0.1, 4)),
        lambda: optax.adam(optax.cosine_decay_schedule(0.1, 4)),
    ),
}  # fmt: skip


def gradient_at(params, k):
    return {
        "w": np.sin(params["w"] * (k + 1)).astype(params["w"].dtype) * 2,
        "deep": [(params["deep"][0] - 1 / (k + 1)).astype(params["deep"][0].dtype)],
    }


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in OPTIMIZERS
        for dtype in ("float32", "float64", "complex128")
        if (name, dtype) != ("clip the values", "complex128")  # which both refuse
    ],
)
def test_steps_are_those_of_optax(name, dtype):
    rng = np.random.default_rng(0)
    ours_is, theirs_is = OPTIMIZERS[name][0], OPTIMIZERS[name][1]()
    turn = 1j if dtype == "complex128" else 0.0
    params = {"w": rng.normal(size=(3, 2)), "deep": [rng.normal(size=4)]}
    params = jax.tree.map(lambda x: (x + turn * x[::-1]).astype(dtype), params)
    with jax.enable_x64(True):
        ours, theirs = params, jax.tree.map(jax.numpy.asarray, params)
        state, their_state = ours_is.init(ours), theirs_is.init(theirs)
        for k in range(6):
            grads = gradient_at(ours, k)
            updates, their_state = theirs_is.update(
                jax.tree.map(jax.numpy.asarray, grads), their_state, theirs
            )
            theirs = optax.apply_updates(theirs, updates)
            our_updates, again = ours_is.update(grads, state, ours)
            before, (ours, state) = ours, ours_is.step(ours, grads, state)
            for x, y in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
                assert x.dtype == y.dtype == dtype
                np.testing.assert_allclose(x, y, rtol=2e-5 if dtype == "float32" else 1e-12)
            applied = optimize.apply_updates(before, our_updates)
            jax.tree.map(np.testing.assert_array_equal, applied, ours)
            jax.tree.map(np.testing.assert_array_equal, again.parts, state.parts)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (optimize.cosine(0.3, 7), lambda: optax.cosine_decay_schedule(0.3, 7)),
        (optimize.cosine(0.3, 7, 0.03), lambda: optax.cosine_decay_schedule(0.3, 7, 0.1)),
        (optimize.exponential(0.3, 4, 0.5), lambda: optax.exponential_decay(0.3, 4, 0.5)),
        (
            optimize.exponential(0.3, 4, 0.5, True),
            lambda: optax.exponential_decay(0.3, 4, 0.5, staircase=True),
        ),
        (
            optimize.piecewise(0.3, {3: 0.5, 6: 0.1}),
            lambda: optax.piecewise_constant_schedule(0.3, {3: 0.5, 6: 0.1}),
        ),
        (
            optimize.warmup(3, optimize.cosine(0.3, 7)),
            lambda: optax.warmup_cosine_decay_schedule(0.0, 0.3, 3, 10),
        ),
        (optimize.warmup(3, 0.3, 0.1), lambda: optax.warmup_constant_schedule(0.1, 0.3, 3)),
    ],
)
def test_schedules_are_those_of_optax(ours, theirs):
    with jax.enable_x64(True):
        wanted = [float(theirs()(k)) for k in range(13)]
    assert [ours(k) for k in range(13)] == pytest.approx(wanted, rel=1e-6)
