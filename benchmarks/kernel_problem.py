"""A scalar function at arrays, and the program of each system that gives its value and gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import zyg
from benchmarks.harness import Peers

Program = Callable[[], Any]
RTOL = {np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-9}


def owned(stack: np.ndarray, dtype: Any = np.float32) -> list[np.ndarray]:
    """The arrays of a stack, each with memory of its own: what the tracer keeps, it copies else."""
    return [x.astype(dtype) for x in stack]


@dataclass
class Problem:
    """The gradient of a scalar function at arrays, some of which are constant.

    The programs of peers are a dict, which is empty where there is no such peer.
    """

    scalar: Callable[..., Any]
    on_arrays: Callable[..., Any]  # the same of a module like NumPy, and arrays
    wrt: list[np.ndarray]
    y_bar: np.ndarray
    constants: list[np.ndarray] = field(default_factory=list)

    def traced(self, mode: str = "auto") -> Program:
        def program() -> Any:
            _y, back = zyg.pullback(
                lambda *xs: zyg.broadcast(self.scalar, *xs, *self.constants, mode=mode), *self.wrt
            )
            return back(self.y_bar)

        return program

    def one_pass(self) -> Program:
        F = zyg.elementwise(self.scalar)  # noqa: N806 - as in its docstring
        return lambda: F.one_pass(self.y_bar, *self.wrt, *self.constants)[1][: len(self.wrt)]

    def numpy(self) -> Program:
        def program() -> None:
            self.on_arrays(np, *self.wrt, *self.constants)

        return program

    def autograd(self, peers: Peers) -> dict[str, Program]:
        if not peers.get("autograd"):
            return {}
        import autograd.numpy as anp
        from autograd.differential_operators import make_vjp

        places = [*range(len(self.wrt))]
        vjp = make_vjp(lambda *xs: self.on_arrays(anp, *xs, *self.constants), places)
        return {"autograd": lambda: vjp(*self.wrt)[0](self.y_bar)}

    def torch(self, peers: Peers) -> dict[str, Program]:
        return {"torch": self._by_torch(torch, False)} if (torch := peers.get("torch")) else {}

    def torch_compile(self, peers: Peers) -> dict[str, Program]:
        """With torch.compile, where there is a compiler for it."""
        torch = peers.get("torch")
        if not torch:
            return {}
        program = self._by_torch(torch, True)
        try:
            program()
        except Exception as error:  # without a compiler: another one in every version
            peers.skipped["torch.compile"] = f"fails ({str(error).strip().splitlines()[0]})"
            return {}
        return {"torch.compile": program}

    def _by_torch(self, torch: Any, compiled: bool) -> Program:
        at = [torch.from_numpy(x).requires_grad_() for x in self.wrt]
        y_bar, *constants = map(torch.from_numpy, (self.y_bar, *self.constants))

        def f(*xs):
            return self.on_arrays(torch, *xs, *constants)

        f = torch.compile(f, dynamic=False) if compiled else f
        return lambda: [x_bar.numpy() for x_bar in torch.autograd.grad(f(*at), at, y_bar)]

    def jax(self, peers: Peers) -> dict[str, Program]:
        """The value and the gradient by two programs, and by one."""
        jax = peers.get("jax")
        if not jax:
            return {}
        at, constants, y_bar = jax.tree.map(
            jax.numpy.asarray, (self.wrt, self.constants, self.y_bar)
        )

        def forward(at, constants):
            return jax.vjp(lambda *xs: self.on_arrays(jax.numpy, *xs, *constants), *at)

        def both(at, constants, y_bar):
            y, back = forward(at, constants)
            return y, back(y_bar)

        def pull(back, y_bar):
            return back(y_bar)

        first, second, only = map(jax.jit, (forward, pull, both))

        def two_programs() -> Any:
            y, back = first(at, constants)
            return [*map(np.asarray, jax.block_until_ready((y, second(back, y_bar)))[1])]

        def one_program() -> Any:
            return [*map(np.asarray, jax.block_until_ready(only(at, constants, y_bar))[1])]

        return {"jax, two programs": two_programs, "jax, one program": one_program}
