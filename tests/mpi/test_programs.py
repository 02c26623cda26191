"""Every call of MPI's, on two to four ranks: against differences, and against one process."""

import pytest

from tests.mpi.launch import HERE, cases, found, needs_mpi, run

pytestmark = [pytest.mark.slow, needs_mpi]


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("name", cases("programs.py"))
def test_the_gradient_is_that_of_differences_and_the_value_is_that_of_mpis_own(name, ranks, shared):
    assert found(ranks, "programs.py", shared)[name] == [[]] * ranks


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("name", cases("same_bits.py"))
def test_the_bits_are_those_of_the_same_program_in_one_process(name, ranks, shared):
    assert found(ranks, "same_bits.py", shared)[name] == [[]] * ranks


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_random_programs_have_the_gradient_of_one_process(ranks, shared):
    wrong = {seed: w for seed, w in found(ranks, "random_programs.py", shared).items() if any(w)}
    assert not wrong


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_fit_one_model_to_data_of_their_own(ranks):
    ran = run(ranks, HERE / "fitting.py")
    assert ran.stdout == f"fitted by {ranks}\n", ran.stdout + ran.stderr
