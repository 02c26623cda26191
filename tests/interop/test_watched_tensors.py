"""Watched tensors in functions of PyTorch's, which PyTorch differentiates."""

import numpy as np
import pytest

import zyg

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("array_api_compat", reason="needs array_api_compat")
F = torch.nn.functional
X = torch.linspace(-1.0, 2.0, 6, dtype=torch.float64).reshape(2, 3)
LINEAR = torch.nn.Linear(3, 2, dtype=torch.float64)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: torch.sum(torch.sin(x) * x), lambda x: torch.sum(F.softplus(x) ** 2),
        lambda x: torch.logsumexp(x, dim=1).sum(), lambda x: torch.topk(x, 2)[0].sum(),
        lambda x: torch.sum(LINEAR(x) ** 2), lambda x: F.mse_loss(torch.tanh(x), X),
        lambda x: torch.cat([x, x * x]).sum(), lambda x: x.relu().sum() + x.softmax(1)[0, 0],
        lambda x: torch.einsum("ij,kj->", x, x), lambda x: torch.max(x, dim=0).values.sum(),
    ],
)  # fmt: skip
def test_functions_of_pytorch_are_differentiated_by_it(f):
    leaf = X.clone().requires_grad_()
    y = f(leaf)
    (expected,) = torch.autograd.grad(y, leaf)
    value, (found,) = zyg.value_and_gradient(f, X)
    assert type(found) is torch.Tensor
    torch.testing.assert_close(value, y.detach())
    torch.testing.assert_close(found, expected)


def test_mixed_with_functions_of_numpy_and_to_second_order():
    def f(x):
        return np.sum(F.softplus(np.sin(x) * 2.0) * np.exp(x))

    def plain(x):
        return np.sum(np.log1p(np.exp(np.sin(x) * 2.0)) * np.exp(x))

    x, v = X[0], X[1]
    torch.testing.assert_close(
        zyg.gradient(f, x)[0], torch.tensor(zyg.gradient(plain, x.numpy())[0])
    )
    expected = zyg.hvp(plain, x.numpy(), v.numpy())
    torch.testing.assert_close(zyg.hvp(f, x, v), torch.tensor(expected))


def test_the_tape_of_a_tensor_is_left_alone():
    x = X.clone().requires_grad_()
    (found,) = zyg.gradient(lambda x: torch.sum(torch.exp(x)), x)
    assert x.grad is None
    assert not found.requires_grad
    torch.testing.assert_close(found, torch.exp(X))
