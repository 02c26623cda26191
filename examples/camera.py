"""
A camera's colours, set right
=============================

A camera's colours set right by the difference that an eye sees, through colour-science.

::

    pip install -e '.[libraries]' && python examples/camera.py [FILE.png]  # takes seconds

A chart of 24 patches is photographed under a light bulb: measured spectra of the patches, of the
lamp and of a real camera's sensitivities, and noise of a fixed seed. What turns the camera's three
numbers into a colour is a matrix, and exponents that make up for a sensor that is not linear. As
a rule they are found by least squares, in numbers that have little to do with what is seen. Here
they go downhill on CIE 2000's colour difference, which the library computes in hundreds of lines
that nobody wrote to be differentiated. `zyg.adopt("colour")` is all that is added.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from trace import Trace

import colour
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import minimize

import zyg

zyg.adopt("colour")

SHAPE = colour.SpectralShape(400, 700, 10)
RESPONSE = 0.9  # the sensor's: what it reports is the light to this power
NOISE = 0.002


def spectra(of):
    """A spectrum's values, or those of several as columns, at the wavelengths of SHAPE."""
    return of.copy().align(SHAPE).values


PATCHES = colour.SDS_COLOURCHECKERS["BabelColor Average"]
REFLECTED = np.stack([spectra(patch) for patch in PATCHES.values()])
EYE = spectra(colour.MSDS_CMFS["CIE 1931 2 Degree Standard Observer"])
CAMERA = spectra(colour.MSDS_CAMERA_SENSITIVITIES["Nikon 5100 (NPL)"])
DAYLIGHT, BULB = (spectra(colour.SDS_ILLUMINANTS[name]) for name in ("D65", "A"))


def photograph(rng):
    """What the camera reports, its white balance set by the white patch."""
    raw = (REFLECTED * BULB @ CAMERA) ** RESPONSE
    raw = raw / raw[18]
    return np.clip(raw + NOISE * rng.normal(size=raw.shape), 1e-3, None)


def daylight():
    """The colours of the patches by daylight, XYZ."""
    return REFLECTED * DAYLIGHT @ EYE / (DAYLIGHT @ EYE[:, 1])


# %%
# The correction: a matrix and three exponents, in one vector
# -----------------------------------------------------------


def corrected(parameters, raw):
    """XYZ of what the camera reported."""
    linear = raw ** parameters[9:]
    return colour.sRGB_to_XYZ(linear @ parameters[:9].reshape(3, 3), apply_cctf_decoding=False)


def difference(parameters, raw, lab):
    """How different the patches look from what they are, on average: 1 is just noticeable."""
    seen = colour.XYZ_to_Lab(corrected(parameters, raw))
    return np.mean(colour.delta_E(seen, lab, method="CIE 2000"))


def by_least_squares(raw, xyz):
    linear = colour.XYZ_to_sRGB(xyz, apply_cctf_encoding=False)
    matrix = np.linalg.lstsq(raw, linear, rcond=None)[0]
    return np.append(matrix, np.ones(3))


def by_eye(parameters, raw, lab):
    def value_and_slope(parameters):
        value, (slope, _, _) = zyg.value_and_gradient(difference, parameters, raw, lab)
        return value, slope

    return minimize(value_and_slope, parameters, jac=True, method="L-BFGS-B").x


# %%
# What is shown
# -------------


def lines_run(f, *args):
    """How many different lines of the library f runs."""
    trace = Trace(trace=False)
    trace.runfunc(f, *args)
    return sum("colour" in Path(file).parts for file, _ in trace.results().counts)


def save_picture(path, rows):
    """The chart by each correction, and in the middle of each patch what it is."""
    figure = plt.figure(figsize=(9, 2.6), layout="constrained")
    truth = np.clip(colour.XYZ_to_sRGB(daylight()), 0, 1).reshape(4, 6, 3)
    for axes, (title, xyz) in zip(figure.subplots(1, len(rows)), rows.items(), strict=True):
        chart = np.clip(colour.XYZ_to_sRGB(xyz), 0, 1).reshape(4, 6, 3)
        picture = np.kron(chart, np.ones((20, 20, 1)))
        for i, j in np.ndindex(4, 6):
            picture[20 * i + 6 : 20 * i + 14, 20 * j + 6 : 20 * j + 14] = truth[i, j]
        axes.imshow(picture)
        axes.set(title=title, xticks=[], yticks=[])
    figure.savefig(path, dpi=150)


def main(path=None, seed=0):
    console = Console()
    raw, xyz = photograph(np.random.default_rng(seed)), daylight()
    lab = colour.XYZ_to_Lab(xyz)
    untouched = np.append(np.eye(3), np.ones(3))
    count = lines_run(difference, untouched, raw, lab)
    console.print(f"the difference runs {count} lines of colour-science")

    usual = by_least_squares(raw, xyz)
    ways = {"camera": untouched, "least squares": usual, "by eye": by_eye(usual, raw, lab)}
    means = {way: difference(parameters, raw, lab) for way, parameters in ways.items()}
    table = Table("correction", "mean difference", "exponents")
    for way, parameters in ways.items():
        table.add_row(way, f"{means[way]:.2f}", str(parameters[9:].round(3)))
    console.print(table)

    path = path or Path(tempfile.gettempdir()) / "camera.png"
    save_picture(path, {way: corrected(parameters, raw) for way, parameters in ways.items()})
    console.print(f"saved as {path}")
    return means, ways["by eye"][9:]


# %%
# The run
# -------

if __name__ == "__main__":
    means, exponents = main(*sys.argv[1:2])
    assert means["by eye"] < 0.7 * means["least squares"], means
    assert np.allclose(exponents, 1 / RESPONSE, atol=0.03), "the sensor's response was not learned"
