"""A cluster of Dask inside this process, for the quick loop; test_distributed.py has real ones."""

import functools

import dask
import distributed
import numpy as np
import pytest

import zyg
import zyg.distributed
from zyg.errors import ConversionError

from .test_distributed import PROGRAMS, Sequential, X


@pytest.fixture(scope="module")
def raw():
    options = {"threads_per_worker": 2, "dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=1, processes=False, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("keep", ["worker", "recompute"])
def test_the_gradients_are_those_of_the_sequential_programs(raw, keep):
    client = zyg.distributed.wrap_client(raw, keep=keep)
    for program in PROGRAMS:
        (g,) = zyg.gradient(functools.partial(program, client), X)
        (g0,) = zyg.gradient(functools.partial(program, Sequential()), X)

        np.testing.assert_allclose(g, g0, rtol=1e-13, atol=1e-13)


@pytest.mark.filterwarnings("ignore::zyg.errors.TextWarning")  # in Dask's own message
@pytest.mark.parametrize(
    "f",
    [
        lambda raw, x: raw.submit(np.sin, x).result(),
        lambda raw, x: raw.submit(lambda k: k * x, 2.0).result(),
        lambda raw, x: raw.gather(raw.map(np.sin, [x, x]))[0],
        lambda raw, x: raw.compute(dask.delayed(np.sin)(x)).result(),
        lambda raw, x: dask.delayed(np.sin)(x).compute(),
    ],
)
def test_the_client_itself_refuses_and_the_bridge_is_named(raw, f):
    with pytest.raises(ConversionError, match=r"zyg\.distributed\.wrap_client\(client\)"):
        zyg.gradient(functools.partial(f, raw), 1.5)
