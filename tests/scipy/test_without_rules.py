"""What is said where SciPy's own code gets a watched value: what to call, or that there is none."""

import importlib
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.linalg.interpolative
import scipy.spatial.transform
from scipy import integrate, interpolate, linalg, ndimage, optimize, signal, spatial, stats

import zyg
import zyg.scipy.stats
from zyg.base import scipys
from zyg.base.extras import demand_version
from zyg.errors import ConversionError

X = np.array([1.0, 2.0, 3.5])

# With and without a rule, by the name that the message has.
WITHOUT = {
    "scipy.cluster.vq.whiten": lambda x: scipy.cluster.vq.whiten(np.outer(x, [1.0, 2.0])).sum(),
    "scipy.signal.remez": lambda x: signal.remez(5, [0.0, 0.1, 0.2, 0.5], x[:2]).sum(),
    "scipy.signal.windows.kaiser": lambda x: signal.windows.kaiser(4, x[0]).sum(),
    "scipy.linalg.schur": lambda x: linalg.schur(np.outer(x, x))[0].sum(),
    "scipy.stats.qmc.discrepancy": lambda x: stats.qmc.discrepancy(x[:, None] / 4),
    "scipy.stats.norm.fit": lambda x: stats.norm.fit(x)[1],
    "scipy.stats.norm.expect": lambda x: stats.norm(x[0]).expect(),
}
CLASSES = {
    "scipy.spatial.Delaunay": lambda x: spatial.Delaunay(np.outer(x, x)).transform.sum(),
    "scipy.spatial.ConvexHull": lambda x: spatial.ConvexHull(np.outer(x, x)).volume,
    "scipy.integrate.RK45": lambda x: integrate.RK45(lambda t, y: -y, 0, x, 1.0).step(),
    "scipy.signal.TransferFunction": lambda x: signal.lti([x[0]], [1.0, 2.0]).num[0],
}
WITH = {
    "scipy.optimize.fmin": lambda x: optimize.fmin(lambda v: ((v - x[0]) ** 2).sum(), [0.0])[0],
    "scipy.optimize.linprog": lambda x: optimize.linprog(x, [[1.0] * 3], [1.0]).fun,
    "scipy.integrate.nquad": lambda x: integrate.nquad(lambda a: a * x[0], [(0, 1)])[0],
    "scipy.linalg.expm": lambda x: linalg.expm(np.diag(x)).sum(),
    "scipy.stats.norm": lambda x: stats.norm(x[0]).pdf(2.0),
    "scipy.stats.gamma": lambda x: stats.gamma(2.0, scale=x[0]).pdf(x).sum(),
    "scipy.ndimage.map_coordinates": lambda x: ndimage.map_coordinates(x, [[0.5, 1.5]]).sum(),
    "scipy.spatial.transform.Rotation": lambda x: (
        scipy.spatial.transform.Rotation.from_euler("xyz", x).as_matrix().sum()
    ),
    "scipy.stats.poisson": lambda x: stats.poisson.pmf(2, x[0]),
    "scipy.stats.multivariate_normal": lambda x: stats.multivariate_normal.pdf(x, x),
    "scipy.stats.entropy": lambda x: stats.entropy(x),
    "scipy.stats.gaussian_kde": lambda x: stats.gaussian_kde(X)(x).sum(),
    "scipy.signal.find_peaks": lambda x: signal.find_peaks(x)[0].sum() * x[0],
    "scipy.spatial.distance.cdist": lambda x: spatial.distance.cdist(
        x[:, None], x[:, None], "jaccard"
    ).sum(),
    "scipy.interpolate.CubicSpline": lambda x: interpolate.CubicSpline([0.0, 1.0, 2.0], x)(
        0.5
    ).sum(),
}


def fix(f):
    """What the message says to do about a gradient of f."""
    with warnings.catch_warnings(action="ignore"), pytest.raises(ConversionError) as caught:
        zyg.gradient(f, X)
    return str(caught.value).partition("\n  fix:   ")[2]


@pytest.mark.parametrize("name", WITHOUT)
def test_a_function_without_a_rule_says_so_and_how_to_write_one(name):
    said, last = fix(WITHOUT[name]), name.rpartition(".")[2]
    assert said.startswith(f"zyg has no rule for {name}, and here is how to write one: {last} = ")
    assert f"zyg.adjoint(lambda x: ({name}(x), lambda y_bar: (...,)))" in said
    assert "zyg.scipy" not in said
    assert "zyg.adopt" not in said


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_without_a_rule_says_so(name):
    said = fix(CLASSES[name])
    assert said.startswith(f"zyg has no rule for {name}: wrap a function that calls it: ")
    assert "zyg.scipy" not in said
    assert "zyg.adopt" not in said


@pytest.mark.parametrize("name", WITH)
def test_a_function_with_a_rule_says_what_to_call(name):
    said = fix(WITH[name])
    assert f"zyg.{name} instead of {name}" in said
    assert "call zyg.adopt(" in said
    assert "no rule" not in said


@pytest.mark.parametrize("name", ["fit", "expect"])
def test_who_uses_the_drop_in_is_not_told_to_use_it(name):
    def f(x):
        norm = zyg.scipy.stats.norm
        return norm.fit(x)[1] if name == "fit" else norm.expect(lambda v: v * x[0])

    assert fix(f).startswith(f"zyg has no rule for scipy.stats.norm.{name}, and here is how")


def test_what_has_no_rule_is_estimated_as_the_message_says():
    rotate = zyg.foreign(
        lambda q: scipy.spatial.transform.Rotation.from_rotvec(q.copy()).as_matrix(),
        method="difference",
    )
    zyg.check_gradient(lambda q: rotate(q)[0, 1] * q[0], X, order=1, modes=("reverse",))


def test_the_rule_is_written_as_the_message_says():
    butter = zyg.adjoint(
        lambda x: (signal.butter(1, x, output="zpk")[2], lambda y_bar: (y_bar * slope(x),))
    )

    def slope(x):
        low, high = (signal.butter(1, x + h, output="zpk")[2] for h in (-1e-6, 1e-6))
        return (high - low) / 2e-6

    (found,) = zyg.gradient(butter, 0.3)
    assert found == pytest.approx(slope(0.3))


def test_an_adopted_module_is_not_told_to_adopt_itself():
    module = types.ModuleType("vectors")
    text = "import scipy.cluster.vq as vq, numpy as np\ndef f(x): return vq.whiten(np.outer(x, x))"
    exec(text, vars(module))
    with zyg.adopt(module):
        said = fix(lambda x: module.f(x).sum())
    assert said.startswith("zyg has no rule for scipy.cluster.vq.whiten, and here is how")


def test_a_scipy_that_is_too_old_is_named_as_the_reason(monkeypatch):
    def refused(name):
        demand_version("SciPy", "1.15.0", "1.17.1")

    monkeypatch.setattr(scipys, "import_module", refused)
    said = fix(lambda x: integrate.quad(lambda t: t * x[0], 0, 1)[0])
    least = "zyg needs SciPy 1.17.1 or newer; 1.15.0 is installed"
    assert said.startswith(f"zyg has no rule for scipy.integrate.quad here: {least}")
    assert "zyg.scipy" not in said
    assert "zyg.adopt" not in said


NOTED = {
    "scipy.stats.fit, and here": lambda x: stats.fit(stats.norm, x, [(0, 1), (0.1, 2)]).params[0],
    "scipy.stats.bootstrap, and": lambda x: stats.bootstrap((x,), np.mean).standard_error,
    "zyg.scipy.signal.medfilt instead": lambda x: signal.medfilt(x).sum(),
    "scipy.linalg.interpolative.interp_decomp": lambda x: scipy.linalg.interpolative.interp_decomp(
        np.diag(x), 1
    )[1].sum(),
}


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize("name", NOTED)
def test_an_exception_of_scipys_about_watched_values_has_a_note(name):
    with pytest.raises((AttributeError, TypeError, ValueError)) as caught:
        zyg.gradient(NOTED[name], X)
    (note,) = caught.value.__notes__
    assert note.startswith("zyg: SciPy's code was given watched values, which it does not know: ")
    assert name in note


def test_a_warning_about_a_function_without_a_rule_says_so():
    with (
        warnings.catch_warnings(record=True, action="always") as found,
        pytest.raises(ConversionError),
    ):
        zyg.gradient(CLASSES["scipy.integrate.RK45"], X)
    assert "Also, zyg has no rule for scipy.integrate.RK45" in str(found[0].message)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_a_function_in_a_decorator_of_scipys_has_its_name():
    with pytest.raises(AttributeError) as caught:
        zyg.gradient(lambda x: stats.linregress(x, [1.0, 2.0, 2.5]).slope, X)
    (note,) = caught.value.__notes__
    assert "use zyg.scipy.stats.linregress instead of scipy.stats.linregress" in note


def test_an_exception_of_scipys_about_plain_values_has_no_note():
    with pytest.raises(ValueError, match="must have the same") as caught:
        zyg.gradient(lambda x: x[0] * stats.pearsonr([1.0, 2.0], [1.0])[0], X)
    assert not hasattr(caught.value, "__notes__")


OTHER_VERSION = """
import importlib, types
names = (
    "fft fftpack integrate interpolate linalg ndimage optimize signal sparse sparse.linalg spatial "
    "spatial.distance spatial.transform special stats"
).split()
theirs = [importlib.import_module(f"scipy.{name}") for name in names]
for module in theirs:
    for name, value in [*vars(module).items()]:
        if type(value) is types.FunctionType and name[0] != "_" and name not in KEPT:
            delattr(module, name)
            module.__all__ = [n for n in module.__all__ if n != name]

ours = [importlib.import_module(f"zyg.scipy.{name}") for name in names]
assert [name for module in ours for name in WITHOUT if hasattr(module, name)] == []
"""


def test_an_older_scipy_is_refused(monkeypatch):
    monkeypatch.setattr(scipy, "__version__", "1.17.0")
    with pytest.raises(
        ImportError, match=r"zyg needs SciPy 1\.17\.1 or newer; 1\.17\.0 is installed"
    ):
        importlib.reload(zyg.scipy)


def test_a_function_that_another_version_of_scipy_does_not_have_is_not_there():
    """None of any table, but those that zyg needs when it is imported; SciPy 1.20 loses some."""
    needed = {"cho_factor", "expm", "qr"}
    gone = "lagrange", "pade", "distance_matrix", "correlate", "quad", "cdist", "logsumexp"
    program = OTHER_VERSION.replace("KEPT", repr(needed)).replace("WITHOUT", repr(gone))
    subprocess.run([sys.executable, "-c", program], check=True)
