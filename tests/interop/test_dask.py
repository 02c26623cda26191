"""Dask at scale: gradients that stay lazy and in chunks, one pass over the data, memory."""

import subprocess
import sys

import numpy as np
import pytest

import zyg

da = pytest.importorskip("dask.array", reason="needs dask")
pytest.importorskip("array_api_compat", reason="needs array_api_compat")
X = np.random.default_rng(0).normal(size=(400, 5))
W = np.linspace(0.1, 0.5, 5)


class Counted:
    """Data in four blocks, which count how often one is made."""

    def __init__(self, chunks=(100, 5)):
        self.made = 0
        blocks = da.from_array(X, chunks=chunks)
        self.array = blocks.map_blocks(self._block, dtype=float, meta=np.empty((0, 0)))

    def _block(self, block):
        self.made += 1
        return block


def centred(x):
    z = (x - np.mean(x, axis=0)) / np.std(x, axis=0)
    return np.sum(np.tanh(z) ** 2 * np.exp(-x))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.sin(x) ** 2 * np.exp(-x)), centred,
        lambda x: np.sum((x @ W - 1.0) ** 2), lambda x: np.sum(np.broadcast_to(W, x.shape) * x),
        lambda x: np.mean(np.where(x > 0, np.log(x), x)), lambda x: np.max(np.sum(x * x, axis=1)),
    ],
)  # fmt: skip
def test_building_a_gradient_computes_nothing_and_keeps_the_chunks(f):
    data = Counted()
    value, (found,) = zyg.value_and_gradient(f, data.array)
    assert data.made == 0
    assert found.chunks == data.array.chunks
    with np.errstate(all="ignore"):
        expected = zyg.gradient(f, X)[0]
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(value.compute(), f(X))


def net(data, p):
    return np.mean((np.tanh(data @ p["w"] + p["b"]) @ p["v"]) ** 2)


@pytest.mark.parametrize(
    ("f", "parameters"),
    [
        (lambda x, w: np.mean((x @ w - 1.0) ** 2), W),
        (lambda x, w: np.mean(np.tanh(x @ w[:5] + w[5]) ** 2), np.arange(6.0) / 6),
        (lambda x, s: np.mean(np.sin(x * s) * s), 0.7),
        (net, {"w": np.ones((5, 4)) / 5, "b": np.zeros(4), "v": np.arange(4.0)}),
    ],
)
def test_parameters_of_numpy_take_one_pass_over_the_data(f, parameters):
    data = Counted()
    (found,) = zyg.gradient(lambda p: f(data.array, p), parameters)
    assert data.made == 4
    (expected,) = zyg.gradient(lambda p: f(X, p), parameters)
    a, b = zyg.flatten(found)[0], zyg.flatten(expected)[0]
    assert type(a) is type(b)
    np.testing.assert_allclose(a, b, rtol=1e-12)


PARTS = {
    "slices": lambda x, w: x @ w[0, :3] + w[1, 3],
    "twice the same": lambda x, w: x @ w[0][np.array([0, 0, 3])],
    "steps back": lambda x, w: x @ w[1, ::-1][:3],
    "a transpose": lambda x, w: (x @ w.T[1:]) * w[0, 0],
    "a reshape": lambda x, w: x @ w.reshape(4, 2)[:3],
    "a diagonal": lambda x, w: x[:, :2] @ np.diagonal(w),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, w: zyg.hvp(f, w, np.cos(w)),
        lambda f, w: zyg.gradient(lambda w: np.sum(zyg.gradient(f, w)[0] ** 2), w)[0],
        lambda f, w: zyg.hvp(lambda w: np.sum(zyg.gradient(f, w)[0] ** 2), w, np.cos(w)),
    ],
    ids=["forward over reverse", "reverse over reverse", "third order"],
)
def test_higher_derivatives_by_parts_of_a_parameter_beside_data_of_dask(name, derivative):
    w = np.random.default_rng(2).normal(size=(2, 4))
    x = np.random.default_rng(3).normal(size=(6, 3))

    def of(data):
        return derivative(lambda w: np.sum(np.tanh(PARTS[name](data, w)) ** 3), w)

    found, wanted = of(da.from_array(x, chunks=2)), of(x)
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-11, atol=1e-13)


@pytest.mark.filterwarnings("ignore:divide by zero")  # in a chunk, where no gradient is around
def test_an_exact_zero_stays_zero_in_each_chunk():
    x = np.array([0.0, 4.0, 0.0, 1.0])
    f = lambda x: np.sum(np.where(x > 0.5, np.sqrt(x), 0.0))  # noqa: E731
    (found,) = zyg.gradient(f, da.from_array(x, chunks=2))
    np.testing.assert_allclose(found.compute(), [0.0, 0.25, 0.0, 0.5])
    with zyg.config(strong_zero=False), np.errstate(all="ignore"):
        (found,) = zyg.gradient(f, da.from_array(x, chunks=2))
        assert np.isnan(found.compute()).any()


def test_unknown_chunks_are_refused():
    x = da.from_array(X, chunks=100)
    with pytest.raises(zyg.errors.StructureError, match="unknown chunks"):
        zyg.gradient(np.sum, x[x[:, 0] > 0])


def test_what_a_block_raises_is_raised_as_it_is():
    def bad(block):
        raise RuntimeError("a block that fails")

    x = da.from_array(X, chunks=100).map_blocks(bad, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(RuntimeError, match="a block that fails"):
        zyg.gradient(lambda w: np.sum(x @ w), W)


@pytest.mark.slow
def test_the_peak_of_memory_is_that_of_a_few_chunks():
    text = """
import tracemalloc
import dask, numpy as np, zyg
import dask.array as da
dask.config.set(scheduler="threads", num_workers=2)
n, chunks = 20_000_000, 100
x = da.arange(n, chunks=n // chunks, dtype=float) / n
tracemalloc.start()
value, (g,) = zyg.value_and_gradient(lambda x: np.sum(np.sin(x) ** 2 * np.exp(-x)), x)
dask.compute(value, np.sqrt((g * g).sum()))
peak = tracemalloc.get_traced_memory()[1] / 1e6
print(peak)
assert peak < 50, peak  # of 160 MB
"""
    subprocess.run([sys.executable, "-c", text], check=True)


@pytest.mark.slow
def test_on_a_cluster():
    distributed = pytest.importorskip("distributed", reason="needs distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        x = da.from_array(X, chunks=100)
        (found,) = zyg.gradient(lambda w: np.mean((np.tanh(x @ w) - 1.0) ** 2), W)
        (by_x,) = zyg.gradient(lambda x: np.sum(np.sin(x) ** 2), x)
        np.testing.assert_allclose(by_x.compute(), np.sin(2 * X), rtol=1e-12)
    expected = zyg.gradient(lambda w: np.mean((np.tanh(X @ w) - 1.0) ** 2), W)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


LABELLED = {
    "sums": (lambda a: (a**2).sum(), lambda x: np.sum(x**2)),
    "means": (lambda a: (a.mean("t") ** 2).sum(), lambda x: np.sum(x.mean(0) ** 2)),
    "selected": (lambda a: (a.sel(t=2) ** 2).sum(), lambda x: np.sum(x[1] ** 2)),
    "ufuncs": (lambda a: np.sin(a).sum(), lambda x: np.sum(np.sin(x))),
    "with NumPy's": (lambda a: (a * np.arange(4.0)).sum(), lambda x: np.sum(x * np.arange(4.0))),
}


@pytest.mark.parametrize("name", LABELLED)
def test_xarray_over_dask_stays_lazy(name):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    f, plain = LABELLED[name]
    x = np.arange(12.0).reshape(3, 4) + 1
    lazy = da.from_array(x, chunks=(2, 2))
    a = xarray.DataArray(lazy, dims=("t", "s"), coords={"t": [1, 2, 3]}, name="a")
    (g,) = zyg.gradient(f, a)
    assert type(g) is xarray.DataArray
    assert g.chunks == a.chunks
    assert (g.name, g.dims) == ("a", ("t", "s"))
    np.testing.assert_allclose(g.values, zyg.gradient(plain, x)[0])
