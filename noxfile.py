"""The gate on every Python, and with the oldest libraries; `nox -l` lists its sessions.

`nox -s lint`, `nox -s tests-3.12 -- tests/core`. Pythons that are not installed are skipped; where
CI is set in the environment, they are errors.
"""

import nox

PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = nox.project.python_versions(PROJECT)  # of the classifiers
EXTRAS = PROJECT["project"]["optional-dependencies"]
# What users have; the tools of the tests are always the newest.
LIBRARIES = [*PROJECT["project"]["dependencies"], *EXTRAS["scipy"], *EXTRAS["distributed"]]

NIGHTLY = "https://pypi.anaconda.org/scientific-python-nightly-wheels/simple"

EVERYTHING = ["-n", "auto", "--dist=worksteal"]

nox.options.sessions = ["lint", "tests", "oldest"]


@nox.session(python=PYTHONS[0])
def lint(session):
    """Formatting, lint and types."""
    session.install("-e", ".[lint]")
    session.run("ruff", "format", "--check")
    session.run("ruff", "check")
    session.run("mypy")


@nox.session(python=PYTHONS)
def tests(session):
    """The tests with the newest libraries; what follows -- is for pytest."""
    session.install("-e", ".[test]")
    session.run("pytest", *(session.posargs or EVERYTHING))


@nox.session(python=PYTHONS[0])
def oldest(session):
    """The tests with the oldest libraries that pyproject.toml admits."""
    session.install("-e", ".[test]", *[bound.replace(">=", "==") for bound in LIBRARIES])
    session.run("pytest", *(session.posargs or EVERYTHING))


@nox.session(python=f"{PYTHONS[-1]}t")
def free_threads(session):
    """The tests without the interpreter's lock, whatever is imported."""
    session.install("-e", ".[test]")
    session.run("pytest", *(session.posargs or EVERYTHING), env={"PYTHON_GIL": "0"})


@nox.session(python=PYTHONS[-1])
def nightly(session):
    """The tests with NumPy and SciPy as they were last night: what will break is known early."""
    session.install("-e", ".[test]")
    session.install("--upgrade", "--pre", "--extra-index-url", NIGHTLY, "numpy", "scipy")
    session.run("pytest", *(session.posargs or EVERYTHING))


@nox.session(python=PYTHONS[-2])
def docs(session):
    """The site, with its examples run; ``-- -D plot_gallery=0`` shows them only."""
    session.install("-e", ".[docs]")
    session.run("sphinx-build", "-W", "--keep-going", *session.posargs, "docs", "docs/_build")
