"""Quantities of astropy: units are astropy's own, numbers as the same program on plain arrays."""

import numpy as np
import pytest

import zyg
from zyg.errors import ConversionError, MissingRuleError

units = pytest.importorskip(
    "astropy.units", reason="astropy is not installed: .ci/run tests it where it is"
)
Quantity = units.Quantity

X = np.array([[1.0, 2.0, 3.0], [0.5, 4.0, 6.0]])
m, s, cm, km = units.m, units.s, units.cm, units.km


def metres(x=X):
    return Quantity(x.copy(), "m")


PROGRAMS = [
    (lambda q: (q**2).sum(), "m"),
    (lambda q: (q**2).sum().value, "1/m"),
    (lambda q: (q**2).sum().to(km**2).value * 1e6, "1/m"),
    (lambda q: np.sum(q * q) / Quantity(2.0, "s"), "m/s"),
    (lambda q: np.mean(q).to("cm"), "cm/m"),
    (lambda q: np.sin(q * units.deg / m).sum(), "1/m"),
    (lambda q: (q + 3 * km).sum() ** 2, "m"),
    (lambda q: (3 * km - q).sum(), "km/m"),
    (lambda q: (2 * s * q).sum(), "s"),
    (lambda q: np.sqrt(q).sum(), "m(-1/2)"),
    (lambda q: q.std() * q.var(), "m2"),
    (lambda q: np.hypot(q, 2 * cm).sum(), ""),
    (lambda q: q[0] @ q[1], "m"),
    (lambda q: np.dot(q[0], q[1]), "m"),
    (lambda q: np.concatenate([q, 2 * q]).sum(), ""),
    (lambda q: q.max() * q.min(), "m"),
    (lambda q: np.maximum(q, 210 * cm).sum(), ""),
    (lambda q: q.si.sum(), ""),
    (lambda q: q.cgs.sum(), "cm/m"),
    (lambda q: (1 / q).sum(), "m-2"),
    (lambda q: q.T[1].sum(), ""),
    (lambda q: sum(r.sum() for r in q), ""),
    (lambda q: np.exp(-(q / (2 * m)).to_value("")).sum(), "1/m"),
    (lambda q: np.arctan2(q, 3 * m).sum(), "rad/m"),
    (lambda q: (q.reshape(3, 2) ** 3).sum() ** (1 / 3), ""),
    (lambda q: (Quantity([1.0, 2.0, 3.0], "s") * q).sum(), "s"),
    (lambda q: q[0, 1] ** 2, "m"),
    (lambda q: np.linalg.norm(q), ""),
    (lambda q: q.to(units.Hz, equivalencies=units.spectral()).sum(), "Hz/m"),
    (lambda q: q.to(units.km, None, copy=False).sum(), "km/m"),
    (lambda q: (q.value * km).sum(), "km/m"),
    (lambda q: km * q.value.sum(), "km/m"),
    (lambda q: (q.value << km).sum(), "km/m"),
    (lambda q: (q << km).sum(), "km/m"),
    (lambda q: q.decompose().sum(), ""),
    (lambda q: np.clip(q, 150 * cm, 5 * m).sum(), ""),
    (lambda q: np.clip(q, min=None, max=0.0035 * km).sum(), ""),
    (lambda q: np.average(q, weights=X), ""),
    (lambda q: np.quantile(q, 0.3) + np.nanmax(q), ""),
    (lambda q: np.linalg.det(q @ q.T), "m3"),
    (lambda q: np.linalg.inv(q @ q.T).sum(), "m-3"),
    (lambda q: np.linalg.svd(q)[1].sum(), ""),
    (lambda q: np.linalg.norm(q[0], 3), ""),
    (lambda q: sum(part.sum() ** 2 for part in np.array_split(q, 2)), "m"),
    (lambda q: (np.gradient(q[1]) ** 2).sum(), "m"),
    (lambda q: np.nanvar(q), "m"),
    (lambda q: np.trapezoid(q, dx=2.0).sum(), ""),
    (lambda q: np.abs(np.fft.fft(q[0])).sum(), ""),
    (lambda q: np.compress([True, False, True], q, axis=1).sum(), ""),
]  # fmt: skip


@pytest.mark.parametrize(("f", "unit"), PROGRAMS)
def test_the_unit_of_a_gradient_is_the_loss_over_the_argument(f, unit):
    def plain(x):
        y = f(metres(x))
        return getattr(y, "value", y)

    value, (g,) = zyg.value_and_gradient(f, metres())
    assert getattr(value, "value", value) == pytest.approx(plain(X))
    assert getattr(value, "unit", None) == getattr(f(metres()), "unit", None)
    assert type(g) is Quantity
    assert g.unit == units.Unit(unit)
    for i in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[i] = 1e-6
        slope = (plain(X + step) - plain(X - step)) / 2e-6
        assert g.value[i] == pytest.approx(slope, rel=1e-5, abs=1e-12)


def test_quantities_in_structures_and_other_verbs():
    model = {"k": Quantity(3.0, "N/m"), "x": metres(), "name": "spring", "free": 2.0}
    (g,) = zyg.gradient(lambda p: (0.5 * p["k"] * (p["x"] ** 2).sum() * p["free"]).to("J"), model)
    assert g["name"] is None
    assert g["k"].unit.is_equivalent(m**2)
    assert g["x"].unit.is_equivalent("N")
    assert g["free"].unit == units.J
    assert zyg.gradient(lambda q: 1.0, metres()) == (None,)
    y, y_dot = zyg.pushforward(lambda q: q**2, (metres(),), (Quantity(np.ones((2, 3)), "cm"),))
    np.testing.assert_allclose(y_dot.to_value(m**2), 2 * X / 100)
    y, back = zyg.pullback(lambda q: q**2, metres())
    np.testing.assert_allclose(back(y.to(cm**2))[0].value, 2 * X**3)
    product = zyg.hvp(lambda q: (q**3).sum(), metres(), metres())
    assert product.unit == m**2
    np.testing.assert_allclose(product.value, 6 * X * X)


def test_what_is_no_quantity_to_astropy_is_refused():
    with pytest.raises(units.UnitConversionError):
        zyg.gradient(lambda q: (q + 1 * s).sum(), metres())
    with pytest.raises(ConversionError, match="float"):
        zyg.gradient(lambda q: float(q.sum() / m), metres())
    for f in (lambda q: np.asarray(q).sum(), lambda q: Quantity(q, "cm").sum()):
        with pytest.raises(MissingRuleError, match=r"np\.asarray of an astropy Quantity"):
            zyg.gradient(f, metres())
    with pytest.raises(MissingRuleError, match=r"np\.convolve of several quantities of an astropy"):
        zyg.gradient(lambda q: np.convolve(q[0], q[1]).sum(), metres())
    with pytest.raises(MissingRuleError, match=r"np\.pad of an astropy"):
        zyg.gradient(lambda q: np.pad(q, 1).sum(), metres())


def test_percents_that_astropy_converts_inside_are_refused():
    q = Quantity(np.zeros((2, 3)), "percent")  # of which the value would be the same
    with pytest.raises(MissingRuleError, match=r"np\.i0 in %, which astropy converts"):
        zyg.gradient(lambda q: np.i0(q).sum(), q)
    product = zyg.hvp(lambda q: np.i0(q.to("")).sum(), q, Quantity(np.ones((2, 3)), "percent"))
    np.testing.assert_allclose(product.to_value("1/percent"), 0.5e-4)


def test_units_that_astropy_drops_are_dropped():
    y, (g,) = zyg.value_and_gradient(lambda q: np.linalg.norm(q, 0) * q.sum(), metres()[0])
    assert (y.unit, g.unit) == (m, units.dimensionless_unscaled)
    np.testing.assert_allclose(g.value, 3)
