"""Arrays and datasets of xarray: as the same program on plain arrays; labels as they were."""

import numpy as np
import pytest

import zyg
from zyg.errors import ConversionError, PerformanceWarning

xarray = pytest.importorskip(
    "xarray", reason="xarray is not installed: .ci/run tests it where it is"
)

X = np.array([[1.0, 2.0, 3.0], [0.5, 4.0, 6.0]])
V = np.array([0.5, -1.0, 2.0])
W = xarray.DataArray(V, dims="x", coords={"x": list("abc")})
W2 = xarray.DataArray([2.0, 3.0], dims="x", coords={"x": ["c", "b"]})


def labelled(x=X):
    return xarray.DataArray(
        x.copy(), dims=("t", "x"), coords={"t": [10, 20], "x": list("abc")}, name="v",
        attrs={"of": "rain"},
    )  # fmt: skip


def assigned(a):
    a = a.copy()
    a[0] = a[1] * 2
    a.loc[{"x": "b"}] = 1.0
    return (a**2).sum()


PROGRAMS = {
    "sum": (lambda a: (a**2).sum(), lambda x: (x**2).sum()),
    "sumdim": (lambda a: (a.sum("x") ** 2).sum(), lambda x: (x.sum(1) ** 2).sum()),
    "mean": (lambda a: (a.mean("t") ** 2).sum(), lambda x: (x.mean(0) ** 2).sum()),
    "sel": (lambda a: (a.sel(x="b") ** 2).sum(), lambda x: (x[:, 1] ** 2).sum()),
    "isel": (lambda a: (a.isel(t=0) ** 2).sum(), lambda x: (x[0] ** 2).sum()),
    "isel2": (lambda a: a.isel(t=0, x=1) ** 2, lambda x: x[0, 1] ** 2),
    "ufunc": (lambda a: np.sin(a).sum(), lambda x: np.sin(x).sum()),
    "data": (lambda a: np.sum(a.data**2), lambda x: (x**2).sum()),
    "where": (lambda a: a.where(a > 2).sum(), lambda x: x[x > 2].sum()),
    "where2": (lambda a: (a.where(a > 2, 0.0) ** 2).sum(), lambda x: (x[x > 2] ** 2).sum()),
    "xrwhere": (
        lambda a: xarray.where(a > 2, a * a, -a).sum(),
        lambda x: np.where(x > 2, x * x, -x).sum(),
    ),
    "fillna": (
        lambda a: (a.where(a > 2).fillna(3.0) * a).sum(),
        lambda x: (np.where(x > 2, x, 3.0) * x).sum(),
    ),
    "align": (lambda a: (a * W2).sum(), lambda x: (3 * x[:, 1] + 2 * x[:, 2]).sum()),
    "bcast": (lambda a: (a * W).sum(), lambda x: (x * V).sum()),
    "bcast2": (lambda a: ((a - a.mean("t")) ** 2).sum(), lambda x: ((x - x.mean(0)) ** 2).sum()),
    "groupby": (lambda a: (a.groupby("x").mean(...) ** 2).sum(), lambda x: (x.mean(0) ** 2).sum()),
    "groupby2": (
        lambda a: (a.groupby(xarray.DataArray([0, 1, 0], dims="x", name="k")).sum() ** 2).sum(),
        lambda x: ((x[:, 0] + x[:, 2]) ** 2 + x[:, 1] ** 2).sum(),
    ),
    "roll": (
        lambda a: (a * a.roll(x=1, roll_coords=False)).sum(),
        lambda x: (x * np.roll(x, 1, 1)).sum(),
    ),
    "shift": (lambda a: (a * a.shift(x=1)).sum(), lambda x: (x[:, 1:] * x[:, :-1]).sum()),
    "diff": (lambda a: (a.diff("x") ** 2).sum(), lambda x: (np.diff(x, axis=1) ** 2).sum()),
    "dot": (lambda a: (xarray.dot(a, W, dim="x") ** 2).sum(), lambda x: ((x @ V) ** 2).sum()),
    "dot2": (lambda a: (a.dot(a, dim="t") ** 2).sum(), lambda x: ((x * x).sum(0) ** 2).sum()),
    "matmul": (lambda a: ((a @ W) ** 2).sum(), lambda x: ((x @ V) ** 2).sum()),
    "concat": (lambda a: (xarray.concat([a, 2 * a], "t") ** 2).sum(), lambda x: 5 * (x**2).sum()),
    "coarsen": (
        lambda a: (a.drop_vars("x").coarsen(x=3).mean() ** 2).sum(),
        lambda x: (x.mean(1) ** 2).sum(),
    ),
    "cumsum": (lambda a: (a.cumsum("x") ** 2).sum(), lambda x: (x.cumsum(1) ** 2).sum()),
    "cumprod": (lambda a: a.cumprod("x").sum(), lambda x: x.cumprod(1).sum()),
    "std": (lambda a: a.std(), lambda x: x.std()),
    "var": (lambda a: a.var("x", ddof=1).sum(), lambda x: x.var(1, ddof=1).sum()),
    "stack": (
        lambda a: (a.stack(z=("t", "x")) * np.arange(6.0)).sum(),
        lambda x: (x.ravel() * np.arange(6.0)).sum(),
    ),
    "unstack": (lambda a: (a.stack(z=("t", "x")).unstack("z") ** 2).sum(), lambda x: (x**2).sum()),
    "apply_ufunc": (lambda a: xarray.apply_ufunc(np.exp, a).sum(), lambda x: np.exp(x).sum()),
    "apply_core": (
        lambda a: (
            xarray.apply_ufunc(lambda y: np.sum(y**2, axis=-1), a, input_core_dims=[["x"]]) ** 2
        ).sum(),
        lambda x: ((x**2).sum(1) ** 2).sum(),
    ),
    "assign": (
        assigned,
        lambda x: 4 * x[1, 0] ** 2 + 4 * x[1, 2] ** 2 + x[1, 0] ** 2 + x[1, 2] ** 2 + 2,
    ),
    "min": (lambda a: a.min() * a.max(), lambda x: x.min() * x.max()),
    "prod": (lambda a: a.prod(), lambda x: x.prod()),
    "median": (lambda a: (a.median("x") ** 2).sum(), lambda x: (np.median(x, 1) ** 2).sum()),
    "quantile": (lambda a: a.quantile(0.5), lambda x: np.median(x)),
    "transpose": (lambda a: (a.T * a.transpose("x", "t")).sum(), lambda x: (x * x).sum()),
    "rolling": (
        lambda a: (a.rolling(x=2).mean() ** 2).sum(),
        lambda x: (((x[:, 1:] + x[:, :-1]) / 2) ** 2).sum(),
    ),
    "sortby": (
        lambda a: (a.sortby("x", ascending=False) * V).sum(),
        lambda x: (x[:, ::-1] * V).sum(),
    ),
    "argmax": (lambda a: a.isel(a.argmax(...)), lambda x: x.max()),
    "clip": (lambda a: (a.clip(1, 4) ** 2).sum(), lambda x: (np.clip(x, 1, 4) ** 2).sum()),
    "pad": (lambda a: (a.pad(x=1, constant_values=0) ** 2).sum(), lambda x: (x**2).sum()),
    "integrate": (lambda a: a.integrate("t").sum(), lambda x: (5 * (x[0] + x[1])).sum()),
    "weighted": (
        lambda a: (a.weighted(abs(W)).mean("x") ** 2).sum(),
        lambda x: ((x @ np.abs(V) / 3.5) ** 2).sum(),
    ),
    "item": (lambda a: a.isel(t=0, x=0).item() ** 2, lambda x: x[0, 0] ** 2),
    "astype": (
        lambda a: (a.astype("float32") ** 2).sum(),
        lambda x: (x.astype("float32") ** 2).sum(),
    ),
    "dataset": (lambda a: (a.to_dataset()["v"] ** 2).sum(), lambda x: (x**2).sum()),
    "map": (lambda a: a.to_dataset().map(lambda v: v * v)["v"].sum(), lambda x: (x**2).sum()),
    "reduce": (lambda a: (a.reduce(np.sum, "x") ** 2).sum(), lambda x: (x.sum(1) ** 2).sum()),
    "iter": (lambda a: sum((r**2).sum() for r in a), lambda x: (x**2).sum()),
    "expand": (lambda a: (a.expand_dims(z=2) ** 2).sum(), lambda x: 2 * (x**2).sum()),
    "squeeze": (lambda a: (a.isel(t=[0]).squeeze() ** 2).sum(), lambda x: (x[0] ** 2).sum()),
    "drop": (lambda a: (a.drop_sel(x="a") ** 2).sum(), lambda x: (x[:, 1:] ** 2).sum()),
    "reindex": (
        lambda a: (a.reindex(x=["c", "d"], fill_value=5.0) ** 2).sum(),
        lambda x: (x[:, 2] ** 2).sum() + 50,
    ),
    "vindex": (
        lambda a: (
            a.sel(t=xarray.DataArray([10, 20], dims="z"), x=xarray.DataArray(["a", "c"], dims="z"))
            ** 2
        ).sum(),
        lambda x: x[0, 0] ** 2 + x[1, 2] ** 2,
    ),
    "round": (lambda a: (a.round() * a).sum(), lambda x: (np.round(x) * x).sum()),
    "equals": (lambda a: a.sum() if a.equals(a) else 0 * a.sum(), lambda x: x.sum()),
    "resample": (
        lambda a: (
            a.assign_coords(t=np.array(["2020-01-01", "2020-01-02"], "M8[ns]"))
            .resample(t="2D")
            .mean()
            ** 2
        ).sum(),
        lambda x: (x.mean(0) ** 2).sum(),
    ),
    "inplace": (lambda a: [a.__iadd__(1.0), (a**2).sum()][1], lambda x: ((x + 1) ** 2).sum()),
    "broadcastlike": (lambda a: (W.broadcast_like(a) * a).sum(), lambda x: (x * V).sum()),
    "norm": (lambda a: np.sqrt((a**2).sum()), lambda x: np.sqrt((x**2).sum())),
    "numbers": (
        lambda a: (2 * a + 1 / a - a % 2 + a // 2).sum(),
        lambda x: (2 * x + 1 / x - x % 2 + x // 2).sum(),
    ),
    "combine": (
        lambda a: (a.where(a > 2).combine_first(-a) ** 3).sum(),
        lambda x: (np.where(x > 2, x, -x) ** 3).sum(),
    ),
    "cumulative": (lambda a: a.cumulative("x").sum().sum(), lambda x: x.cumsum(1).sum()),
    "idx": (lambda a: a.max() * len(a.idxmax("x")), lambda x: 2 * x.max()),
    "dsmean": (lambda a: a.to_dataset().mean().mean()["v"], lambda x: x.mean()),
    "dsarr": (
        lambda a: (xarray.Dataset({"p": a, "q": 2 * a}).to_array() ** 2).sum(),
        lambda x: 5 * (x**2).sum(),
    ),
    "merge": (
        lambda a: (xarray.merge([a.rename("p"), (a * a).rename("q")])["q"]).sum(),
        lambda x: (x**2).sum(),
    ),
    "einsum": (lambda a: xarray.dot(a, a, W, dim=["t", "x"]), lambda x: (x * x * V).sum()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    f, plain = PROGRAMS[name]
    value, (g,) = zyg.value_and_gradient(f, labelled())
    expected, (by,) = zyg.value_and_gradient(plain, X)
    tolerance = 1e-6 if name == "astype" else 1e-12
    np.testing.assert_allclose(value, expected, rtol=tolerance)
    np.testing.assert_allclose(f(labelled()), expected, rtol=tolerance)
    assert type(value) is type(f(labelled())) or np.ndim(value) == 0
    np.testing.assert_allclose(g.values, by, rtol=tolerance)
    xarray.testing.assert_identical(g.copy(data=X), labelled())


# Against differences: what NumPy has no short word for.
DIFFERENCES = {
    "differentiate": lambda a: (a.differentiate("t") ** 2).sum(),
    "cov": lambda a: xarray.cov(a, W, "x").sum(),
    "corr": lambda a: xarray.corr(a, a.roll(x=1, roll_coords=False)),
    "polyfit": lambda a: (a.polyfit("t", 1).polyfit_coefficients ** 2).sum(),
    "windows": lambda a: (a.rolling(x=2).construct("w").sum("w") ** 2).sum(),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_programs_against_differences(name):
    zyg.check_gradient(lambda a: DIFFERENCES[name](a), labelled(), order=1)


def dataset():
    return xarray.Dataset(
        {"p": ("x", V.copy(), {"unit": "m"}), "q": (("t", "x"), X.copy()), "n": ("x", [1, 2, 3]),
         "word": ("t", ["u", "v"])}, coords={"x": list("abc")}, attrs={"of": "rain"},
    )  # fmt: skip


def test_datasets():
    d = dataset()
    value, (g,) = zyg.value_and_gradient(lambda d: (d.p * d.q * d["n"]).sum(), d)
    n = np.array([1.0, 2.0, 3.0])
    assert float(value) == pytest.approx(np.sum(V * X * n))
    assert set(g.data_vars) == {"p", "q"}
    assert g.p.attrs == {"unit": "m"}
    assert [*g.x.values] == list("abc")
    np.testing.assert_allclose(g.p, X.sum(0) * n)
    np.testing.assert_allclose(g.q, np.broadcast_to(V * n, (2, 3)))
    xarray.testing.assert_identical(d, dataset())
    (g,) = zyg.gradient(lambda d: d.mean("x").q.prod() + d.sel(x="b").p ** 2, d)
    np.testing.assert_allclose(g.p, [0.0, -2.0, 0.0])
    np.testing.assert_allclose(g.q, X.mean(1)[::-1, None] * np.ones(3) / 3)
    y, back = zyg.pullback(lambda d: d[["p", "q"]] * 2, d)
    np.testing.assert_allclose(back(y)[0].q, 4 * X)


def test_other_verbs():
    a = labelled()
    y, y_dot = zyg.pushforward(lambda a: a**2, (a,), (a.T[::-1],))
    np.testing.assert_allclose(y_dot, 2 * X * X)
    assert y_dot.dims == ("t", "x")
    y, back = zyg.pullback(lambda a: a**2, a)
    xarray.testing.assert_identical(back(y.T)[0].copy(data=X), a)
    np.testing.assert_allclose(back(y.T)[0], 2 * X**3)
    np.testing.assert_allclose(back(np.ones((2, 3)))[0], 2 * X)
    np.testing.assert_allclose(zyg.hvp(lambda a: (a**3).sum(), a, a), 6 * X * X)
    slope = zyg.gradient(lambda a: (zyg.gradient(lambda b: (b**3).sum(), a)[0] ** 2).sum(), a)[0]
    np.testing.assert_allclose(slope, 36 * X**3)
    zyg.check_gradient(lambda a: (np.sin(a) * a.cumsum("x")).sum(), a, order=2)
    variable = a.variable
    (g,) = zyg.gradient(lambda v: (v.mean("t") ** 2).sum(), variable)
    assert type(g) is xarray.Variable
    np.testing.assert_allclose(g, np.broadcast_to(X.mean(0), (2, 3)))


@pytest.mark.filterwarnings("ignore:NumPy made an array of objects")  # a sum, without axes
def test_numbers_and_arrays_beside_labels():
    a = labelled()
    for f in (
        lambda w, a: (w * a).sum(),
        lambda w, a: (a * w).sum(),
        lambda w, a: (a @ W * w).sum(),
    ):
        gw, ga = zyg.gradient(f, 2.0, a)
        assert float(gw) == pytest.approx(float(f(1.0, a)))
        np.testing.assert_allclose(ga, zyg.gradient(f, 2.0, a)[1])
    (g,) = zyg.gradient(lambda x: xarray.DataArray(x, dims="x").sum().item() ** 2, V)
    np.testing.assert_allclose(g, np.full(3, 2 * V.sum()))
    (g,) = zyg.gradient(lambda x: (xarray.DataArray(x, dims="x") ** 2).sum(), V)
    np.testing.assert_allclose(g, 2 * V)


@pytest.mark.filterwarnings("ignore:NumPy made an array of objects")
def test_what_xarray_converts_is_right_or_refused():
    a = labelled()
    for f in (
        lambda a: np.sum(a.values**2), lambda a: np.sum(np.asarray(a) ** 2),
        lambda a: (a.to_series() ** 2).sum(), lambda a: (a.to_pandas() ** 2).sum().sum(),
        lambda a: sum(v * v for row in a.to_dict()["data"] for v in row),
        lambda a: xarray.apply_ufunc(
            lambda y: np.sum(y**2), a, input_core_dims=[["x"]], vectorize=True
        ).sum(),
    ):  # fmt: skip
        np.testing.assert_allclose(zyg.gradient(f, a)[0], 2 * X)
    for f in (lambda a: float(a.sum()), lambda a: a.interp(t=15.0).sum()):
        with pytest.raises(ConversionError):
            zyg.gradient(f, a)


def test_values_are_slower_than_data_and_say_so():
    with pytest.warns(PerformanceWarning, match="array of objects"):
        zyg.gradient(lambda a: np.sum(a.values), labelled())
    np.testing.assert_allclose(zyg.gradient(lambda a: np.sum(a.data**2), labelled())[0], 2 * X)
