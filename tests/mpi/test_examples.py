"""The examples of several ranks, as their reader runs them."""

import pytest

from tests.mpi.launch import ROOT, needs_mpi, run

pytestmark = [pytest.mark.slow, needs_mpi]


@pytest.mark.parametrize("name", ["mpi_digits.py", "mpi_heat.py"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_an_example_runs_on_ranks_and_its_assert_holds(name, ranks):
    if name == "mpi_digits.py":
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    ran = run(ranks, ROOT / "examples" / name)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{ranks} ranks" in ran.stdout
