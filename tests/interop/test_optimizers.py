"""Optimizers of parameters that are arrays with labels, units, masks and places."""

import numpy as np
import pytest
import scipy.sparse

import zyg

pd = pytest.importorskip("pandas")
pint = pytest.importorskip("pint")
xr = pytest.importorskip("xarray")


def test_optimizers_keep_labels_and_units():
    unit = pint.UnitRegistry()
    params = {
        "series": pd.Series([1.0, 2.0], index=["x", "y"]),
        "length": np.array([1.0, 2.0]) * unit.m,
        "array": xr.DataArray([1.0, 2.0], dims="t"),
        "sparse": scipy.sparse.csr_array(np.diag([1.0, 2.0])),
        "masked": np.ma.masked_array([1.0, 9.0, 2.0], [0, 1, 0]),
    }
    opt = zyg.optimize.adam(0.1)
    for name, x in params.items():
        state = opt.init({name: x})
        stepped, _ = opt.step({name: x}, {name: x}, state)
        updates, _ = opt.update({name: x}, state)
        applied = zyg.optimize.apply_updates({name: x}, updates)
        for y in (stepped[name], applied[name]):
            assert type(y) is type(x)
            np.testing.assert_allclose(zyg.flatten(y)[0][[0, -1]], [0.9, 1.9])
        np.testing.assert_allclose(zyg.flatten(updates[name])[0][[0, -1]], [-0.1, -0.1])
    assert stepped["masked"].mask.tolist() == [False, True, False]
