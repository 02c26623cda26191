"""Adopted modules: libraries as plain as before, and lists of watched numbers made arrays."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

import zyg
from benchmarks.harness import Case, Peers, times_slower

PROGRAM = """
import numpy as np
def by_array(x, y, z, n):
    for _ in range(n):
        a = np.array([x, y, z])
    return a.sum()
"""


def by_stack(x, y, z, n):
    for _ in range(n):
        a = np.stack([x, y, z])
    return a.sum()


def second_copy(package: str) -> Any:
    """The package once more, beside the one that is imported."""
    for name in [n for n in sys.modules if n == package or n.startswith(package + ".")]:
        del sys.modules[name]
    return importlib.import_module(package)


def orbit(sgp4: Any) -> Callable[[], Any]:
    satellite = importlib.import_module("sgp4.model").Satrec.twoline2rv(
        "1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753",
        "2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667",
    )
    return lambda: [satellite.sgp4_tsince(t)[1] for t in range(0, 1440, 60)]


def difference(colour: Any) -> Callable[[], Any]:
    xyz = np.random.default_rng(0).uniform(0.1, 0.8, (24, 3))
    lab = colour.XYZ_to_Lab(xyz)
    return lambda: colour.delta_E(colour.XYZ_to_Lab(1.1 * xyz), lab, method="CIE 2000")


LIBRARIES = {"sgp4": orbit, "colour": difference}


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    for name, program in LIBRARIES.items():
        if find_spec(name) is None:
            continue
        plain = program(importlib.import_module(name))
        adopted = program(second_copy(name))
        with zyg.adopt(name):
            yield Case(
                f"{name}, adopted, no gradient",
                {"zyg": adopted, "plain": plain},
                targets=[times_slower("plain", 1.05)],
                rtol=0.0,
            )
    n = 5 if quick else 200
    module = types.ModuleType("program")
    exec(PROGRAM, vars(module))
    with zyg.adopt(module):
        yield Case(
            f"{n} x np.array([x, y, z]), adopted",
            {
                "zyg": lambda: zyg.gradient(module.by_array, 1.0, 2.0, 3.0, n)[:3],
                "np.stack": lambda: zyg.gradient(by_stack, 1.0, 2.0, 3.0, n)[:3],
            },
            operations=n,
            targets=[times_slower("np.stack", 1.5)],
        )
