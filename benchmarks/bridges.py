"""Calls between zyg and other differentiators, beside what is theirs alone.

"torch" and "jax" differentiate the same program by themselves, from NumPy's arrays to NumPy's
arrays; "zyg alone" the program in NumPy. The bridges' own cost is what comes on top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import zyg
from benchmarks.harness import Case, Peers, Target, overhead, times_slower

_NETS = (((3, 4, 1), 1, 2.5), ((784, 256, 10), 32, 1.3), ((784, 1024, 10), 128, 1.1))


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    sizes = (3, 100) if quick else (3, 10**6)
    if torch := peers.get("torch"):
        for sizes_of_net, batch, most in _NETS[: 1 if quick else 3]:
            yield _net(torch, sizes_of_net, batch, most)
        yield from (_torch(torch, n) for n in sizes)
        yield from (_in_torch(torch, n) for n in sizes)
        yield _guest("tensor", torch.from_numpy, 100 if quick else 10**4)
    if jax := peers.get("jax"):
        yield from (_jax(jax, n) for n in sizes)
        yield from (_in_jax(jax, n) for n in sizes)
        yield _guest("JAX array", jax.numpy.asarray, 100 if quick else 10**4)
    yield from _labelled()


def _target(n: int, peer: str, microseconds: float, most: float, program: str) -> list[Target]:
    if n <= 3:
        return [overhead(microseconds * 1e-6, peer, program=program)]
    return [times_slower(peer, most, program)]


def _net(torch: Any, sizes: tuple[int, ...], batch: int, most: float) -> Case:
    first, hidden, last = sizes
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(first, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, last)
    ).double()
    wrapped = zyg.torch.wrap(net)
    x = np.random.default_rng(0).normal(size=(batch, first))

    def loss(net: Any, x: Any) -> Any:
        return (net(x) ** 2).sum()

    def by_torch() -> Any:
        leaf = torch.from_numpy(x).requires_grad_()
        found = torch.autograd.grad(loss(net, leaf), [*net.parameters(), leaf])
        return [c.numpy() for c in found]

    def by_zyg() -> Any:
        by_net, by_x = zyg.gradient(loss, wrapped, x)
        return [*by_net.parameters.values(), by_x]

    title = f"net {'-'.join(map(str, sizes))}, batch {batch}, d/d(net, x)"
    return Case(title, {"zyg": by_zyg, "torch": by_torch}, targets=[times_slower("torch", most)])


def _numpy(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


def _torch(torch: Any, n: int) -> Case:
    x = np.random.default_rng(0).random(n)

    def f(x: Any) -> Any:
        return (torch.sin(x) * x).sum()

    wrapped = zyg.torch.wrap(f)

    def by_torch() -> Any:
        leaf = torch.from_numpy(x).requires_grad_()
        return torch.autograd.grad(f(leaf), leaf)[0].numpy()

    programs = {"zyg": lambda: zyg.gradient(wrapped, x)[0], "torch": by_torch}
    targets = _target(n, "torch", 100, 1.15, "zyg")
    return Case(f"sum(sin(x)*x) through torch, {n}", programs, targets=targets)


def _alone(x: Any) -> Callable[[], Any]:
    return lambda: zyg.gradient(_numpy, x)[0]


def _in_torch(torch: Any, n: int) -> Case:
    x = np.random.default_rng(0).random(n)
    f = zyg.torch.function(_numpy)
    leaf = torch.from_numpy(x).requires_grad_()
    programs = {
        "zyg in torch": lambda: torch.autograd.grad(f(leaf), leaf)[0].numpy(),
        "zyg": _alone(x),
    }
    targets = _target(n, "zyg", 100, 1.1, "zyg in torch")
    return Case(f"sum(sin(x)*x) of zyg's in a torch graph, {n}", programs, targets=targets)


def _jax(jax: Any, n: int) -> Case:
    x = np.random.default_rng(0).random(n)
    f = jax.jit(lambda x: (jax.numpy.sin(x) * x).sum())
    gradient, wrapped = jax.jit(jax.grad(f)), zyg.jax.wrap(f)
    both = jax.jit(jax.value_and_grad(f))
    programs = {
        "zyg": lambda: zyg.gradient(wrapped, x)[0],
        "jax": lambda: np.asarray(gradient(x)),
        # A call has a value before anybody asks for a gradient, which by itself JAX leaves out.
        "jax, with the value": lambda: np.asarray(both(x)[1]),
    }
    targets = _target(n, "jax", 150, 1.5, "zyg")
    return Case(f"sum(sin(x)*x) through jitted jax, {n}", programs, targets=targets)


def _in_jax(jax: Any, n: int) -> Case:
    x = np.random.default_rng(0).random(n)
    array = jax.numpy.asarray(x)
    gradient = jax.jit(jax.grad(zyg.jax.function(_numpy)))
    programs = {"zyg in jax": lambda: np.asarray(gradient(array)), "zyg": _alone(x)}
    targets = [] if n <= 3 else [times_slower("zyg", 1.15, "zyg in jax")]
    return Case(f"sum(sin(x)*x) of zyg's in jit(grad), {n}", programs, targets=targets)


def _guest(kind: str, make: Callable[[Any], Any], n: int) -> Case:
    """The program in NumPy's functions, of an array of another library's."""
    x = np.random.default_rng(0).random(n)
    theirs = make(x)
    programs = {"zyg": lambda: np.asarray(zyg.gradient(_numpy, theirs)[0]), "NumPy": _alone(x)}
    targets = [] if n < 10**4 else [times_slower("NumPy", 2.0)]
    return Case(f"sum(sin(x)*x) of a watched {kind}, {n}", programs, targets=targets)


def _labelled() -> Iterator[Case]:
    """Arrays with labels and units, beside the program alone on them: no derivative."""
    x = np.linspace(1, 2, 100)
    for package, kind, numbers, most in _LABELS:
        if find_spec(package):
            made = kind(import_module(package), x)
            yield _of_labels(f"{type(made).__name__} of {package}", made, numbers, x, most)


_LABELS: tuple[tuple[str, Callable[[Any, Any], Any], str, float], ...] = (
    ("pandas", lambda pandas, x: pandas.Series(x), "values", 4),
    ("xarray", lambda xarray, x: xarray.DataArray(x), "values", 2.5),
    ("pint", lambda pint, x: pint.UnitRegistry().Quantity(x, "m"), "magnitude", 4),
    ("astropy", lambda _, x: import_module("astropy.units").Quantity(x, "m"), "value", 4),
)


def _of_labels(name: str, labelled: Any, numbers: str, x: Any, most: float) -> Case:
    def f(x: Any) -> Any:
        return (x * x * 2.0).sum()

    def by_zyg() -> Any:
        return getattr(zyg.gradient(f, labelled)[0], numbers)

    def plain() -> Any:
        f(labelled)
        return 4 * x

    programs = {"zyg": by_zyg, "the program": plain}
    targets = [times_slower("the program", most)]
    return Case(f"sum(2*x*x) of a {name}, 100", programs, targets=targets)
