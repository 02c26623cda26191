"""Arrays with labels, units, masks and places: as the same program on their plain arrays."""

import numpy as np
import pytest
import scipy.sparse

import zyg
import zyg.scipy.optimize
from zyg.errors import MissingRuleError, StructureError

X = np.array([[1.0, 2.0, 3.0], [0.5, 4.0, 6.0]])
MASK = np.array([[False, True, False], [False, True, False]])
HIDDEN = np.where(MASK, np.nan, X)
PLACES = X * np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
V = np.array([0.5, -1.0, 2.0])


def masked():
    return np.ma.masked_array(HIDDEN.copy(), MASK, fill_value=7.0)


MASKED = {
    "sum": (lambda x: (x**2).sum(), lambda x: (x[~MASK] ** 2).sum()),
    "mean": (lambda x: x.mean(), lambda x: x[~MASK].mean()),
    "by columns": (lambda x: (x.mean(axis=0) ** 2).sum(), lambda x: np.sum(x.mean(0)[[0, 2]] ** 2)),
    "log": (lambda x: np.log(x).sum(), lambda x: np.log(x[~MASK]).sum()),
    "std": (lambda x: np.std(x), lambda x: np.std(x[~MASK])),
    "var": (lambda x: x.var(axis=1, ddof=1).sum(), lambda x: np.sum((x[:, 0] - x[:, 2]) ** 2) / 2),
    "extremes": (lambda x: x.max() * x.min(), lambda x: x[~MASK].max() * x[~MASK].min()),
    "prod": (lambda x: x.prod(), lambda x: np.prod(x[~MASK])),
    "with an array": (lambda x: (x * V).mean(), lambda x: (x * V)[~MASK].mean()),
    "chosen": (lambda x: x[x > 0.7].sum(), lambda x: x[0, 0] + x[0, 2] + x[1, 2]),
    "filled": (lambda x: np.sum(x.filled(0.0) ** 3), lambda x: np.sum(x[~MASK] ** 3)),
    "compressed": (lambda x: x.compressed() @ np.arange(4.0), lambda x: x[~MASK] @ np.arange(4.0)),
    "rows": (lambda x: sum(r.sum() for r in x), lambda x: x[~MASK].sum()),
    "reshaped": (lambda x: x.reshape(3, 2).T[0].sum(), lambda x: x[0, 0] + x[0, 2]),
    "element": (lambda x: x[1, 2] ** 2, lambda x: x[1, 2] ** 2),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_arrays(name):
    f, plain = MASKED[name]
    value, (g,) = zyg.value_and_gradient(f, masked())
    expected, (by,) = zyg.value_and_gradient(plain, X)
    assert value == pytest.approx(expected) == f(masked())
    assert type(g) is np.ma.MaskedArray
    assert np.array_equal(g.mask, MASK)
    assert g.fill_value == 7.0
    np.testing.assert_allclose(g.filled(0.0), np.where(MASK, 0.0, by))


@pytest.mark.parametrize("x", [2.0, X], ids=["number", "array"])
def test_watched_values_beside_masked_arrays(x):
    for op in (lambda x, m: x * m, lambda x, m: x - m, lambda x, m: np.multiply(m, x)):
        (g,) = zyg.gradient(lambda x, op=op: (op(x, masked()) ** 2).sum(), x)
        (by,) = zyg.gradient(lambda x, op=op: (op(x, X) ** 2)[~MASK].sum(), x)
        np.testing.assert_allclose(g, by)


def test_what_masked_arrays_do_not_know_is_refused_by_name():
    with pytest.raises(MissingRuleError, match=r"np\.cumsum of a masked array"):
        zyg.gradient(lambda x: np.cumsum(x).sum(), masked())
    with pytest.raises(MissingRuleError, match=r"np\.matmul, by __call__"):
        zyg.gradient(lambda x: np.matmul(x, x.T).sum(), masked())


def test_arrays_in_files_are_read_as_arrays(tmp_path):
    x = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=(2, 3))
    x[:] = X
    for f in (lambda x: np.sum(np.sin(x) * x), lambda x: (x**2).mean(), lambda x: x[0] @ x[1]):
        (g,) = zyg.gradient(f, x)
        assert type(g) is np.ndarray
        np.testing.assert_allclose(g, zyg.gradient(f, X)[0])
    (g, gw) = zyg.gradient(lambda x, w: np.sum(x[0] * w), x, V)
    np.testing.assert_allclose(g, [V, 0 * V])
    np.testing.assert_allclose(gw, X[0])
    np.testing.assert_allclose(
        zyg.gradient(lambda w: np.sum(x * w) + np.sum(w * x), V)[0], 2 * X.sum(0)
    )
    np.testing.assert_allclose(zyg.hvp(lambda x: np.sum(x**3), x, X), 6 * X * X)
    assert type(x) is np.memmap
    assert x.flags.writeable


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_is_refused():
    with pytest.raises(StructureError, match="cannot watch a matrix"):
        zyg.gradient(np.sum, np.matrix(X))


SPARSE = [f"{kind}_{form}" for kind in ("csr", "csc", "coo") for form in ("array", "matrix")]


@pytest.mark.parametrize("kind", SPARSE)
def test_sparse_matrices(kind):
    a = getattr(scipy.sparse, kind)(PLACES)
    programs = [
        (lambda a, v: np.sum(np.sin(a @ v)),) * 2,
        (lambda a, v: np.sum((v[:2] @ a) ** 2),) * 2,
        (lambda a, v: (2 * a).sum() * v[0], lambda a, v: 2 * np.sum(a) * v[0]),
        (lambda a, v: np.sum(a.multiply(v).sum(axis=1) ** 2), lambda a, v: np.sum((a @ v) ** 2)),
        (lambda a, v: np.sum(a.toarray() ** 2) * v[1], lambda a, v: np.sum(a**2) * v[1]),
        (lambda a, v: np.sum((a.T @ v[:2]) ** 3), lambda a, v: np.sum((a.T @ v[:2]) ** 3)),
    ]
    for f, dense in programs:
        y, (g, gv) = zyg.value_and_gradient(f, a, V)
        expected, (by, by_v) = zyg.value_and_gradient(dense, PLACES, V)
        assert y == pytest.approx(expected)
        assert type(g) is type(a)
        np.testing.assert_allclose(g.toarray(), by * (PLACES != 0))
        np.testing.assert_allclose(gv, by_v)
    other = getattr(scipy.sparse, kind)(PLACES.T[:2, :2])
    with pytest.raises(StructureError, match="has other places"):
        zyg.pushforward(lambda a: a @ V, (a,), (other,))


def test_sparse_formats_without_a_vector_are_refused():
    with pytest.raises(StructureError, match=r"a lil_array[\s\S]*tocsr"):
        zyg.gradient(lambda a: a.sum(), scipy.sparse.lil_array(PLACES))
    with pytest.raises(AttributeError, match="has no 'argmax'"):
        zyg.gradient(lambda a: a.argmax().sum(), scipy.sparse.csr_array(PLACES))


pint = pytest.importorskip("pint", reason="pint is not installed: .ci/run tests it where it is")
U = pint.UnitRegistry()


def metres():
    return U.Quantity(X.copy(), "m")


@pytest.mark.parametrize(
    ("f", "unit"),
    [
        (lambda q: (q**2).sum(), "m"),
        (lambda q: (q**2).sum().magnitude, "1/m"),
        (lambda q: (q**2).sum().to("km**2").magnitude * 1e6, "1/m"),
        (lambda q: np.sum(q * q) / U.Quantity(2.0, "s"), "m/s"),
        (lambda q: np.sin(q / U.m).sum(), "1/m"),
        (lambda q: np.mean(q).to("cm"), "cm/m"),
    ],
)
def test_the_unit_of_a_gradient_is_the_loss_over_the_argument(f, unit):
    value, (g,) = zyg.value_and_gradient(f, metres())
    size = getattr(f(metres()), "magnitude", f(metres()))
    assert getattr(value, "magnitude", value) == pytest.approx(size)
    assert g.units == U.parse_units(unit)

    def plain(x):
        y = f(U.Quantity(x, "m"))
        return getattr(y, "magnitude", y)

    np.testing.assert_allclose(g.magnitude, zyg.gradient(plain, X)[0])
    zyg.check_gradient(plain, X)


def test_quantities_in_structures_and_losses_with_units():
    model = {"k": U.Quantity(3.0, "N/m"), "x": metres(), "name": "spring", "free": 2.0}

    def energy(m):
        return (0.5 * m["k"] * (m["x"] ** 2).sum() * m["free"]).to("J")

    (g,) = zyg.gradient(energy, model)
    assert g["name"] is None
    assert g["k"].check("[length]**2")
    assert g["x"].check("[force]")
    assert g["free"].units == U.J  # of a plain number, the loss's
    assert g["free"].magnitude == pytest.approx(energy(model).magnitude / 2)
    assert zyg.gradient(lambda q: 1.0, metres()) == (None,)
    assert zyg.gradient(lambda q: q * q, U.Quantity(3, "m"))[0] == U.Quantity(6.0, "m")


def test_other_verbs_with_units():
    q = metres()
    y, y_dot = zyg.pushforward(lambda q: q**2, (q,), (U.Quantity(np.ones((2, 3)), "cm"),))
    np.testing.assert_allclose(y_dot.to("m**2").magnitude, 2 * X / 100)
    y, back = zyg.pullback(lambda q: q**2, q)
    assert back(y)[0].units == U.m
    np.testing.assert_allclose(back(np.ones((2, 3)))[0].magnitude, 2 * X)
    product = zyg.hvp(lambda q: (q**3).sum(), q, q)
    assert product.units == U.m**2
    np.testing.assert_allclose(product.magnitude, 6 * X * X)
    slope = zyg.gradient(lambda q: zyg.gradient(lambda q: (q**3).sum(), q)[0].sum(), q)[0]
    assert slope.units == U.m
    np.testing.assert_allclose(slope.magnitude, 6 * X)
    zyg.check_gradient(lambda q: ((q / U.m) ** 3).sum().magnitude, q)


def test_quantities_as_the_unknown_of_a_solver():
    goal = {"a": U.Quantity(3.0, "km"), "b": U.Quantity(np.array([1.0, 2.0]), "s")}
    start = {"a": U.Quantity(10.0, "m"), "b": U.Quantity(np.zeros(2), "ms")}

    def loss(p):
        far = ((p["a"] - goal["a"]) / U.km).to("").magnitude
        late = ((p["b"] - goal["b"]) / U.s).to("").magnitude
        return far**2 * 1e6 + np.sum(late**2) * 1e6

    fit = zyg.scipy.optimize.minimize(loss, start, jac="zyg", method="BFGS")
    for name, unit in (("a", U.m), ("b", U.ms)):
        assert fit.x[name].units == unit
        np.testing.assert_allclose(fit.x[name].to(goal[name].units).magnitude, goal[name].magnitude)


def test_wrong_units_are_pints_own_error():
    with pytest.raises(pint.DimensionalityError):
        zyg.gradient(lambda q: (q + U.Quantity(1.0, "s")).sum(), metres())
    with pytest.raises(pint.DimensionalityError):
        zyg.pushforward(lambda q: q, (metres(),), (U.Quantity(X, "s"),))


def test_matrices_of_derivatives_have_no_labels():
    for verb in (zyg.jacobian, zyg.hessian, zyg.diaghessian):
        with pytest.raises(StructureError, match="there is no Jacobian of a Quantity"):
            verb(lambda q: (q**2).sum().magnitude, metres())
    with pytest.raises(StructureError, match="no Jacobian of a MaskedArray"):
        zyg.jacobian(lambda x: 2 * x, masked())
    with pytest.raises(StructureError, match="no gradient with respect to a MaskedArray"):
        zyg.gradient(lambda x: x.sum() * U.m, masked())


OF_MASKED = {
    "average": np.ma.average, "sort": np.ma.sort, "median": np.ma.median,
    "corrcoef": np.ma.corrcoef, "diff": np.ma.diff, "where": lambda x: np.ma.where(x > 1, x, 0.0),
    "concatenate": lambda x: np.ma.concatenate([x, x]), "outer": lambda x: np.ma.outer(x, x),
    "sum": np.ma.sum, "mean": np.ma.mean, "std": np.ma.std, "max": np.ma.max, "prod": np.ma.prod,
    "asarray": np.asarray, "np.average": np.average, "np.sort": np.sort, "np.cumsum": np.cumsum,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.filterwarnings("ignore:Warning. converting a masked element")
@pytest.mark.parametrize("name", OF_MASKED)
def test_functions_of_masked_arrays_heed_the_mask_or_are_refused(name):
    f = OF_MASKED[name]
    x = np.ma.array([[1.0, 2.0, 9.0], [4.0, 3.5, 0.5]], mask=[[0, 0, 1], [0, 0, 0]])
    seen = []

    def watched(x):
        y = f(x)
        mask = np.ma.getmaskarray(y) if isinstance(y, np.ma.MaskedArray) else False
        seen.append(np.ma.array(zyg.stop_gradient(getattr(y, "data", y)), mask=mask))
        return x.sum()

    try:
        zyg.gradient(watched, x)
    except Exception:
        assert not seen
    else:
        assert np.ma.allequal(seen[0].astype(float), f(x), fill_value=False) or np.ma.allclose(
            seen[0].astype(float), f(x), rtol=1e-14
        )
