"""Programs in plain NumPy, as people write them who have never heard of zyg: one line is added.

Each is differentiated by the numbers that it is called with, as it stands, and with
``zyg.adopt(__name__)`` before its first line; the slopes are those of five-point differences.
"""

import importlib
from pathlib import Path

import numpy as np
import pytest

import zyg

FOLDER = Path(__file__).with_name("ordinary_programs")
CALLS = {
    "blur": ("contrast", 1.2, 0.8),
    "climate": ("equilibrium", 1361.0, 0.61, 3.8),
    "drug": ("exposure", 70.0, 1.2, 6.0, 400.0),
    "enzyme": ("predicted", 2.0, 1.5, 0.2),
    "epidemic": ("peak_load", 0.08, 0.15, 0.004),
    "equalizer": ("loudness", 500.0, 6.0, 1.2),
    "kalman": ("log_likelihood", 1.0, 0.1, 0.05),
    "loan": ("effective_rate", 10000.0, 0.004, 5.0),
    "markov": ("summary", 0.8, 0.3, 0.2),
    "mixture": ("score", 1.5, 4.0, 0.9),
    "nbody": ("closest_approach", 0.00095, 3.0, 0.1),
    "options": ("early_exercise_premium", 100.0, 105.0, 1.0, 0.05, 0.2),
    "pca": ("explained", 1.0, 1.7, 0.4, 0.2),
    "perceptron": ("loss_after_training", 2.0, 3.0),
    "projectile": ("distance", 30.0, 40.0, 0.01),
    "raytracer": ("brightness", -0.3, 0.8, 4.0),
    "robot": ("effort", 0.5, 0.2, 0.7),
    "rod": ("mean_temperature", 0.3, 0.5, 0.8),
    "satellite": ("elevation", 7500.0, 0.05, 0.9, 0.3),
    "splines": ("roughness", np.array([0.0, 1.0, 0.5, -0.5, 0.8])),
    "steam": ("efficiency", 60.0, 0.2, 0.85),
}
SLOW = {"drug", "equalizer"}
AS_WRITTEN = {"kalman"}  # those that need no line


@pytest.fixture
def load(write):
    """load(name): the function of a program, and its arguments; `first` comes before it."""

    def load_program(name, first=""):
        module = f"{'adopted' if first else 'ordinary'}_{name}"
        write({f"{module}.py": first + (FOLDER / f"{name}.py").read_text()})
        function, *args = CALLS[name]
        return getattr(importlib.import_module(module), function), args

    return load_program


def slopes(f, args):
    """Five-point differences by each argument."""
    for place, x in enumerate(args):
        slope = np.zeros(np.shape(x))
        step = 2e-4 * np.max(np.abs(x))
        for index in np.ndindex(slope.shape):
            values = []
            for k in (-2, -1, 1, 2):
                moved = np.array(x)
                moved[index] += k * step
                values.append(f(*args[:place], moved[()], *args[place + 1 :]))
            slope[index] = np.dot(values, (1, -8, 8, -1)) / (12 * step)
        yield slope


def assert_right(f, args, plain):
    for slope, expected in zip(
        zyg.gradient(f, *args, zeros=True), slopes(plain, args), strict=True
    ):
        np.testing.assert_allclose(slope, expected, 1e-5, 1e-5 * np.max(np.abs(expected)))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CALLS]
)
def test_with_one_line_an_ordinary_program_is_differentiated(load, name):
    plain, args = load(name)
    f, _ = load(name, "import zyg; zyg.adopt(__name__)\n")

    assert f(*args) == plain(*args)
    assert_right(f, args, plain)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize("name", CALLS)
def test_as_it_stands_it_is_right_or_refused(load, name):
    f, args = load(name)

    if name in AS_WRITTEN:
        assert_right(f, args, f)
    else:
        with pytest.raises(zyg.errors.ZygError):
            zyg.gradient(f, *args)


def test_every_program_is_tried():
    assert {path.stem for path in FOLDER.glob("*.py")} == CALLS.keys()
