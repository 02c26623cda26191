"""Whole functions compiled, value and gradient: beside numba's function alone, JAX and PyTorch.

"numba, value" is the same source under `numba.njit`, without any gradient: what the machine takes
for the function itself. Targets are ratios to it. The functions are those of `loops`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import zyg
from benchmarks import compiled_matrices, compiled_processes, compiled_traced, suites
from benchmarks.compiled_cpp import in_cpp
from benchmarks.compiled_peers import by_hand, in_jax, in_torch
from benchmarks.harness import (
    Case,
    Peers,
    Result,
    Target,
    at_most,
    times_faster,
    times_slower,
)
from benchmarks.loops import PROGRAMS, arguments

# To numba's value; and how many times faster than JAX.
_MOST = {
    "sin_cos_of_elements": 1.8, "branches": 2.5, "log_sum_exp": 2.0, "log_sum_exp_of_vectors": 2.0,
    "logistic_regression": 3.0, "two_layers": 3.5, "dot": 3.0, "largest": 3.0, "factorisation": 2.0,
    "lstm": 2.5, "lorenz": 4.0, "bodies": 4.0, "gauss_seidel": 4.0, "binomial_tree": 4.0,
    "random_field": 4.0, "tridiagonal": 4.0, "hidden_markov": 3.5, "time_warping": 3.5,
    "alignment": 3.5, "eight_schools": 3.5, "recurrent": 3.5, "option": 3.0, "pair_energies": 3.0,
    "kalman": 5.0, "quaternions": 5.0, "matrix_product": 5.0, "stencil": 8.0,
}  # fmt: skip
_AHEAD_OF_JAX = {"branches": 2.0, "log_sum_exp": 1.5, "log_sum_exp_of_vectors": 1.5,
                 "logistic_regression": 1.0, "two_layers": 1.0}  # fmt: skip
_DATA = {  # positions of arguments that nobody differentiates by
    "logistic_regression": {1, 2}, "two_layers": {4, 5}, "factorisation": {2}, "lstm": {4},
    "gaussian_mixture": {4}, "option": {5}, "eight_schools": {3, 4},
}  # fmt: skip
VALUE, NJIT, TRACED, CPP = "zyg, value", "numba, value", "zyg, traced", "C++ by hand"
_AHEAD_OF_CPP = {"gaussian_mixture": 2.0, "lstm": 4.0}


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    for name in PROGRAMS:
        yield case(peers, name, arguments(name, quick))
    r = np.random.default_rng(16).standard_normal
    for n, most in ((20, 3.5), (1000, 3.0)):
        n = n // 10 if quick else n
        other = case(peers, "factorisation", (r(n), r(n), r((n, n))))
        other.targets = [times_slower(NJIT, 1.35, VALUE), times_slower(NJIT, most)]
        if n == 1000:
            other.targets.append(times_faster("jax", 1.5))
        other.title += f" of {n} x {n}"
        yield other
    yield from compiled_matrices.cases(peers, quick)
    yield from suites.cases(quick)
    for name in compiled_traced.LOOPS:
        yield traced(name, compiled_traced.problem(name, quick))
    yield from compiled_processes.cases(quick)
    yield Case("all of these", {"zyg": lambda: None}, targets=[
        _median("to numba's value", NJIT, 3.0), _median("to the traced engine's", TRACED, 150.0),
    ])  # fmt: skip


def case(peers: Peers, name: str, given: tuple[Any, ...]) -> Case:
    function = PROGRAMS[name]
    data = _DATA.get(name, ())
    wrt = tuple(k for k, x in enumerate(given) if _is_real(x) and k not in data)
    compiled = zyg.compile(function, wrt=wrt)
    programs: dict[str, Callable[[], Any]] = {
        "zyg": lambda: zyg.value_and_gradient(compiled, *given),
        VALUE: lambda: _nothing(compiled(*given)),
    }
    if (numba := peers.get("numba")) and name != "tree_network":  # no calls of itself
        jitted = numba.njit(function)
        programs[NJIT] = lambda: _nothing(jitted(*given))
    if written := by_hand.get(name):
        programs["by hand"] = lambda: written(*given)
    if name in in_cpp and (made := in_cpp[name](given)):
        programs[CPP] = made
    if (jax := peers.get("jax")) and name in in_jax:
        programs["jax"] = in_jax[name](jax, given, wrt)
    if (torch := peers.get("torch")) and name in in_torch:
        programs["torch"] = in_torch[name](torch, given, wrt)
    note = "no C++ compiler, so not beside C++" if name in in_cpp and CPP not in programs else ""
    return Case(name.replace("_", " "), programs, targets=_targets(name), rtol=1e-7, note=note)


def traced(name: str, given: tuple[Any, ...]) -> Case:
    """A program beside the traced engine."""
    compiled, plain = zyg.compile(PROGRAMS[name]), compiled_traced.traced(name)
    wrt = tuple(k for k, x in enumerate(given) if _is_real(x))
    programs = {
        "zyg": lambda: _of(zyg.value_and_gradient(compiled, *given), wrt),
        TRACED: lambda: _of(zyg.value_and_gradient(plain, *given, zeros=True), wrt),
    }
    return Case(f"{name.replace('_', ' ')}, traced", programs, rtol=1e-7, repeats=3)


def _median(text: str, other: str, bound: float) -> Target:
    """The median of ratios to another program, of value and gradient."""
    faster = other == TRACED

    def figure(_: Result, group: list[Result]) -> float | None:
        ratios = [r.time("zyg") / r.time(other) for r in group if other in r.samples]
        if not ratios:
            return None
        found = statistics.median(ratios)
        return 1 / found if faster else found

    most = f"at least {bound:g}x faster" if faster else f"at most {bound:g}x"
    return Target("zyg", f"median {text}, {most}", figure, bound, at_least=faster)


def _targets(name: str) -> list[Target]:
    targets = [times_slower(NJIT, 1.35, VALUE)]
    if name in _MOST:
        targets.append(times_slower(NJIT, _MOST[name]))
    if name in _AHEAD_OF_JAX:
        targets.append(times_faster("jax", _AHEAD_OF_JAX[name]))
    if name in _AHEAD_OF_CPP:
        targets.append(times_faster(CPP, _AHEAD_OF_CPP[name]))
    if name == "sin_cos":
        targets = [at_most(1.5e-6)]
    return targets


def _is_real(x: Any) -> bool:
    return isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")


def _of(found: tuple[Any, tuple[Any, ...]], wrt: tuple[int, ...]) -> list[Any]:
    value, gradients = found
    return [value, *(gradients[k] for k in wrt)]


def _nothing(_: Any) -> None:
    return None
