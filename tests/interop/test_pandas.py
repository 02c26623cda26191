"""Series and frames: as the same program on plain arrays; labels as they were."""

import numpy as np
import pytest

import zyg
from zyg.errors import ConversionError, MissingRuleError

pandas = pytest.importorskip(
    "pandas", reason="pandas is not installed: .ci/run tests it where it is"
)

A, B, C = X = np.array([1.0, 2.0, 4.0])
SERIES = {
    "sum": (lambda s: (s**2).sum(), lambda x: np.sum(x**2)),
    "ufunc": (lambda s: np.exp(s).mean(), lambda x: np.mean(np.exp(x))),
    "elements": (lambda s: s["a"] * s.loc["c"] * s.iloc[1], np.prod),
    "aligned": (
        lambda s: (s * pandas.Series([2.0, 3.0], ["c", "b"])).sum(), lambda x: 3 * x[1] + 2 * x[2]
    ),
    "chosen": (lambda s: (s * s[s > 1]).sum(), lambda x: np.sum(x[1:] ** 2)),
    "cumulative": (lambda s: s.cumsum().sum(), lambda x: np.sum(np.cumsum(x))),
    "product": (lambda s: s.cumprod().iloc[2], np.prod),
    "shifted": (
        lambda s: ((s - s.shift(1)).dropna() ** 2).sum(), lambda x: np.sum(np.diff(x) ** 2)
    ),
    "differences": (lambda s: (s.diff() ** 2).sum(), lambda x: np.sum(np.diff(x) ** 2)),
    "std": (lambda s: s.std(), lambda x: np.std(x, ddof=1)),
    "var": (lambda s: s.var(ddof=0), np.var),
    "filled": (
        lambda s: (s.shift(1).fillna(3.0) * s).sum(),
        lambda x: 3 * x[0] + x[0] * x[1] + x[1] * x[2],
    ),
    "values": (lambda s: np.sum(s.to_numpy() * s.values), lambda x: np.sum(x * x)),
    "sorted": (lambda s: s.sort_values(ascending=False).iloc[0] ** 2, lambda x: x[2] ** 2),
    "together": (lambda s: (pandas.concat([s, 2 * s]) ** 2).sum(), lambda x: 5 * np.sum(x**2)),
    "median": (lambda s: s.median(), np.median),
    "extremes": (lambda s: s.max() - s.min(), lambda x: x[2] - x[0]),
    "reindexed": (lambda s: s.reindex(["c", "d"], fill_value=5.0).prod(), lambda x: 5 * x[2]),
    "grouped": (
        lambda s: (s.groupby([0, 1, 0]).sum() ** 2).sum(),
        lambda x: (x[0] + x[2]) ** 2 + x[1] ** 2,
    ),
    "members": (lambda s: (s[s.isin([1.0, 4.0])] ** 2).sum(), lambda x: x[0] ** 2 + x[2] ** 2),
    "signs": (lambda s: (abs(-s) + 1 / s).sum(), lambda x: np.sum(x + 1 / x)),
    "numbers": (lambda s: sum(v * v for v in s), lambda x: np.sum(x**2)),
}  # fmt: skip


def series():
    return pandas.Series(X.copy(), index=list("abc"), name="s")


@pytest.mark.parametrize("name", SERIES)
def test_series(name):
    f, plain = SERIES[name]
    value, (g,) = zyg.value_and_gradient(f, series())
    expected, (by,) = zyg.value_and_gradient(plain, X)
    assert value == pytest.approx(expected)
    assert value == pytest.approx(f(series()))
    assert type(g) is pandas.Series
    assert (g.name, [*g.index], g.dtype) == ("s", ["a", "b", "c"], np.float64)
    np.testing.assert_allclose(g.to_numpy(), by)


def frame():
    return pandas.DataFrame(
        {
            "x": [1.0, 2.0, 3.0, 4.0], "g": list("uvuv"), "y": [1.0, 0.0, 2.0, 5.0],
            "n": [1, 2, 3, 4],
        },
        index=[10, 20, 30, 40],
    )  # fmt: skip


WEIGHTS = pandas.DataFrame({"g": ["u", "v"], "w": [2.0, 3.0]})
FRAMES = {
    "columns": (lambda d: (d["x"] * d.y).sum(), lambda x, y: x @ y),
    "sums": (lambda d: d[["x", "y"]].sum().prod(), lambda x, y: np.sum(x) * np.sum(y)),
    "means of rows": (
        lambda d: (d[["x", "y"]].mean(axis=1) ** 2).sum(), lambda x, y: np.sum((x + y) ** 2) / 4
    ),
    "groups": (
        lambda d: (d.groupby("g")["x"].mean() ** 2).sum(),
        lambda x, y: np.mean(x[::2]) ** 2 + np.mean(x[1::2]) ** 2,
    ),
    "merged": (
        lambda d: (lambda m: (m["x"] * m["w"] * m["y"]).sum())(d.merge(WEIGHTS, on="g")),
        lambda x, y: np.sum(x * y * np.array([2.0, 3.0, 2.0, 3.0])),
    ),
    "assigned": (lambda d: d.assign(z=d.x**2 * d.y)["z"].mean(), lambda x, y: np.mean(x**2 * y)),
    "set": (
        lambda d: (d.__setitem__("z", d.x**2), d["z"].sum())[1], lambda x, y: np.sum(x**2)
    ),
    "queried": (lambda d: d[d.g == "u"]["x"].prod(), lambda x, y: x[0] * x[2]),
    "located": (lambda d: d.loc[20, "x"] * d.iloc[3]["y"], lambda x, y: x[1] * y[3]),
    "as an array": (
        lambda d: (d[["x", "y"]].to_numpy() ** 2).sum(), lambda x, y: x @ x + y @ y
    ),
    "centred": (
        lambda d: ((d[["x", "y"]] - d[["x", "y"]].mean()) ** 2).sum().sum(),
        lambda x, y: 4 * (np.var(x) + np.var(y)),
    ),
    "transformed": (
        lambda d: (d.groupby("g")["x"].transform(lambda s: s - s.mean()) ** 2).sum(),
        lambda x, y: 2 * (np.var(x[::2]) + np.var(x[1::2])),
    ),
    "aggregated": (
        lambda d: d.agg({"x": "sum", "y": "mean"}).prod(), lambda x, y: np.sum(x) * np.mean(y)
    ),
    "rows": (
        lambda d: d.apply(lambda r: r["x"] * r["y"], axis=1).sum(), lambda x, y: np.sum(x * y)
    ),
    "mapped": (lambda d: d["x"].map(lambda v: v * v).sum(), lambda x, y: x @ x),
    "pivot": (
        lambda d: (
            d.assign(k=[0, 0, 1, 1]).pivot(index="k", columns="g", values="x") ** 2
        ).sum().sum(),
        lambda x, y: x @ x,
    ),
    "evaluated": (lambda d: d[["x", "y"]].eval("x * y + x").sum(), lambda x, y: x @ y + x.sum()),
    "product": (lambda d: d["x"] @ d["y"], lambda x, y: x @ y),
    "ints": (lambda d: (d.x * d.n).sum(), lambda x, y: x @ np.arange(1.0, 5.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.filterwarnings("ignore:NumPy made an array of objects")  # a row of several dtypes
def test_frames(name):
    f, plain = FRAMES[name]
    d = frame()
    value, (g,) = zyg.value_and_gradient(f, d)
    expected, (x, y) = zyg.value_and_gradient(
        plain, d["x"].to_numpy(), d["y"].to_numpy(), zeros=True
    )
    assert value == pytest.approx(expected)
    assert type(g) is pandas.DataFrame
    assert [*g.columns] == ["x", "y"]
    assert [*g.index] == [10, 20, 30, 40]
    np.testing.assert_allclose(g["x"], x)
    np.testing.assert_allclose(g["y"], y)
    pandas.testing.assert_frame_equal(d, frame())


def test_other_verbs():
    s = series()
    y, y_dot = zyg.pushforward(lambda s: s**2, (s,), (s[::-1],))
    np.testing.assert_allclose(y_dot.to_numpy(), 2 * X * X)
    assert [*y_dot.index] == ["a", "b", "c"]
    y, back = zyg.pullback(lambda s: s**2, s)
    assert type(y) is pandas.Series
    np.testing.assert_allclose(back(y)[0].to_numpy(), 2 * X**3)
    np.testing.assert_allclose(zyg.hvp(lambda s: (s**3).sum(), s, s).to_numpy(), 6 * X * X)
    d = frame()
    np.testing.assert_allclose(
        zyg.hvp(lambda d: (d.x**2 * d.y).sum(), d, d)["y"], 2 * d.x.to_numpy() ** 2
    )
    zyg.check_gradient(lambda s: (np.sin(s) * s.cumsum()).sum(), s, order=2)
    trained = s - 0.1 * zyg.gradient(lambda s: (s**2).sum(), s)[0]
    np.testing.assert_allclose(trained.to_numpy(), 0.8 * X)


def test_a_frame_without_floats_has_no_gradient():
    assert zyg.gradient(lambda d, x: x * d["n"].sum(), frame()[["g", "n"]], 2.0) == (None, 10.0)


def test_what_pandas_computes_in_compiled_code_is_refused():
    with pytest.raises((ConversionError, MissingRuleError)):
        zyg.gradient(lambda s: s.rolling(2).sum().sum(), series())
    with pytest.raises(MissingRuleError, match="skew of a column"):
        zyg.gradient(lambda s: s.skew(), series())


CONSTANT = np.array([2.0, 3.0, 5.0])


@pytest.mark.parametrize("x", [2.0, np.float64(2.0), X], ids=["float", "scalar", "array"])
@pytest.mark.parametrize("kind", ["series", "column", "frame"])
def test_watched_numbers_and_arrays_beside_series_and_frames(x, kind):
    labels = pandas.Series(CONSTANT, index=list("abc"), name="s")
    if kind == "frame":
        labels = pandas.DataFrame([CONSTANT] * 2, columns=list("abc"))
    elif kind == "column":
        labels = pandas.Series([2, 3, 5])  # of ints
    plain = labels.to_numpy()
    for op in (
        lambda x, c: x * c, lambda x, c: c * x, lambda x, c: x / c, lambda x, c: c - x,
        lambda x, c: c**x, lambda x, c: np.multiply(x, c), lambda x, c: np.multiply(c, x),
    ):  # fmt: skip
        (g,) = zyg.gradient(lambda x, op=op: np.sum((op(x, labels) ** 2).sum()), x)
        (by,) = zyg.gradient(lambda x, op=op: (op(x, plain) ** 2).sum(), x)
        np.testing.assert_allclose(g, by)


# Missing values

HOLES = np.array([1.0, 2.0, np.nan, 4.0, 3.5, 0.5])
MORE = np.array([2.0, np.nan, 1.0, 5.0, 2.5, 1.5])
NUMBERS = {
    "sum": lambda s: s.sum(), "mean": lambda s: s.mean(), "std": lambda s: s.std(),
    "var": lambda s: s.var(), "median": lambda s: s.median(), "min": lambda s: s.min(),
    "max": lambda s: s.max(), "prod": lambda s: s.prod(), "corr": lambda s: s.corr(s * s),
    "cov": lambda s: s.cov(s * s), "autocorr": lambda s: s.autocorr(),
    "dropped": lambda s: (s.dropna() ** 2).sum(), "forward": lambda s: (s.ffill() ** 2).sum(),
    "filled": lambda s: (s.fillna(s.mean()) ** 2).sum(),
    "chosen": lambda s: (s[pandas.notna(s)] ** 2).sum(),
    "backward": lambda s: (s.bfill() ** 2).sum(), "cumulative": lambda s: s.cumsum().sum(),
    "grouped": lambda s: (s.groupby([0, 0, 1, 1, 0, 1]).mean() ** 2).sum(),
    "array": lambda s: np.sum(np.where(pandas.isna(s.to_numpy()), 0.0, s.to_numpy()) ** 2),
    "replaced": lambda s: (s.replace(np.nan, 2.0) ** 2).sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_missing_is_left_out_as_pandas_does(name):
    f = NUMBERS[name]
    value, (g,) = zyg.value_and_gradient(f, pandas.Series(HOLES))
    assert value == pytest.approx(f(pandas.Series(HOLES)))
    present = ~np.isnan(HOLES)
    by = []
    for k in np.flatnonzero(present):
        d = np.where(np.arange(6) == k, 1e-6, 0.0)
        by.append((f(pandas.Series(HOLES + d)) - f(pandas.Series(HOLES - d))) / 2e-6)
    np.testing.assert_allclose(g.to_numpy()[present], by, atol=1e-6)


ANSWERS = {
    **{name: (lambda x, name=name: getattr(x, name)()) for name in (
        "sem", "skew", "kurt", "count", "nunique", "cumsum", "cumprod", "cummax", "cummin", "diff",
        "pct_change", "abs", "dropna", "ffill", "bfill", "interpolate", "isna", "notna", "rank",
        "idxmax", "idxmin", "describe", "mode", "value_counts", "all", "any", "duplicated",
        "drop_duplicates", "sum", "mean", "std", "median", "min", "max", "prod", "var",
    )},
    "no skipping": lambda x: x.sum(skipna=False),
    "least count": lambda x: x.sum(min_count=8),
    "members": lambda x: x.isin([1.0, np.nan]),
    "rolling": lambda x: x.rolling(2).mean(), "ewm": lambda x: x.ewm(2).mean(),
    "expanding": lambda x: x.expanding().mean(), "clip": lambda x: x.clip(1.0, 3.0),
    "where": lambda x: x.where(x > 1), "mask": lambda x: x.mask(x > 1),
    "quantile": lambda x: x.quantile(0.3), "shift": lambda x: x.shift(1),
    "added": lambda x: x.add(x.shift(1), fill_value=0.0), "equal": lambda x: x.equals(x * 1),
    "counts": lambda x: x.groupby([0, 0, 1, 1, 0, 1]).count(),
    "isna": lambda x: pandas.isna(x), "together": lambda x: pandas.concat([x, x]).mean(),
    "correlation": lambda x: x.corr(x) if x.ndim == 1 else x.corr(),
    "with": lambda x: x.corrwith(x["a"]) if x.ndim == 2 else x.count(),
    "rows": lambda x: x.mean(axis=1) if x.ndim == 2 else x.mean(),
}  # fmt: skip
RIGHT = {
    "count", "cumsum", "cumprod", "diff", "pct_change", "abs", "dropna", "ffill", "bfill", "isna",
    "notna", "sum", "mean", "std", "median", "min", "max", "prod", "var", "no skipping", "where",
    "least count", "clip", "mask", "shift", "added", "counts", "together", "with",
    "rows",
}  # fmt: skip


def plainly(y):
    """The plain numbers of an answer, and its labels."""
    if isinstance(y, pandas.DataFrame):
        return [plainly(y.iloc[:, k]) for k in range(y.shape[1])]
    if isinstance(y, pandas.Series):
        return [*y.index], [float(zyg.stop_gradient(v)) for v in y]
    return float(zyg.stop_gradient(y))


def close(y, expected):
    if isinstance(y, (list, tuple)) and isinstance(y[0], (list, tuple)):
        assert len(y) == len(expected)
        for a, b in zip(y, expected, strict=True):
            close(a, b)
    elif isinstance(y, list) and not isinstance(y[0], float):
        assert y == expected
    else:
        np.testing.assert_allclose(y, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:NumPy made an array of objects")
@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("frame", [False, True])
def test_an_answer_about_what_is_missing_is_that_of_pandas_or_none(name, frame):
    x = pandas.DataFrame({"a": HOLES, "b": MORE}) if frame else pandas.Series(HOLES)
    seen = []

    def f(x):
        seen.append(plainly(ANSWERS[name](x)))
        return np.sum(x["a"] if frame else x)

    try:
        zyg.gradient(f, x)
    except Exception:
        assert name not in RIGHT
        if not seen:
            return
    close(seen[0], plainly(ANSWERS[name](x)))


VALUES = {
    "sum": lambda v: v.sum(), "mean": lambda v: v.mean(), "outer": lambda v: v[:, None] * v,
    "matrix": lambda v: v.reshape(-1, 1) @ v.reshape(1, -1), "std": lambda v: v.std(),
    "cumsum": lambda v: v.cumsum(), "clip": lambda v: v.clip(1.7, 2.5), "T": lambda v: v.T * v,
    "mask": lambda v: v[v > 1.7], "dot": lambda v: v.dot(np.ones(v.size)),
    "prod": lambda v: v.prod(),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_the_values_of_a_series_are_an_array_to_who_asks_them(name):
    x = np.array([1.5, 2.0, 3.0])

    def loss(v):
        return np.sum(np.sin(VALUES[name](v)))

    value, (bar,) = zyg.value_and_gradient(lambda s: loss(s.values), pandas.Series(x))
    assert value == loss(x)
    np.testing.assert_allclose(bar.to_numpy(), zyg.gradient(loss, x)[0])


def test_a_series_has_no_more_attributes_than_an_array():
    with pytest.raises(AttributeError, match="no attribute 'totals'"):
        zyg.gradient(lambda s: s.values.totals(), pandas.Series([1.0]))
