"""Fitting: `zyg.grad`, a step of Adam over ten small arrays, and L-BFGS-B over 100 unknowns.

The row "scipy by hand" is SciPy's minimize with the gradient written by hand; the row "the
gradients" takes zyg's values and gradients where that goes, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.optimize

import zyg
from benchmarks.harness import Case, Peers, Result, Target, at_most, overhead


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    yield _grad()
    yield _adam(peers)
    yield _quadratic(10 if quick else 100)


def _grad() -> Case:
    def f(x):
        return x * x + 1.0

    grad = zyg.grad(f)
    return Case(
        "grad of one number",
        {"zyg": lambda: grad(2.0), "gradient": lambda: zyg.gradient(f, 2.0)[0]},
        targets=[overhead(2e-6, "gradient")],
    )


def _adam(peers: Peers) -> Case:
    rng = np.random.default_rng(0)
    params = {f"w{k}": rng.normal(size=(3, 4)) for k in range(10)}
    grads = {name: np.cos(w) for name, w in params.items()}
    opt = zyg.optimize.adam(0.01)
    state = opt.init(params)

    def by_hand(b1=0.9, b2=0.999):
        stepped = {}
        for name, w in params.items():
            g = grads[name]
            m, v = (1 - b1) * g, (1 - b2) * g * g
            stepped[name] = w - 0.01 * (m / (1 - b1)) / (np.sqrt(v / (1 - b2)) + 1e-8)
        return stepped

    programs = {"zyg": lambda: opt.step(params, grads, state)[0], "numpy": by_hand}
    if (jax := peers.get("jax")) and (optax := peers.get("optax")):
        theirs = optax.adam(0.01)
        given = jax.tree.map(jax.numpy.asarray, (params, grads))
        start = theirs.init(given[0])

        @jax.jit
        def compiled(params, grads, state):
            updates, state = theirs.update(grads, state, params)
            return optax.apply_updates(params, updates), state

        programs["optax, compiled"] = lambda: jax.block_until_ready(compiled(*given, start)[0])
    return Case("adam.step, a dict of 10 small arrays", programs, targets=[at_most(60e-6)])


def _quadratic(n: int) -> Case:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(2 * n, n))
    matrix, b = a.T @ a / n, rng.normal(size=n)
    start = np.zeros(n)

    def f(x):
        return 0.5 * (x @ (matrix @ x)) - b @ x

    def both(x):
        product = matrix @ x
        return 0.5 * (x @ product) - b @ x, product - b

    def by_hand():
        return scipy.optimize.minimize(both, start, method="L-BFGS-B", jac=True)

    visited = []

    def visiting(x):
        visited.append(x.copy())
        return both(x)

    scipy.optimize.minimize(visiting, start, method="L-BFGS-B", jac=True)

    def gradients():
        for x in visited:
            zyg.value_and_gradient(f, x, zeros=True)

    def to_both(r: Result, _: list[Result]) -> float:
        return r.time("zyg") / (r.time("scipy by hand") + r.time("the gradients"))

    return Case(
        f"L-BFGS-B, {n} unknowns, quadratic",
        {
            "zyg": lambda: zyg.optimize.minimize(f, start, method="L-BFGS-B").x,
            "scipy by hand": lambda: by_hand().x,
            "the gradients": gradients,
        },
        targets=[Target("zyg", "at most 1.2x both together", to_both, 1.2)],
        rtol=1e-3,
    )
