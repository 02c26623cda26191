"""Calls into PyTorch, against its own derivative and against the same program on NumPy."""

import threading
import warnings
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'zyg[torch]'")

import zyg  # noqa: E402
from zyg.errors import ConversionError, MutationError  # noqa: E402

X = np.array([0.3, -1.2, 0.8])


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def doubles(*sizes):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(a, b) for a, b in pairwise(sizes)]
    return torch.nn.Sequential(layers[0], torch.nn.Tanh(), *layers[1:]).double()


def derivatives_of(loss, x):
    yield zyg.gradient(loss, x)[0]
    yield zyg.hessian(loss, x)
    yield zyg.hvp(loss, x, x + 1)
    yield zyg.pushforward(loss, (x,), (x + 1,))[1]
    yield zyg.gradient(lambda x: np.sum(zyg.hessian(loss, x)), x)[0]
    yield zyg.pushforward(lambda x: zyg.gradient(loss, x)[0], (x,), (x,))[1]
    yield zyg.gradient(lambda x: zyg.checkpoint(loss, x), x)[0]


PAIRS = {
    "elementwise": (lambda x: torch.sin(x) * x, lambda x: np.sin(x) * x),
    "saved": (lambda x: torch.exp(x), lambda x: np.exp(x)),
    "view": (lambda x: x[1:], lambda x: x[1:]),
    "itself": (lambda x: x, lambda x: x),
    "linear": (lambda x: 2 * x, lambda x: 2 * x),
    "number": (lambda x: (x * x).sum(), lambda x: np.sum(x * x)),
    "constant": (lambda x: torch.ones(3).double(), lambda x: np.ones(3)),
    "matrix": (lambda x: torch.outer(x, x) @ x, lambda x: np.outer(x, x) @ x),
}


@pytest.mark.parametrize("name", PAIRS)
def test_functions_have_the_derivatives_of_the_numpy_program(name):
    theirs, ours = PAIRS[name]
    wrapped = zyg.torch.wrap(theirs)
    losses = [lambda x, f=f: np.sum(np.cos(f(x)) * f(x * x)) for f in (wrapped, ours)]
    for found, wanted in zip(*(derivatives_of(loss, X) for loss in losses), strict=True):
        if name == "constant" and wanted is None:
            assert found is None
        else:
            close(found, wanted)


def test_complex_numbers():
    z = X + 1j * X[::-1]
    f = zyg.torch.wrap(lambda z: torch.exp(z) * z.conj())

    def ours(z):
        return np.exp(z) * np.conj(z)

    def losses(f):
        yield lambda z: np.sum(np.abs(f(z)) ** 2)
        yield lambda z: np.sum(f(z).imag * X)

    def norm(loss, z):
        g = zyg.gradient(loss, z)[0]
        return np.sum(g.real**2 + 3 * g.imag)

    for one, other in zip(losses(f), losses(ours), strict=True):
        close(zyg.gradient(one, z)[0], zyg.gradient(other, z)[0])
        found = [zyg.gradient(partial(norm, loss), z)[0] for loss in (one, other)]
        close(*found)
    real = zyg.gradient(lambda x: np.sum(np.abs(f(x * (1 + 1j)))), X)[0]
    assert real.dtype == np.float64


def test_dtypes_numbers_and_layouts():
    f = zyg.torch.wrap(torch.sin)
    assert zyg.gradient(f, 0.5) == (np.cos(0.5),)
    assert f(0.5) == np.sin(0.5)
    single = zyg.gradient(lambda x: f(x).sum(), X.astype(np.float32))[0]
    assert single.dtype == np.float32
    assert f(X.astype(np.float32)).dtype == np.float32
    whole = np.arange(24.0).reshape(4, 6)
    for x in (whole[::-1], whole.T, whole[:, ::2], whole.astype(">f8"), np.asfortranarray(whole)):
        close(zyg.gradient(lambda x: f(x).sum(), x)[0], np.cos(x))
        close(f(x), np.sin(x))
    frozen = whole.copy()
    frozen.flags.writeable = False
    close(f(frozen), np.sin(whole))
    large = np.linspace(0, 1, 10**5)
    close(zyg.gradient(lambda x: f(x).sum(), large)[0], np.cos(large))
    assert large.flags.writeable


def test_structures_constants_and_several_results():
    @zyg.torch.wrap
    def f(batch, k, *, scale, mode="sum"):
        top = torch.topk(batch["x"], k)
        return {"top": top, "n": top.indices, "named": (mode, batch["x"] * scale), "flag": True}

    def loss(x, scale):
        y = f({"x": x, "ids": np.arange(3)}, 2, scale=scale, mode="mean")
        assert (y["named"][0], y["flag"]) == ("mean", True)
        assert y["n"].dtype == np.int64
        return y["top"].values @ np.array([1.0, 2.0]) + np.sum(y["named"][1])

    by_x, by_scale = zyg.gradient(loss, X, 3.0)
    close(by_x, [5.0, 3.0, 4.0])
    assert by_scale == pytest.approx(X.sum())
    assert loss(X, np.float64(3.0)) == pytest.approx(loss(X, 3.0))


def test_integers_are_constants():
    f = zyg.torch.wrap(lambda x, index: x[index])
    by_x, by_index = zyg.gradient(lambda x, i: f(x, i).sum(), X, np.array([0, 0, 2]))
    assert by_x.tolist() == [2.0, 0.0, 1.0]
    assert by_index is None


def test_it_is_one_forward_run_and_the_pullback_may_be_called_again():
    runs = []
    f = zyg.torch.wrap(lambda x: (runs.append(1), x * x)[1])
    _, back = zyg.pullback(lambda x: f(x), X)
    close(back(np.ones(3))[0], 2 * X)
    close(back(X)[0], 2 * X * X)
    assert len(runs) == 1


def test_overlapping_calls_and_eight_threads():
    f = zyg.torch.wrap(lambda x: torch.sin(x) * x)
    pullbacks = [zyg.pullback(f, k * X)[1] for k in range(5)]
    for k in (3, 0, 4, 1, 2):
        close(pullbacks[k](np.ones(3))[0], np.cos(k * X) * k * X + np.sin(k * X))
    net = zyg.torch.wrap(doubles(3, 4, 1))
    right = zyg.gradient(lambda n, x: n(x).sum(), net, X)
    failures = []

    def work():
        for _ in range(10):
            t, x = zyg.gradient(lambda n, x: n(x).sum(), net, X)
            same = all(np.array_equal(t.parameters[k], v) for k, v in right[0].parameters.items())
            if not (same and np.array_equal(x, right[1])):
                failures.append((t, x))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not failures


def test_arguments_may_be_overwritten_afterwards():
    f = zyg.torch.wrap(lambda x, a: torch.sin(x) * a)
    for n in (3, 10**4):
        x, a = np.linspace(0, 1, n), np.full(n, 2.0)
        wanted = np.cos(x) * a
        y, back = zyg.pullback(lambda x, a: f(x, a), x, a)
        x[:], a[:] = 0, 0
        y[:] = 7
        close(back(np.ones(n))[0], wanted)

    def writes(x):
        y = f(x, np.full(3, 2.0))
        x[:] = 0.0
        y[0] = 5.0
        return np.sum(y * y)

    def the_same(x):
        y = np.sin(x) * 2
        x[:] = 0.0
        y[0] = 5.0
        return np.sum(y * y)

    close(zyg.gradient(writes, X)[0], zyg.gradient(the_same, X)[0])


SHARED = torch.full((10**4,), 3.0, dtype=torch.double)
HELD = []


def held(x):
    HELD.append(x)
    return HELD[-1]


@pytest.mark.parametrize("n", [3, 10**4])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, a: x,
        lambda x, a: x[:],
        lambda x, a: torch.exp(x) * 1,
        lambda x, a: torch.exp(x),
        lambda x, a: x + a,
        lambda x, a: (x * a, (x * a).view(-1), torch.flip(x, [0])),
        lambda x, a: (x * 2, SHARED[: len(x)], a),
        lambda x, a: held(x * 2)[:],
        lambda x, a: held((x * 2)[:]),
        lambda x, a: (x @ torch.outer(a, a[:3]), torch.nn.functional.linear(x, a[None])),
    ],
)
def test_no_two_gradients_and_no_result_share_memory(f, n):
    wrapped = zyg.torch.wrap(f)
    x, a = np.linspace(0, 1, n) * 1, np.full(n, 2.0)
    for y in (wrapped(x, a), zyg.pullback(wrapped, x, a)[0]):
        for part in y if isinstance(y, tuple) else [y]:
            assert part.flags.writeable
            for t in (SHARED, *HELD):
                assert not np.shares_memory(part, t.detach().numpy())
    y, back = zyg.pullback(lambda x, a: wrapped(x, a), x, a)
    ys = [*y] if isinstance(y, tuple) else [y]
    bars = [np.full(y.shape, k + 1.0) for k, y in enumerate(ys)]
    y_bar = tuple(bars) if isinstance(y, tuple) else bars[0]
    first = [None if g is None else g.copy() for g in back(y_bar)]
    for _ in range(2):
        found = [g for g in back(y_bar) if g is not None]
        every = [*found, *ys]
        for k, g in enumerate(every):
            others = [*every[:k], *bars, x, a]
            assert not any(np.shares_memory(g, other) for other in others)
        for g in every:
            g[:] = 7
    for g, h in zip(first, back(y_bar), strict=True):
        assert (g is None) == (h is None)
        assert g is None or np.array_equal(g, h)


# Modules


def test_the_parameters_of_a_module_are_data():
    net = doubles(3, 4, 1)
    wrapped = zyg.torch.wrap(net)
    by_net, by_x = zyg.gradient(lambda n, x: (n(x) ** 2).sum(), wrapped, X)
    x = torch.tensor(X, requires_grad=True)
    wanted = torch.autograd.grad((net(x) ** 2).sum(), [*net.parameters(), x])
    for found, c in zip([*by_net.parameters.values(), by_x], wanted, strict=True):
        close(found, c)
    assert [*vars(by_net)] == ["parameters"]
    assert all(p.grad is None for p in net.parameters())

    wrapped.parameters["0.bias"] -= 1.0
    assert net[0].bias[0].item() == wrapped.parameters["0.bias"][0]
    wrapped.accumulate(by_net)
    wrapped.accumulate(by_net)
    close(net[0].weight.grad, 2 * wanted[0])
    close(by_net.parameters["0.weight"], wanted[0])


@pytest.mark.parametrize("width", [4, 600])  # of which the memory is copied, and is protected
def test_second_derivatives_by_parameters_and_other_values(width):
    net = doubles(2, width, 1)
    wrapped = zyg.torch.wrap(net)

    def loss(n, x):
        return (n(x) ** 3).sum()

    def slope(n, x):
        return (zyg.gradient(lambda x: loss(n, x), x)[0] ** 2).sum()

    found = zyg.gradient(slope, wrapped, X[:2])[0].parameters
    x = torch.tensor(X[:2], requires_grad=True)
    (g,) = torch.autograd.grad((net(x) ** 3).sum(), x, create_graph=True)
    wanted = torch.autograd.grad((g**2).sum(), [*net.parameters()], allow_unused=True)
    for c, w in zip(found.values(), wanted, strict=True):
        close(0.0 if c is None else c, 0.0 if w is None else w)

    def scaled(n, s):
        n.parameters = {k: v * s for k, v in n.parameters.items()}
        return loss(n, X[:2])

    before = net[0].weight.clone()
    by_scale = zyg.gradient(scaled, wrapped, 1.5)[1]
    values = {k: p.detach() * 1.5 for k, p in net.named_parameters()}
    leaves = {k: v.requires_grad_() for k, v in values.items()}
    y = (torch.func.functional_call(net, leaves, torch.tensor(X[:2])) ** 3).sum()
    grads = torch.autograd.grad(y, [*leaves.values()])
    by_hand = sum((g * p).sum() for g, p in zip(grads, net.parameters(), strict=True))
    assert by_scale == pytest.approx(by_hand.item())
    assert torch.equal(before, net[0].weight)


@pytest.mark.parametrize("width", [4, 600])
def test_a_module_that_is_trained_between_forward_and_back(width):
    net = doubles(2, width, 1)
    wrapped = zyg.torch.wrap(net)
    wanted = zyg.gradient(lambda n, x: n(x).sum(), wrapped, X[:2])
    _, back = zyg.pullback(lambda n, x: n(x).sum(), wrapped, X[:2])
    for p in wrapped.parameters.values():
        p -= 0.1
    found = back(1.0)
    close(found[1], wanted[1])
    for name, c in wanted[0].parameters.items():
        close(found[0].parameters[name], c)


def test_training_by_an_optimiser_of_pytorchs():
    net = doubles(1, 8, 1)
    wrapped = zyg.torch.wrap(net)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.05)
    x = np.linspace(-1, 1, 20)[:, None]

    def loss(net):
        return np.mean((net(x) - np.sin(3 * x)) ** 2)

    first = loss(wrapped)
    for _ in range(150):
        optimiser.zero_grad()
        wrapped.accumulate(zyg.gradient(loss, wrapped)[0])
        optimiser.step()
    assert loss(wrapped) < first / 20


def test_dropout_sees_the_same_random_numbers_in_each_run():
    drop = zyg.torch.wrap(torch.nn.Dropout(0.5))
    weights = np.linspace(1, 2, 50)

    def program(x):
        return np.sum(drop(x) ** 3 * weights)

    def derivative_of_square(x, mask):
        return 6 * (mask * 2) ** 3 * weights * x

    torch.manual_seed(3)
    mask = torch.nn.functional.dropout(torch.ones(50, dtype=torch.double)).numpy() / 2
    after = torch.get_rng_state()
    torch.manual_seed(3)
    x = np.linspace(0.5, 1, 50)
    close(zyg.hvp(program, x, np.ones(50)), derivative_of_square(x, mask))
    assert torch.equal(torch.get_rng_state(), after)


class _Seeded:
    """A function that draws from a generator of its own, in its closure."""

    def __init__(self):
        g = torch.Generator().manual_seed(5)
        self.f = zyg.torch.wrap(lambda x: x * torch.rand(6, generator=g, dtype=torch.double))


@pytest.mark.parametrize("kind", ["module", "function", "tensor", "generator"])
@pytest.mark.parametrize("scale", [0.0, 1.0], ids=["value is the same", "value tells"])
def test_dropout_in_a_checkpoint_sees_the_same_random_numbers(kind, scale):
    def program():
        f = torch.nn.functional.dropout
        drop = {
            "module": lambda: zyg.torch.wrap(torch.nn.Dropout(0.5)),
            "function": lambda: zyg.torch.wrap(lambda x: f(x, 0.5)),
            "tensor": lambda: lambda x: f(x, 0.5),
            "generator": lambda: _Seeded().f,
        }[kind]()
        return lambda x: (drop(x) * weights).sum()

    as_given = torch.tensor if kind == "tensor" else np.asarray
    x, weights = as_given(scale * np.linspace(1, 2, 6)), as_given(np.arange(1.0, 7.0))
    torch.manual_seed(3)
    # The program is linear: the sum of its derivative is its value at ones, with the same mask.
    state, f = torch.get_rng_state(), program()
    g = f(as_given(np.ones(6)))
    after = torch.get_rng_state()
    torch.set_rng_state(state)
    inner = program()
    (found,) = zyg.gradient(lambda x: zyg.checkpoint(inner, x), x)
    assert torch.equal(torch.get_rng_state(), after)
    assert float(np.sum(np.asarray(found))) == pytest.approx(float(g), rel=1e-12)
    torch.set_rng_state(state)
    (wanted,) = zyg.gradient(program(), x)
    close(np.asarray(found), np.asarray(wanted))


def test_batch_norm_changes_its_buffers_once_for_each_call():
    net = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Tanh()).double()
    twin = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Tanh()).double()
    wrapped = zyg.torch.wrap(net)
    x = np.arange(12.0).reshape(4, 3) ** 2 / 30

    def loss(n, x):
        return np.sum(n(x) ** 3)

    found = zyg.gradient(lambda n, x: np.sum(zyg.gradient(loss, n, x)[1] ** 2), wrapped, x)
    t = torch.tensor(x, requires_grad=True)
    (g,) = torch.autograd.grad((twin(t) ** 3).sum(), t, create_graph=True)
    close(found[1], torch.autograd.grad((g**2).sum(), t)[0], 1e-10)
    assert net[0].num_batches_tracked == 1
    close(net[0].running_mean, twin[0].running_mean)
    wrapped_eval = zyg.torch.wrap(net.eval())
    close(wrapped_eval(x), net(torch.tensor(x)).detach())
    assert net[0].num_batches_tracked == 1


def shared():
    layer = torch.nn.Linear(3, 3).double()
    return torch.nn.Sequential(layer, torch.nn.Tanh(), layer)


def tied():
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 3))
    net[2].weight = net[0].weight
    return net.double()


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(3, 3).double()

    def forward(self, x):
        return self.lstm(x[None])[0]


@pytest.mark.parametrize("make", [shared, tied, Recurrent])
def test_modules_that_share_weights_or_keep_lists_of_them(make):
    torch.manual_seed(1)
    net = make()
    wrapped, before = zyg.torch.wrap(net), [p.clone() for p in net.parameters()]

    def loss(n, x):
        return (n(x) ** 2).sum()

    def scaled(n, s):
        n.parameters = {k: v * s for k, v in n.parameters.items()}
        return loss(n, X)

    for s in (1.0, 1.5):
        value, (by_net, by_s) = zyg.value_and_gradient(scaled, wrapped, s)
        with torch.no_grad():
            for p in net.parameters():
                p.mul_(s)
        y = loss(net, torch.tensor(X))
        wanted = torch.autograd.grad(y, [*net.parameters()])
        assert value == pytest.approx(y.item())
        for c, g in zip(by_net.parameters.values(), wanted, strict=True):
            close(c, s * g)
        slope = sum((g * b).sum().item() for g, b in zip(wanted, before, strict=True))
        assert by_s == pytest.approx(slope)
        with torch.no_grad():
            for p, b in zip(net.parameters(), before, strict=True):
                p.copy_(b)
    assert all(torch.equal(p, b) for p, b in zip(net.parameters(), before, strict=True))

    def slope_of_x(n):
        return (zyg.gradient(lambda x: loss(n, x), X)[0] ** 2).sum()

    found = zyg.gradient(slope_of_x, wrapped)[0].parameters
    x = torch.tensor(X, requires_grad=True)
    (g,) = torch.autograd.grad(loss(net, x), x, create_graph=True)
    wanted = torch.autograd.grad((g**2).sum(), [*net.parameters()], allow_unused=True)
    for c, w in zip(found.values(), wanted, strict=True):
        close(0.0 if c is None else c, 0.0 if w is None else w)


def test_frozen_parameters_are_constants_and_modules_stay_whole():
    net = doubles(3, 4, 1)
    net[0].requires_grad_(False)
    wrapped = zyg.torch.wrap(net)
    assert [*wrapped.parameters] == ["2.weight", "2.bias"]
    found = zyg.gradient(lambda d: d["net"](d["x"]).sum(), {"net": wrapped, "x": X})[0]
    assert [*found["net"].parameters] == ["2.weight", "2.bias"]


# Refusals


def test_what_cannot_be_shared_is_refused_with_the_remedy():
    f = zyg.torch.wrap(lambda x: x * 1)
    with pytest.raises(ConversionError, match=r"no numbers of type longdouble|float128"):
        zyg.gradient(lambda x: f(x).sum(), X.astype(np.longdouble))
    with pytest.raises(ConversionError, match=r"(?s)sparse tensor.*to_dense"):
        zyg.gradient(lambda x: zyg.torch.wrap(lambda x: x.to_sparse())(x), X)
    with pytest.raises(ConversionError, match=r"bfloat16.*\n"):
        zyg.gradient(lambda x: zyg.torch.wrap(lambda x: x.bfloat16())(x).sum(), X)
    with pytest.raises(ConversionError, match=r"(?s)meta.*cpu\(\)"):
        zyg.torch.wrap(torch.nn.Linear(2, 2, device="meta"))


def test_a_write_to_shared_memory_is_refused():
    def clamps(x):
        with torch.no_grad():
            x.clamp_(0, 1)
        return x * x

    for n in (3, 10**4):
        x = np.linspace(0, 1, n)
        with pytest.raises(MutationError, match="clamps wrote to its argument"):
            zyg.gradient(lambda x: zyg.torch.wrap(clamps)(x).sum(), x)
        with pytest.raises(MutationError, match="clamps wrote to its argument"):
            zyg.torch.wrap(clamps)(x)
        inplace = zyg.torch.wrap(torch.nn.ReLU(inplace=True))
        with pytest.raises(MutationError, match="ReLU wrote to its argument"):
            inplace(x)

    state = torch.zeros(3, dtype=torch.double)
    held = []

    def keeps(x):
        held.append(x * 1)
        return held[-1]

    def loss(x):
        y = zyg.torch.wrap(keeps)(x)
        with torch.no_grad():
            held[-1].add_(state + 1)
        return np.sum(y * y)

    with pytest.raises(MutationError, match="result after it had returned it"):
        zyg.gradient(loss, X)


def test_an_exception_is_the_functions_own():
    def crashes(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        zyg.gradient(zyg.torch.wrap(crashes), X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        big = np.ones(10**4)
        zyg.gradient(lambda x: zyg.torch.wrap(torch.sin)(x).sum(), big)
    assert big.flags.writeable
