"""
PyTorch inside NumPy
====================

A PyTorch net inside a NumPy simulation, trained by one of PyTorch's optimisers.

::

    pip install -e '.[examples-all]' && python examples/torch_in_numpy.py  # takes seconds

A ball falls through air whose drag nobody has measured. Its equation of motion is a loop in NumPy;
the drag in it is a small `nn.Module`. The net is fitted to the observed path: zyg differentiates
the loop and calls PyTorch for its part, Adam makes the steps. Needs PyTorch.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import torch

import zyg

GRAVITY, STEP, STEPS = 9.81, 0.1, 20


def path(drag, start):
    """Heights of a ball that is let go at these speeds, by semi-implicit Euler steps."""
    height, speed = np.zeros_like(start), start
    heights = []
    for _ in range(STEPS):
        speed = speed + STEP * (GRAVITY - drag(speed))
        height = height + STEP * speed
        heights.append(height)
    return np.stack(heights)


def true_drag(speed):
    return 0.8 * speed + 0.15 * speed * np.abs(speed)


def main():
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
    ).double()
    net = zyg.torch.wrap(module)
    optimiser = torch.optim.Adam(module.parameters(), lr=0.05)
    starts = np.array([0.0, 2.0, 5.0, 8.0])
    observed = path(true_drag, starts)

    def drag(net, speed):
        return 10 * net(speed[:, None] / 5)[:, 0]

    def loss(net):
        return np.mean((path(lambda speed: drag(net, speed), starts) - observed) ** 2)

    first = loss(net)
    for _ in range(120):
        optimiser.zero_grad()
        (by_net,) = zyg.gradient(loss, net)
        net.accumulate(by_net)
        optimiser.step()
    last = loss(net)
    speeds = np.linspace(2, 7, 6)
    print(f"mean square of the error: {first:.3g} at first, {last:.3g} when fitted")
    for v, d in zip(speeds, drag(net, speeds), strict=True):
        print(f"drag at {v:.0f} m/s: {d:5.2f}, in truth {true_drag(v):5.2f}")
    axes = plt.figure(figsize=(6, 4), layout="constrained").subplots()
    axes.plot(speeds, true_drag(speeds), "k--", label="truth")
    axes.plot(speeds, drag(net, speeds), "o-", label="the net, fitted")
    axes.set(xlabel="speed, m/s", ylabel="drag, m/s²", title="a drag that was never measured")
    axes.legend()
    assert last < first / 100


# %%
# The run
# -------

if __name__ == "__main__":
    main()
    plt.show()
