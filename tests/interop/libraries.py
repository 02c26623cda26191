"""The kinds of arrays that the tests of this room know, by how one is made of NumPy's and read."""

import importlib
import warnings

import numpy as np
import pytest


def _jax():
    importlib.import_module("jax").config.update("jax_enable_x64", True)
    return importlib.import_module("jax.numpy").asarray


KINDS = {
    "torch": ("torch", lambda: importlib.import_module("torch").asarray),
    "jax": ("jax", _jax),
    "dask": ("dask.array", lambda: lambda a: _import("dask.array").from_array(a, chunks=2)),
    "COO": ("sparse", lambda: _import("sparse").COO.from_numpy),
    "GCXS": ("sparse", lambda: _import("sparse").GCXS.from_numpy),
    "strict": ("array_api_strict", lambda: _import("array_api_strict").asarray),
}


def _import(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


def maker(kind):
    """What makes arrays of this kind of NumPy's; skips where the library is missing."""
    module, make = KINDS[kind]
    for needed in ("array_api_compat", module):
        pytest.importorskip(needed, reason=f"arrays of {kind} need {needed}")
    made = make()
    return lambda a: made(np.copy(a))


def host(x):
    """An array of any kind as NumPy's."""
    x = x.compute() if hasattr(x, "compute") else x
    return np.asarray(x.todense() if hasattr(x, "todense") else x)
