"""
The orbit of a satellite
========================

The orbit of Vanguard 1, the oldest thing in orbit, from radar distances, through sgp4.

::

    pip install -e '.[libraries]' && python examples/orbit.py [FILE.png]  # takes seconds

sgp4 is the library with which everybody computes where satellites are. Nobody wrote it to be
differentiated: it works with `math`, a loop for Kepler's equation and attributes by the hundred.
`zyg.adopt("sgp4")` is all that is added. The observations are simulated: distances from three
stations while the satellite is above their horizon, for a day, with noise of a fixed seed. The fit
is Gauss and Newton's; its Jacobian goes through the library, and tells the standard errors, too.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from trace import Trace

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table
from sgp4.model import WGS72, Satrec
from sgp4.propagation import gstime

import zyg

zyg.adopt("sgp4", __name__)

TRACKED = Satrec.twoline2rv(
    "1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753",
    "2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667",
)
ELEMENTS = {
    "eccentricity": "ecco", "perigee": "argpo", "inclination": "inclo", "anomaly": "mo",
    "motion": "no_kozai", "node": "nodeo",
}  # fmt: skip
STATIONS = {"Kourou": (5.2, -52.8), "Malindi": (-3.0, 40.2), "Hartebeesthoek": (-25.9, 27.7)}
EARTH = 6378.135  # km
NOISE = 0.1  # km


def places(elements, minutes):
    """Where a satellite of these elements is, so many minutes after the epoch: km, not rotating."""
    satellite = Satrec()
    epoch = TRACKED.jdsatepoch + TRACKED.jdsatepochF - 2433281.5
    satellite.sgp4init(WGS72, "i", 5, epoch, TRACKED.bstar, 0.0, 0.0, *elements)
    return np.array([satellite.sgp4_tsince(t)[1] for t in minutes])


def station(name, minutes):
    """Where a station on the turning Earth is."""
    latitude, longitude = np.radians(STATIONS[name])
    days = TRACKED.jdsatepoch + TRACKED.jdsatepochF + np.asarray(minutes) / 1440
    angle = longitude + np.array([gstime(day) for day in days])
    flat = np.cos(latitude)
    height = np.full_like(angle, np.sin(latitude))
    return EARTH * np.stack([flat * np.cos(angle), flat * np.sin(angle), height], axis=-1)


def visible(elements, minutes):
    """At which minutes it is above which station's horizon: minutes, and stations' places."""
    there = places(elements, minutes)
    pairs = []
    for name in STATIONS:
        here = station(name, minutes)
        above = np.sum((there - here) * here, axis=1) > 0
        pairs += [*zip(minutes[above], here[above], strict=True)]
    return tuple(map(np.array, zip(*sorted(pairs, key=lambda pair: pair[0]), strict=True)))


def distances(elements, minutes, stations):
    return np.linalg.norm(places(elements, minutes) - stations, axis=1)


def fit(elements, observed, where, console):
    """Gauss and Newton's steps, until one is small beside the standard errors."""
    while True:
        residual = observed - distances(elements, *where)
        rms = np.sqrt(np.mean(residual**2))
        console.print(f"distances off by {rms:9.3f} km", highlight=False)
        (jacobian,) = zyg.jacobian(lambda elements: distances(elements, *where), elements)
        scale = np.linalg.norm(jacobian, axis=0)  # elements have units of their own
        step = np.linalg.lstsq(jacobian / scale, residual, rcond=None)[0] / scale
        errors = NOISE * np.sqrt(np.diagonal(np.linalg.inv(jacobian.T @ jacobian)))
        elements = elements + step
        if np.max(np.abs(step) / errors) < 1e-2:
            return elements, errors


def lines_run(f, *args):
    """How many different lines of the library f runs."""
    trace = Trace(trace=False)
    trace.runfunc(f, *args)
    return sum("sgp4" in Path(file).parts for file, _ in trace.results().counts)


def save_picture(path, minutes, off):
    figure = plt.figure(layout="constrained")
    axes = figure.subplots()
    for label, kilometres in off.items():
        axes.semilogy(minutes / 1440, kilometres, label=label)
    axes.axvspan(0, 1, color="lightgrey", label="observed")
    axes.set(xlabel="days", ylabel="km from where it is", title="the satellite, predicted")
    axes.legend()
    figure.savefig(path)


def main(path=None, seed=0):
    console = Console()
    rng = np.random.default_rng(seed)
    truth = np.array([getattr(TRACKED, name) for name in ELEMENTS.values()])
    guess = truth + np.array([2e-3, 1e-2, -5e-3, -2e-2, 1e-5, 1e-2])
    where = visible(truth, np.arange(0.0, 1440.0, 10.0))
    observed = distances(truth, *where) + NOISE * rng.normal(size=len(where[0]))

    count = lines_run(distances, guess, *where)
    console.print(f"{len(observed)} distances, each through sgp4: {count} lines of its code")
    found, errors = fit(guess, observed, where, console)

    table = Table("element", "truth", "first guess", "fit")
    for name, t, g, f, e in zip(ELEMENTS, truth, guess, found, errors, strict=True):
        table.add_row(name, f"{t:.9f}", f"{g:.9f}", f"{f:.9f} +- {e:.1g}")
    console.print(table)

    week = np.arange(0.0, 7 * 1440.0, 20.0)
    actual = places(truth, week)
    off = {
        label: np.linalg.norm(places(elements, week) - actual, axis=1)
        for label, elements in (("first guess", guess), ("fit", found))
    }
    path = path or Path(tempfile.gettempdir()) / "orbit.png"
    save_picture(path, week, off)
    after = {label: kilometres[-72:].max() for label, kilometres in off.items()}
    for label, kilometres in after.items():
        console.print(f"on the seventh day, {label}: off by up to {kilometres:.3g} km")
    console.print(f"saved as {path}")
    return (found - truth) / errors, after["fit"]


# %%
# The run
# -------

if __name__ == "__main__":
    deviations, off_after_a_week = main(*sys.argv[1:2])
    assert np.max(np.abs(deviations)) < 3.5, f"off by {deviations} standard errors"
    assert off_after_a_week < 2, f"the satellite is lost: off by {off_after_a_week} km"
