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
