"""
Units and labels
================

Parameters with units and a measurement with labels: a cooling rod, fitted by L-BFGS.

::

    pip install -e '.[examples-all]' && python examples/units_and_labels.py  # takes seconds

The model computes in pint's quantities and gives a DataArray of xarray over time and place; its
parameters come back with their units. Needs pint, xarray and SciPy.
"""

import matplotlib.pyplot as plt
import numpy as np
import pint
import xarray

import zyg
import zyg.scipy.optimize

u = pint.UnitRegistry()
TIME = xarray.DataArray(
    np.linspace(0, 60, 13), dims="time", coords={"time": np.linspace(0, 60, 13)}
)
PLACE = xarray.DataArray(np.linspace(0, 1, 6), dims="place", coords={"place": np.linspace(0, 1, 6)})


def temperature(p):
    """Kelvin above the room, by time in minutes and place in metres."""
    rate = p["rate"].to("1/minute").magnitude
    length = p["length"].to("m").magnitude
    start = p["start"].to("K").magnitude
    return start * np.exp(-rate * TIME) * np.exp(-PLACE / length)


TRUE = {
    "rate": u.Quantity(1.5, "1/hour"),
    "length": u.Quantity(40.0, "cm"),
    "start": u.Quantity(0.08, "kK"),
}
noise = np.random.default_rng(0).normal(scale=0.1, size=(13, 6))
measured = temperature(TRUE) + noise


def loss(p):
    return ((temperature(p) - measured) ** 2).mean("place").sum("time").item()


start = {
    "rate": u.Quantity(1.0, "1/hour"),
    "length": u.Quantity(60.0, "cm"),
    "start": u.Quantity(0.05, "kK"),
}

# %%
# The run
# -------

if __name__ == "__main__":
    (by,) = zyg.gradient(loss, start)
    print("units of the gradient:", *(str(g.units) for g in by.values()))
    fit = zyg.scipy.optimize.minimize(
        loss,
        start,
        jac="zyg",
        method="L-BFGS-B",
        options={"maxiter": 500, "ftol": 1e-14, "gtol": 1e-10},
    )
    axes = plt.figure(figsize=(6, 4), layout="constrained").subplots()
    for k, place in enumerate(PLACE.values):
        fitted = temperature(fit.x).sel(place=place)
        axes.plot(TIME, fitted, color=f"C{k}", label=f"{place:.1f} m")
        axes.plot(TIME, measured.sel(place=place), ".", color=f"C{k}")
    axes.set(xlabel="minutes", ylabel="kelvin above the room", title="a cooling rod")
    axes.legend(title="place")
    for name, q in fit.x.items():
        print(f"{name}: {q:.4f}, true {TRUE[name]:.4f}")
        assert q.units == TRUE[name].units
        assert abs((q / TRUE[name]).to("").magnitude - 1) < 0.01
    plt.show()
