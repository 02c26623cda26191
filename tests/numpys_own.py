"""NumPy's own tests, and SciPy's, with the drop-ins: ``python -m tests.numpys_own``.

Each test runs with the plain libraries, then with their names in the test module rebound to zyg's,
once outside and once inside of a gradient. ``--scipy`` takes SciPy's tests; names of packages, and
of files, take those; ``--quick`` leaves out what is marked slow; ``-v`` says why a test fails.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import zyg.numpy
from zyg.adoption.rewriting import rewritten

OF_NUMPY = {
    "numpy._core.tests": (
        "test_numeric", "test_shape_base", "test_function_base", "test_einsum", "test_indexing",
    ),
    "numpy.lib.tests": (
        "test_function_base", "test_shape_base", "test_arraypad", "test_index_tricks",
        "test_nanfunctions", "test_stride_tricks", "test_twodim_base", "test_ufunclike",
    ),
    "numpy.linalg.tests": ("test_linalg",),
    "numpy.fft.tests": ("test_helper", "test_pocketfft"),
}  # fmt: skip
OF_SCIPY = {
    "scipy.special.tests": (
        "test_basic", "test_logsumexp", "test_gammainc", "test_erfinv", "test_orthogonal",
        "test_spherical_bessel", "test_boxcox",
    ),
    "scipy.stats.tests": (
        "test_distributions", "test_multivariate", "test_stats", "test_entropy", "test_kdeoth",
        "test_rank", "test_variation", "test_correlation", "test_continued_fraction",
    ),
    "scipy.linalg.tests": (
        "test_basic", "test_decomp", "test_decomp_cholesky", "test_decomp_lu", "test_decomp_ldl",
        "test_decomp_polar", "test_matfuncs", "test_procrustes", "test_solve_toeplitz",
        "test_matmul_toeplitz", "test_solvers", "test_special_matrices",
    ),
    "scipy.integrate.tests": (
        "test_quadpack", "test_quadrature", "test__quad_vec", "test_integrate", "test_bvp",
    ),
    "scipy.integrate._ivp.tests": ("test_ivp", "test_rk"),
    "scipy.optimize.tests": (
        "test_optimize", "test_zeros", "test_least_squares", "test_minpack", "test__root",
        "test__numdiff", "test_lsq_linear", "test_nnls", "test_slsqp", "test_linesearch",
        "test_trustregion", "test_constraints",
    ),
    "scipy.signal.tests": (
        "test_signaltools", "test_spectral", "test_filter_design", "test_fir_filter_design",
        "test_windows", "test_savitzky_golay", "test_ltisys", "test_dltisys", "test_cont2discrete",
        "test_waveforms", "test_czt", "test_upfirdn", "test_bsplines", "test_peak_finding",
    ),
    "scipy.interpolate.tests": (
        "test_bsplines", "test_fitpack", "test_fitpack2", "test_interpolate", "test_polyint",
        "test_rgi", "test_interpnd", "test_ndgriddata", "test_rbf", "test_rbfinterp", "test_pade",
    ),
    "scipy.ndimage.tests": (
        "test_filters", "test_fourier", "test_interpolation", "test_measurements",
        "test_morphology", "test_splines",
    ),
    "scipy.fft.tests": ("test_basic", "test_real_transforms", "test_helper", "test_fftlog"),
    "scipy.fftpack.tests": ("test_basic", "test_real_transforms", "test_pseudo_diffs"),
    "scipy.spatial.tests": (
        "test_distance", "test_kdtree", "test_qhull", "test_slerp", "test__procrustes",
    ),
    "scipy.spatial.transform.tests": (
        "test_rotation", "test_rotation_spline", "test_rotation_groups", "test_rigid_transform",
    ),
    "scipy.sparse.tests": ("test_construct", "test_csr", "test_csc", "test_coo", "test_extract"),
    "scipy.sparse.linalg.tests": (
        "test_expm_multiply", "test_interface", "test_matfuncs", "test_norm", "test_onenormest",
    ),
    "scipy.sparse.linalg._isolve.tests": (
        "test_iterative", "test_lsmr", "test_lsqr", "test_minres", "test_lgmres",
    ),
    "scipy.sparse.linalg._dsolve.tests": ("test_linsolve",),
}  # fmt: skip
MODULES = (
    "numpy", "numpy.linalg", "math", "cmath", "scipy", "scipy.fft", "scipy.fftpack",
    "scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize",
    "scipy.signal", "scipy.sparse", "scipy.sparse.linalg", "scipy.spatial",
    "scipy.spatial.distance", "scipy.spatial.transform", "scipy.special", "scipy.stats",
)  # fmt: skip
DROP_INS = {name: f"zyg.{name}" for name in MODULES}
CRASHES = "Test_Qhull"  # a private class of SciPy's does, given what is no array of NumPy's
SECONDS, MEMORY = 60, 8 << 30  # of a test; of all
MODES = ("plain", "outside", "inside")


def rebind(module):
    """Let the names of a module, and of its classes, that are NumPy's and SciPy's be zyg's.

    What stands in for methods, and for calls of classes, is in the code of an adopted module's.
    """
    codes = rewritten(Path(module.__file__).read_text(), module.__file__)
    for f in functions_of(module):
        f.__code__ = codes.get(f.__code__, f.__code__)
    pairs = {}
    for name, ours in DROP_INS.items():
        if name in sys.modules:
            plain, ours = sys.modules[name], importlib.import_module(ours)
            pairs[id(plain)] = ours
            for key, value in vars(plain).items():
                if callable(value) and not key.startswith("_"):
                    pairs.setdefault(id(value), getattr(ours, key))

    def replaced(value):
        if type(value) in (list, tuple):
            return type(value)(map(replaced, value))
        if type(value) is dict:
            return {replaced(k): replaced(v) for k, v in value.items()}
        return pairs.get(id(value), value)

    classes = [c for c in vars(module).values() if getattr(c, "__module__", "") == module.__name__]
    for owner in (module, *(c for c in classes if isinstance(c, type))):
        for name, value in list(vars(owner).items()):
            if not name.startswith("__") and (new := replaced(value)) is not value:
                setattr(owner, name, new)


def functions_of(owner):
    """The functions of a module, and of the classes in it."""
    for value in vars(owner).values():
        value = getattr(value, "__func__", value)
        if isinstance(value, type) and value.__module__ == owner.__name__:
            yield from functions_of(value)
        elif inspect.isfunction(value := inspect.unwrap(value)):
            yield value


class Namespace:
    """zyg's NumPy, under the name of NumPy's, and equal to it, for tests that ask which it is."""

    def __init__(self, numpys):
        self.numpys, self.__name__ = numpys, numpys.__name__

    def __getattr__(self, name):
        return getattr(zyg.numpy, name)

    def __eq__(self, other):
        return other is self or other is self.numpys

    def __hash__(self):
        return hash(self.numpys)


class Judge:
    """A plugin of pytest: runs the tests in one of the modes, and writes down what came out."""

    def __init__(self, mode, file):
        self.mode, self.file = mode, file

    def pytest_collection_modifyitems(self, items):
        if self.mode != "plain":
            for module in {item.module for item in items}:
                rebind(module)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        if self.mode != "plain" and "xp" in pyfuncitem.funcargs:  # SciPy's name of a NumPy to try
            pyfuncitem.funcargs["xp"] = Namespace(pyfuncitem.funcargs["xp"])
        if self.mode != "inside":
            return None
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(SECONDS)
        names = pyfuncitem._fixtureinfo.argnames
        kwargs = {name: pyfuncitem.funcargs[name] for name in names}

        def f(x):
            pyfuncitem.obj(**kwargs)
            return x

        try:
            assert zyg.gradient(f, 1.0) == (1.0,)
        finally:
            signal.alarm(0)
        return True

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.failed:
            text = str(report.longrepr).strip().splitlines()[-3:] if report.failed else []
            found = {report.nodeid: [report.outcome, " | ".join(text)]}
            print(json.dumps(found), file=self.file, flush=True)


def _too_long(*_):
    raise TimeoutError(f"more than {SECONDS} seconds")


def run(mode, files, path, quick):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore", "--tb=short"]
    options.append("--assert=plain")  # codes of functions are replaced
    options.append("--continue-on-collection-errors")
    options += ["-k", f"not {CRASHES}", *["-m", "not slow and not xslow"] * quick]
    where = ["-c", os.devnull, "--rootdir", Path(np.__file__).parents[1]]
    with open(path, "w") as file:
        options += [*map(str, where), "--pyargs", *files]
        pytest.main(options, plugins=[Judge(mode, file)])


def outcomes(mode, files, quick=False):
    """What came out of each test in a mode, in a process of its own, to its crash if it does."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "outcomes")
        command = [sys.executable, "-m", "tests.numpys_own", "--mode", mode, "--to", path]
        command += ["--quick"] * quick + list(files)
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return {
            k: v for row in Path(path).read_text().splitlines() for k, v in json.loads(row).items()
        }


def file_of(test):
    return test.partition("::")[0].rpartition("site-packages/")[2]


def judged(files, quick=False):
    """For each file: the tests that pass plainly; for the other modes, those that do not pass."""
    found = {mode: outcomes(mode, files, quick) for mode in MODES}
    plain = [test for test, (outcome, _) in found["plain"].items() if outcome == "passed"]
    failed = {
        mode: {t: found[mode].get(t, ["missing", ""])[1] for t in plain if _failed(found[mode], t)}
        for mode in MODES[1:]
    }
    return Counter(map(file_of, plain)), failed


def _files(asked, table):
    """The files of the packages that are asked for, or of all; and those asked for by name."""
    files = [name for name in asked if name not in table]
    for package in [p for p in table if p in asked or not asked]:
        files += [f"{package}.{name}" for name in table[package]]
    return files


def _failed(found, test):
    return found.get(test, ["missing"])[0] != "passed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--scipy", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--mode", choices=MODES, help=argparse.SUPPRESS)
    parser.add_argument("--to", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.mode:
        run(given.mode, given.files, given.to, given.quick)
        return
    passed, failed = judged(_files(given.files, OF_SCIPY if given.scipy else OF_NUMPY), given.quick)
    rows = {name: [Counter(map(file_of, failed[m]))[name] for m in MODES[1:]] for name in passed}
    rows["all"] = [len(failed[mode]) for mode in MODES[1:]]
    passed["all"] = passed.total()
    print(f"{'passed of those that pass plainly':48}{'outside':>9}{'inside':>9}{'of':>7}")
    for name, (outside, inside) in rows.items():
        print(f"{name:48}{passed[name] - outside:9}{passed[name] - inside:9}{passed[name]:7}")
    for mode in MODES[1:]:
        for test, text in failed[mode].items():
            print(
                f"{mode}: {test.rpartition('site-packages/')[2]}" + f"\n    {text}" * given.verbose
            )


if __name__ == "__main__":
    main()
