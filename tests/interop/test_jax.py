"""Calls into JAX and out of it, against its own derivative and the same program on NumPy."""

import functools
import threading

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'zyg[jax]'")

import jax.numpy as jnp  # noqa: E402

import zyg  # noqa: E402
from zyg.errors import ConversionError  # noqa: E402


@pytest.fixture(autouse=True)
def _double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


X = np.array([0.3, -1.2, 0.8])
Z = X + 1j * X[::-1]


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def derivatives_of(loss, x):
    yield zyg.gradient(loss, x)[0]
    yield zyg.hessian(loss, x)
    yield zyg.hvp(loss, x, x + 1)
    yield zyg.pushforward(loss, (x,), (x + 1,))[1]
    yield zyg.gradient(lambda x: np.sum(zyg.hessian(loss, x)), x)[0]
    yield zyg.gradient(lambda x: zyg.checkpoint(loss, x), x)[0]


PAIRS = {
    "elementwise": (lambda x: jnp.sin(x) * x, lambda x: np.sin(x) * x),
    "view": (lambda x: x[1:], lambda x: x[1:]),
    "itself": (lambda x: x, lambda x: x),
    "number": (lambda x: (x * x).sum(), lambda x: np.sum(x * x)),
    "matrix": (lambda x: jnp.outer(x, x) @ x, lambda x: np.outer(x, x) @ x),
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", PAIRS)
def test_functions_have_the_derivatives_of_the_numpy_program(name, compiled):
    theirs, ours = PAIRS[name]
    wrapped = zyg.jax.wrap(jax.jit(theirs) if compiled else theirs)
    losses = [lambda x, f=f: np.sum(np.cos(f(x)) * f(x * x)) for f in (wrapped, ours)]
    for found, wanted in zip(*(derivatives_of(loss, X) for loss in losses), strict=True):
        close(found, wanted)


@pytest.mark.parametrize("compiled", [True, False])
def test_complex_numbers_by_the_convention_of_each_side(compiled):
    def theirs(z):
        return jnp.exp(z) * z.conj()

    def ours(z):
        return np.exp(z) * np.conj(z)

    f = zyg.jax.wrap(jax.jit(theirs) if compiled else theirs)

    def loss(f, z):
        return np.sum(f(z).imag * X)

    found, wanted = (partial_gradient(loss, g, Z) for g in (f, ours))
    close(found, wanted)
    by_jax = jax.grad(lambda z: jnp.sum(theirs(z).imag * X))(jnp.asarray(Z))
    close(found, np.conj(by_jax))

    def norm(g, z):
        c = partial_gradient(loss, g, z)
        return np.sum(c.real**2 + 3 * c.imag)

    close(partial_gradient(norm, f, Z), partial_gradient(norm, ours, Z))
    back = zyg.jax.function(ours)
    close(
        jax.grad(lambda z: jnp.sum(back(z).imag))(jnp.asarray(Z)),
        jax.grad(lambda z: jnp.sum(theirs(z).imag))(jnp.asarray(Z)),
    )


def partial_gradient(loss, f, z):
    return zyg.gradient(lambda z: loss(f, z), z)[0]


@pytest.mark.parametrize("compiled", [True, False])
def test_pytrees_constants_and_several_results(compiled):
    def f(batch, scale, *, shift):
        x = batch["x"]
        return {"y": x * scale + shift, "n": jnp.argsort(x), "pair": (x.sum(), batch["at"])}

    wrapped = zyg.jax.wrap(jax.jit(f) if compiled else f)

    def loss(x, scale):
        y = wrapped({"x": x, "at": np.arange(3)}, scale, shift=2)
        assert y["n"].tolist() == [1, 0, 2]
        assert y["pair"][1].tolist() == [0, 1, 2]
        return np.sum(y["y"]) + y["pair"][0]

    by_x, by_scale = zyg.gradient(loss, X, 3.0)
    close(by_x, [4.0] * 3)
    assert by_scale == pytest.approx(X.sum())
    assert loss(X, 3.0) == pytest.approx(4 * X.sum() + 6)


def test_integers_and_static_arguments_are_constants():
    traces = []

    @functools.partial(jax.jit, static_argnums=1, static_argnames="mode")
    def power(x, n, scale, mode="a"):
        traces.append(n)
        assert isinstance(n, int)
        return scale * sum(x**k for k in range(n)) if mode == "a" else x

    f = zyg.jax.wrap(power)
    for scale in (1.0, 2.0, 2.5):
        g, none = zyg.gradient(lambda x, n, s=scale: f(x, n, s).sum(), X, 3)
        close(g, scale * (1 + 2 * X))
        assert none is None
    assert len(traces) == 1, "a number is an operand, and compiles nothing anew"
    close(zyg.gradient(lambda x: f(x, 3, 1.0, mode="b").sum(), X)[0], np.ones(3))
    at = zyg.jax.wrap(lambda x, i: x[i])
    by_x, by_i = zyg.gradient(lambda x, i: at(x, i).sum(), X, np.array([0, 0, 2]))
    assert by_x.tolist() == [2.0, 0.0, 1.0]
    assert by_i is None


def test_arrays_with_other_contents_compile_nothing_anew():
    traces = []
    f = zyg.jax.wrap(jax.jit(lambda x, a: (traces.append(1), (x * a).sum())[1]))
    for k in range(4):
        a = np.full(3, float(k))
        close(zyg.gradient(lambda x, a=a: f(x, a), X)[0], a)
    assert len(traces) == 1


def test_namespaces_stand_for_numpy():
    xp = zyg.jax.wrap(jnp)
    assert xp.pi == np.pi
    assert xp.float32 is jnp.float32
    assert xp.sin is xp.sin
    found = zyg.gradient(lambda x: xp.linalg.norm(xp.outer(x, x)) * xp.where(x > 0, x, 0).sum(), X)
    wanted = zyg.gradient(lambda x: np.linalg.norm(np.outer(x, x)) * np.where(x > 0, x, 0).sum(), X)
    close(found[0], wanted[0])
    assert isinstance(xp.sin(X), np.ndarray)


def test_results_are_ones_own_and_arguments_may_be_overwritten():
    f = zyg.jax.wrap(jax.jit(lambda x, a: jnp.sin(x) * a))
    for n in (3, 10**5):
        x, a = np.linspace(0, 1, n), np.full(n, 2.0)
        wanted = np.cos(x) * a
        y, back = zyg.pullback(lambda x, a: f(x, a), x, a)
        x[:], a[:] = 0, 0
        y[:] = 7
        close(back(np.ones(n))[0], wanted)
        close(back(np.ones(n))[0], wanted)
    y = f(X, X)
    y[0] = 1.0


@pytest.mark.parametrize(
    "f", [lambda x, a: x, lambda x, a: (x * a, x * a, x + a), lambda x, a: x * 2, lambda x, a: a]
)
def test_no_two_gradients_and_no_result_share_memory(f):
    wrapped = zyg.jax.wrap(jax.jit(f))
    x, a = np.linspace(0, 1, 10**5) * 1, np.full(10**5, 2.0)
    y, back = zyg.pullback(lambda x, a: wrapped(x, a), x, a)
    bars = [np.full(10**5, k + 1.0) for k in range(3)]
    y_bar = tuple(bars) if isinstance(y, tuple) else bars[0]
    first = [None if g is None else g.copy() for g in back(y_bar)]
    for _ in range(2):
        found = [g for g in back(y_bar) if g is not None]
        for k, g in enumerate(found):
            others = [*found[:k], *bars, x, a, *(y if isinstance(y, tuple) else [y])]
            assert not any(np.shares_memory(g, other) for other in others)
            g[:] = 7
    again = back(y_bar)
    for g, h in zip(first, again, strict=True):
        assert (g is None) == (h is None)
        assert g is None or np.array_equal(g, h)


def test_overlapping_calls_and_eight_threads():
    f = zyg.jax.wrap(jax.jit(lambda x, k: (jnp.sin(x) * k, {"k": k})))
    pullbacks = [zyg.pullback(lambda x, k=k: f(x, k)[0], X * k)[1] for k in (1.0, 2.0, 3.0)]
    for k in (2, 0, 1):
        close(pullbacks[k](np.ones(3))[0], np.cos((k + 1) * X) * (k + 1))
    failed = []

    def work(k):
        for _ in range(10):
            g = zyg.gradient(lambda x: f(x, float(k))[0].sum() * f(x, 1.0)[1]["k"], X)[0]
            if not np.allclose(g, np.cos(X) * k):
                failed.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not failed


def test_what_would_round_is_refused():
    jax.config.update("jax_enable_x64", False)
    f = zyg.jax.wrap(jnp.sin)
    with pytest.raises(ConversionError, match=r"(?s)float64.*jax_enable_x64.*float32"):
        zyg.gradient(lambda x: f(x).sum(), X)
    with pytest.raises(ConversionError, match="float64"):
        zyg.gradient(f, 0.5)
    with pytest.raises(ConversionError, match="float64"):
        f(X)
    single = zyg.gradient(lambda x: f(x).sum(), X.astype(np.float32))[0]
    assert single.dtype == np.float32
    at = zyg.jax.wrap(lambda x, i: x[i])
    assert at(X.astype(np.float32), np.array([1])).dtype == np.float32
    with pytest.raises(ConversionError, match="int64"):
        at(X.astype(np.float32), np.array([2**40]))
    jax.config.update("jax_enable_x64", True)
    with pytest.raises(ConversionError, match=r"no numbers of type (longdouble|float128)"):
        zyg.gradient(lambda x: f(x).sum(), X.astype(np.longdouble))
    with pytest.raises(ConversionError, match="bfloat16"):
        zyg.gradient(lambda x: zyg.jax.wrap(lambda x: x.astype(jnp.bfloat16))(x).sum(), X)


# Programs as JAX's functions


def theirs(x):
    return (jnp.sin(x) * x).sum()


ours = zyg.jax.function(lambda x: np.sum(np.sin(x) * x))


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        jax.jit,
        jax.grad,
        lambda f: jax.jit(jax.grad(f)),
        lambda f: jax.jacrev(jax.grad(f)),
        lambda f: jax.jit(jax.jacrev(jax.grad(f))),
        lambda f: jax.grad(lambda x: jax.grad(lambda x: (jax.grad(f)(x) ** 2).sum())(x).sum()),
        lambda f: lambda x: jax.vmap(f)(jnp.stack([x, 2 * x])),
        lambda f: jax.jit(lambda x: jax.vmap(jax.grad(f))(jnp.stack([x, 2 * x]))),
        lambda f: jax.grad(lambda x: jax.vmap(f)(jnp.stack([x, x * x])).sum()),
        lambda f: jax.checkpoint(jax.grad(f)),
        jax.jacfwd,
        jax.hessian,
        lambda f: jax.jit(jax.hessian(f)),
        lambda f: jax.jacrev(jax.jacfwd(f)),
        lambda f: jax.jacfwd(jax.jacfwd(f)),
        lambda f: jax.jacfwd(jax.hessian(f)),
        lambda f: lambda x: jax.jvp(jax.grad(f), (x,), (jnp.cos(x),))[1],
        lambda f: lambda x: jax.jit(jax.linearize(f, x)[1])(jnp.cos(x)),
        lambda f: lambda x: jax.linear_transpose(jax.linearize(f, x)[1], x)(2.0)[0],
        lambda f: lambda x: jax.linear_transpose(jax.vjp(f, x)[1], 1.0)((x,))[0],
        lambda f: lambda x: jax.vmap(jax.hessian(f), 1)(jnp.stack([x, 2 * x], 1)),
        lambda f: jax.hessian(lambda x: jax.vmap(f)(jnp.stack([x, x * x])).prod()),
        lambda f: jax.hessian(lambda x: jax.lax.scan(lambda c, t: (f(x * c) + t, c), 1.0, x)[0]),
        lambda f: jax.grad(lambda x: jax.lax.cond(x[0] > 0, lambda x: f(x) * 2, jnp.sum, x)),
        lambda f: jax.jacfwd(jax.checkpoint(f)),
        lambda f: jax.hessian(jax.checkpoint(f)),
        lambda f: lambda x: jax.lax.scan(lambda c, _: (c + f(x * c), c), 1.0, None, 3)[0],
    ],
)
def test_transformations(transform):
    x = jnp.asarray(X)
    close(transform(ours)(x), transform(theirs)(x))


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, z: jax.jvp(lambda z: f(z, 3.0), (z,), (z * 1j + 2,)),
        lambda f, z: jax.jvp(f, (z, 2), (jnp.cos(z), np.zeros((), jax.dtypes.float0))),
        lambda f, z: jax.jvp(
            lambda z: jax.vjp(lambda z: f(z, 3.0)["y"], z)[1](jnp.sin(z))[0], (z,), (z**2,)
        ),
        lambda f, z: jax.vjp(lambda u: jax.jvp(lambda z: f(z, 3.0)["y"], (z,), (u,))[1], z)[1](z),
    ],
)
def test_forward_mode_of_complex_numbers_integers_and_structures(derivative):
    f = zyg.jax.function(
        lambda z, n: {"y": z * np.conj(z) * np.exp(z) * n, "k": np.arange(3), "c": 2.0}
    )

    def same(z, n):
        return {"y": z * jnp.conj(z) * jnp.exp(z) * n, "k": jnp.arange(3), "c": jnp.asarray(2.0)}

    ours, theirs = (jax.tree_util.tree_leaves(derivative(h, jnp.asarray(Z))) for h in (f, same))
    assert [x.dtype for x in ours] == [x.dtype for x in theirs]
    for x, y in zip(ours, theirs, strict=True):
        if x.dtype != jax.dtypes.float0:
            close(x, y)


def test_programs_of_pytrees_and_results_that_are_told():
    def program(p, x, name):
        y = np.zeros_like(x)
        for k in range(len(x)):
            y[k] = x[k] * p["w"] + p["n"]
        return {"y": y, "n": 3, "name": name}

    specs = {"y": jax.ShapeDtypeStruct((3,), float), "n": jax.ShapeDtypeStruct((), int)}
    calls = []

    def counted(p, x, name):
        calls.append(1)
        return program(p, x, name)

    told = zyg.jax.function(counted, result=specs | {"name": "a"})
    by_arguments = zyg.jax.function(program, result=lambda p, x, name: specs | {"name": name})
    for f in (told, by_arguments, zyg.jax.function(program)):

        def loss(p, x, f=f):
            found = f(p, x, "a")
            assert found["name"] == "a"
            return found["y"].sum() * 3

        p = {"w": jnp.asarray(2.0), "n": jnp.asarray(1)}
        by_p, by_x = jax.jit(jax.grad(loss, (0, 1), allow_int=True))(p, jnp.asarray(X))
        close(by_p["w"], 3 * X.sum())
        close(by_x, [6.0] * 3)
    assert calls == [1], "the value is not asked for; the pullback is one run"


def test_a_result_of_another_shape_than_was_said_is_told():
    f = zyg.jax.function(lambda x: x[:2], result=jax.ShapeDtypeStruct((3,), float))
    with pytest.raises(Exception, match=r"(?s)returned shapes \[\(2,\)\]; result= says \[\(3,\)\]"):
        f(jnp.asarray(X)).block_until_ready()


def test_an_exception_of_the_program_comes_through():
    def crashes(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        zyg.jax.function(crashes)(jnp.asarray(X))


def test_jax_in_zyg_in_jax():
    inner = zyg.jax.wrap(jax.jit(lambda x: jnp.tanh(x) * x))
    f = zyg.jax.function(lambda x: np.sum(inner(np.sin(x)) ** 2))

    def same(x):
        return ((jnp.tanh(jnp.sin(x)) * jnp.sin(x)) ** 2).sum()

    x = jnp.asarray(X)
    close(jax.jit(jax.grad(f))(x), jax.grad(same)(x))
    close(jax.jacrev(jax.grad(f))(x), jax.hessian(same)(x))
