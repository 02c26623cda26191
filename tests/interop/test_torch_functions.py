"""Programs as nodes of PyTorch's tape: its own checks, transforms, modules, overlapping calls."""

import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'zyg[torch]'")

from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

import zyg  # noqa: E402

# PyTorch's own forward mode uses what it deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
func = torch.func


def tensor(*shape, dtype=torch.double, grad=True):
    generator = torch.Generator().manual_seed(len(shape) + 1)
    return torch.rand(shape, dtype=dtype, generator=generator).requires_grad_(grad)


PROGRAMS = {
    "elementwise": lambda x, w: np.sin(x) * x * w,
    "number": lambda x, w: np.sum(np.exp(x) * w),
    "several": lambda x, w: (x * w, {"sum": np.sum(x**3), "text": "t"}, [w @ x]),
    "writes": lambda x, w: written(x, w),
    "one constant": lambda x, w: np.tanh(x),
}


def written(x, w):
    y = np.zeros_like(x)
    for k in range(len(x)):
        y[k] = x[k] * w[k - 1] ** 2
    return y


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradcheck_and_gradgradcheck_pass(name):
    f = zyg.torch.function(PROGRAMS[name])

    def flat(x, w):
        y = f(x, w)
        return y if isinstance(y, torch.Tensor) else (y[0], y[1]["sum"], *y[2])

    x, w = tensor(3), tensor(3)
    assert gradcheck(flat, (x, w))
    assert gradgradcheck(flat, (x, w))
    if name != "one constant":
        assert gradcheck(flat, (x, w), check_forward_ad=True)


def test_complex_and_single_precision():
    f = zyg.torch.function(lambda z: z * np.conj(z) * np.exp(z))
    z = tensor(3, dtype=torch.cdouble)
    assert gradcheck(f, (z,))
    assert gradgradcheck(f, (z,))
    x = tensor(3, dtype=torch.float)
    y = zyg.torch.function(lambda x: np.sum(np.sin(x)) * 2.0)(x)
    y.backward()
    assert (y.dtype, x.grad.dtype) == (torch.float, torch.float)
    torch.testing.assert_close(x.grad, 2 * torch.cos(x).detach())


def theirs(x):
    return (torch.sin(x) * x).sum()


ours = zyg.torch.function(lambda x: np.sum(np.sin(x) * x))


@pytest.mark.parametrize(
    "transform",
    [
        func.grad,
        lambda f: func.jacrev(func.grad(f)),
        func.hessian,
        lambda f: func.jacfwd(func.grad(f)),
        lambda f: func.grad(lambda x: func.grad(f)(x).pow(2).sum()),
        lambda f: lambda x: func.vmap(f)(torch.stack([x, 2 * x])),
        lambda f: lambda x: func.vmap(func.grad(f))(torch.stack([x, 2 * x])),
        lambda f: lambda x: func.grad(lambda x: func.vmap(f)(torch.stack([x, x * x])).sum())(x),
        lambda f: lambda x: func.vjp(f, x)[1](torch.tensor(2.0).double())[0],
        lambda f: lambda x: func.jvp(f, (x,), (x * x,))[1],
    ],
)
def test_functional_transforms(transform):
    x = tensor(3, grad=False)
    torch.testing.assert_close(transform(ours)(x), transform(theirs)(x))


@pytest.mark.parametrize(
    "transform",
    [
        lambda f, x: func.linearize(f, x)[1](x),
        lambda f, x: make_fx(f)(x),
        lambda f, x: make_fx(f, tracing_mode="fake")(x),
        lambda f, x: torch.autograd.functional.jacobian(f, x, vectorize=True),
        lambda f, x: torch.autograd.grad(f(x), x, torch.ones(2).double(), is_grads_batched=True),
    ],
)
def test_a_transform_that_cannot_see_into_a_program_is_refused(transform):
    with pytest.raises(
        zyg.errors.ConversionError, match=r"a transform of PyTorch's(?s:.*)torch\.func\.jvp"
    ):
        transform(ours, tensor(3))


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # by PyTorch's own compiler
def test_under_torch_compile_it_is_left_out():
    outside = torch.compiler.disable(ours)
    f = torch.compile(lambda x: outside(x * x) * 2, backend="aot_eager")
    x = tensor(3)
    f(x).backward()
    wanted = func.grad(lambda x: theirs(x * x) * 2)(x.detach())
    torch.testing.assert_close(x.grad, wanted)


def test_arguments_and_results_of_any_form():
    @zyg.torch.function
    def f(batch, *, scale, name):
        assert isinstance(scale, np.float64)
        return {"y": batch["x"][batch["at"]] * scale, "n": len(name), "whole": np.arange(3)}

    x, scale = tensor(4), tensor()
    y = f({"x": x, "at": torch.tensor([0, 0, 3])}, scale=scale, name="abc")
    assert y["n"].item() == 3
    assert not y["whole"].requires_grad
    y["y"].sum().backward()
    assert x.grad.tolist() == [2 * scale.item(), 0, 0, scale.item()]
    assert scale.grad.item() == pytest.approx((2 * x[0] + x[3]).item())


def test_nothing_is_taped_where_nobody_asks():
    seen = []
    f = zyg.torch.function(lambda x: (seen.append(zyg.is_traced(x)), x * 2)[1])
    with torch.no_grad():
        assert not f(tensor(2)).requires_grad
    assert not f(tensor(2, grad=False)).requires_grad
    assert f(tensor(2)).requires_grad
    assert seen == [False, False, True]


@pytest.mark.parametrize("grad", [True, False])
def test_what_a_program_writes_stays_its_own(grad):
    buffer = np.zeros(3)

    def program(x):
        y = np.sin(x)
        x[:] = 0.0
        if not grad:
            y = np.copyto(buffer, y) or buffer
        return y

    f = zyg.torch.function(program)
    x = tensor(3, grad=grad)
    before = x.detach().clone()
    first, second = f(x), f(2 * x)
    assert torch.equal(x.detach(), before)
    torch.testing.assert_close(first.detach(), torch.sin(before))
    torch.testing.assert_close(second.detach(), torch.sin(2 * before))


def test_calls_overlap_and_run_in_eight_threads():
    f = zyg.torch.function(lambda x, k: np.sin(x) * x * k)
    xs = [(k + 1) * tensor(3).detach().requires_grad_() for k in range(4)]
    leaves = [x.detach().requires_grad_() for x in xs]
    ys = [f(x, float(k)) for k, x in enumerate(leaves)]
    for k in (2, 0, 3, 1):
        (g,) = torch.autograd.grad(ys[k].sum(), leaves[k], retain_graph=True)
        (again,) = torch.autograd.grad(ys[k].sum(), leaves[k])
        x = leaves[k].detach()
        torch.testing.assert_close(g, k * (torch.cos(x) * x + torch.sin(x)))
        assert torch.equal(g, again)
    failed = []

    def work(k):
        for _ in range(5):
            x = tensor(50).detach().mul(k).requires_grad_()
            f(x, 1.0).sum().backward()
            if not torch.allclose(x.grad, (torch.cos(x) * x + torch.sin(x)).detach()):
                failed.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not failed


def test_a_write_to_an_argument_before_the_way_back_is_told():
    x = tensor(3)
    y = x * 1
    z = zyg.torch.function(lambda y: np.sin(y) * y)(y)
    with torch.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_module_of_a_program():
    def f(p, x):
        hidden = np.tanh(x @ p["layers"][0] + p["bias"])
        return hidden @ p["layers"][1] * p["scale"]

    rng = np.random.default_rng(0)
    parameters = {
        "layers": [rng.normal(size=(2, 8)), rng.normal(size=(8, 1))],
        "bias": np.zeros(8),
        "scale": 1.0,
        "name": "net",
        "steps": 3,
    }
    module = zyg.torch.Module(f, parameters)
    assert sorted(dict(module.named_parameters())) == ["bias", "layers_0", "layers_1", "scale"]
    x = tensor(5, 2)
    assert gradcheck(module, (x,))
    optimiser = torch.optim.Adam(module.parameters(), lr=0.05)
    goal = x.detach().prod(1, keepdim=True)
    losses = []
    for _ in range(100):
        optimiser.zero_grad()
        loss = ((module(x.detach()) - goal) ** 2).mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 50
    twin = zyg.torch.Module(f, parameters)
    twin.load_state_dict(module.state_dict())
    assert torch.equal(twin(x), module(x))


def test_pytorch_in_zyg_in_pytorch():
    net = torch.nn.Linear(3, 3).double()
    inner = zyg.torch.wrap(net)
    f = zyg.torch.function(lambda x: np.sum(inner(np.sin(x)) ** 2))

    def same(x):
        return (net(torch.sin(x)) ** 2).sum()

    x = tensor(3)
    assert gradcheck(f, (x,))
    assert gradgradcheck(f, (x,))
    torch.testing.assert_close(func.hessian(f)(x.detach()), func.hessian(same)(x.detach()))


def test_a_program_of_a_tensor_that_numpy_lacks_is_refused():
    with pytest.raises(zyg.errors.ConversionError, match="bfloat16"):
        ours(tensor(3, dtype=torch.bfloat16))
