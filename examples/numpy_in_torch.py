"""
NumPy inside PyTorch
====================

A Python program as a layer of a PyTorch model.

::

    pip install -e '.[examples-all]' && python examples/numpy_in_torch.py  # takes seconds

A spring's position is seen through a lens that distorts. The model is a physical program in plain
Python, with parameters of its own, and a net of PyTorch's on top; both are trained together by
Adam, and second derivatives go through the whole. Needs PyTorch.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import torch

import zyg


def spring(p, times):
    """The positions of a damped spring: a loop of its own steps, in as many as it wants."""
    position, speed, now = 1.0, 0.0, 0.0
    found = []
    for time in times:
        while now < time - 1e-9:
            step = min(0.05, time - now)
            speed = speed - step * (p["stiffness"] * position + p["damping"] * speed)
            position = position + step * speed
            now += step
        found.append(position)
    return np.stack(found)


class Model(torch.nn.Module):
    def __init__(self, stiffness, damping):
        super().__init__()
        guess = {"stiffness": stiffness, "damping": damping}
        self.spring = zyg.torch.Module(spring, guess)
        self.lens = torch.nn.Sequential(
            torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
        ).double()

    def forward(self, times):
        position = self.spring(times)[:, None]
        return (position + self.lens(position))[:, 0]


def main():
    torch.manual_seed(0)
    times = np.linspace(0.1, 4, 30)
    seen = spring({"stiffness": 5.0, "damping": 0.6}, times)
    observed = torch.from_numpy(seen + 0.2 * seen**3)
    model = Model(stiffness=4.0, damping=0.3)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(150):
        optimiser.zero_grad()
        loss = ((model(times) - observed) ** 2).mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    physical = {name: p.item() for name, p in model.spring.named_parameters()}
    print(f"loss {losses[0]:.3g} -> {losses[-1]:.3g}; {physical}")

    def residual(stiffness, damping):
        x = spring_layer({"stiffness": stiffness, "damping": damping}, times)
        return ((x - torch.from_numpy(seen)) ** 2).sum()

    spring_layer = zyg.torch.function(spring)
    at = torch.tensor([5.0, 0.6]).double()
    curvature = torch.func.jacrev(torch.func.jacrev(lambda p: residual(p[0], p[1])))(at)
    print("curvature of the fit at the true parameters:", curvature.numpy().round(2).tolist())
    axes = plt.figure(figsize=(6, 4), layout="constrained").subplots()
    axes.plot(times, observed, "k.", label="observed")
    axes.plot(times, model(times).detach(), label="the model, fitted")
    axes.plot(times, seen, "--", label="the spring, without the lens")
    axes.set(xlabel="time, s", ylabel="position", title="a spring, seen through a lens")
    axes.legend()
    assert losses[-1] < losses[0] / 100
    assert abs(physical["stiffness"] - 5.0) < 0.3
    assert torch.linalg.eigvalsh(curvature).min() > 0


# %%
# The run
# -------

if __name__ == "__main__":
    main()
    plt.show()
