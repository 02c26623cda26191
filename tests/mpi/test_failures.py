"""What cannot go on raises on every rank, and nothing hangs."""

import re

import pytest

from tests.mpi.launch import HERE, cases, found, needs_mpi, run

pytestmark = [pytest.mark.slow, needs_mpi]

# What each of two ranks raises, and what is said: by the rank that finds it, and by the other.
SAID = {
    "a_message_that_nobody_receives": "rank 1 has not received 1 of the messages .* tag 7",
    "a_large_message_that_nobody_receives": "rank 1 does not receive a message of rank 0",
    "a_message_that_is_not_sent": "rank 0 waits for a message of rank 1 with the tag 3",
    "a_message_of_anybody_that_is_not_sent": "rank 0 waits for a message of any rank",
    "a_rank_that_leaves_out_a_call": "rank 1 does not take part in allreduce",
    "a_rank_that_makes_another_call": "rank 0 calls allreduce .* rank 1 calls gather",
    "another_root": r"rank 0 calls bcast \(root 0\), rank 1 calls bcast \(root 1\)",
    "another_operator": "not with the same operator",
    "values_for_other_ranks": "scatter got 3 values for 2 ranks",
    "memory_that_is_too_small": "more than 16 bytes does not fit into 2 elements of float64",
    "large_memory_that_is_too_small": "1600000 bytes does not fit into 200000 elements of float64",
    "a_receipt_that_an_error_ends": "mine",
    "memory_beyond_its_end": "3 elements from 1 on are not in memory of 3",
    "memory_of_another_dtype": "sent in another way than it was received",
    "memory_received_as_an_object": "does not fit into 1000 elements|another way",
    "memory_of_other_counts": "4 elements of a reduction came for 3",
    "memory_of_other_counts_broadcast": "3 elements of Bcast came for 4",
    "memory_of_objects": "a call with memory of dtype.'O'",
    "memory_in_another_order_of_bytes": "a call with memory of dtype.'>f8'",
    "a_plain_array_for_a_watched_message": (
        "is watched, and was received into a plain array|cannot be stored in a plain NumPy array"
    ),
    "a_plain_array_for_a_watched_sum": "cannot be stored in a plain NumPy array",
    "a_rank_that_raises": "mine",
    "a_rank_that_raises_while_another_waits_for_it": "mine",
    "a_rank_that_raises_on_the_way_back": "on the way back",
    "no_number_on_the_root": "gradient needs one real number",
    "a_call_in_another_task": "allreduce cannot be called",
    "a_call_in_a_checkpoint_of_an_inner_gradient": "allreduce cannot be called",
    "a_receipt_that_leaves_a_checkpoint": "a request was begun in a function of zyg.checkpoint",
    "a_send_that_is_asked_for_in_a_checkpoint": "and is waited for in it",
    "a_call_that_ends_in_a_checkpoint": "or was begun outside of it and is waited for in it",
    "a_checkpoint_that_raises": "exchanges messages has raised KeyError: 'mine'",
    "a_checkpoint_that_makes_other_calls": "calls bcast where it called allreduce in its first",
    "a_checkpoint_that_makes_fewer_calls": "calls nothing more where it called a send",
    "a_checkpoint_that_writes_to_what_it_is_given": "assignment destination is read-only",
    "a_call_in_an_inner_gradient": "allreduce cannot be called",
    "a_gradient_inside_it": "inside of another gradient",
    "a_gradient_around_it": "inside of another gradient",
    "a_gradient_of_one_rank": "no gradient over ranks runs",
    "calls_without_an_adjoint": "Send_init cannot be called",
    "a_window_of_memory": r"cannot take a watched value(?s:.*)where: .*failures\.py:.*Win\.Create",
    "more_gathered_than_asked_for": "3 elements came for 1",
    "more_scattered_than_asked_for": "4 elements of float64 do not fit into memory of 2",
    "more_exchanged_than_asked_for": "2 elements came for 1",
    "other_counts_of_a_sum": "2 elements of a reduction came for 1",
    "elements_that_cannot_be_divided": "3 elements cannot be divided among 2 ranks",
    "values_of_other_ranks_for_all": r"alltoall got \[2, 3\] values on the ranks",
    "ranks_that_wait_for_each_other": "all ranks wait for one another",
    "a_rank_that_waits_while_the_other_calls_all": "rank 1 for allreduce|of rank 1 with the tag 1",
    "a_request_of_several_that_never_ends": "wait for one another: .*rank 0 for one of several",
    "a_message_that_is_looked_for_and_not_sent": "rank 0 waits for a message of any rank",
    "a_cotangent_that_never_comes": (
        "rank 0 for a cotangent of rank 1, rank 1 for all ranks to have gone back|"
        "rank 1 for all ranks to have gone back, rank 0 for a cotangent of rank 1"
    ),
    "an_error_that_is_swallowed": "mine",
    "another_root_of_the_gradient": "takes another gradient",
    "other_settings": "takes another gradient",
    "a_fraction": "a watched Fraction cannot be sent",
    "no_wrapped_communicator": "comm is a Intracomm",
}


def test_every_program_that_cannot_go_on_is_told_of():
    assert {*cases("failures.py")} == {*SAID}


# What has nothing to do with a way forward.
BACK = (
    "a_cotangent_that_never_comes", "a_rank_that_raises_on_the_way_back", "no_number_on_the_root",
    "a_receipt_that_leaves_a_checkpoint", "a_call_that_ends_in_a_checkpoint",
    "a_send_that_is_asked_for_in_a_checkpoint",
    "a_checkpoint_that_raises", "a_checkpoint_that_makes_other_calls",
    "a_checkpoint_that_makes_fewer_calls", "a_checkpoint_that_writes_to_what_it_is_given",
)  # fmt: skip
MODES = [*SAID, *[f"{name}, along" for name in SAID if name not in BACK]]


@pytest.mark.parametrize("name", MODES)
def test_every_rank_raises_and_the_next_gradient_is_right(name, shared):
    raised = found(2, "failures.py", shared)[name]
    finders = [text for kind, text in raised if kind != "PeerError"]

    assert all(kind for kind, _ in raised)
    assert finders
    assert all(re.search(SAID[name.removesuffix(", along")], text) for _, text in raised)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("how", ["ends", "raises", "waits too long"])
def test_a_rank_that_takes_no_part_is_no_reason_to_wait_for_ever(how, ranks):
    ran = run(ranks, HERE / "absent.py", how, seconds=120)
    said = "has waited for 2.0 seconds" if how == "waits too long" else "has ended its program"

    assert "raised PeerError: rank" in ran.stdout
    assert said in ran.stdout


def test_a_rank_that_takes_long_is_waited_for():
    ran = run(3, HERE / "patience.py", "slow", seconds=120)
    assert ran.stdout.split() == ["gradient", "6.0"], ran.stderr


def test_a_rank_that_is_killed_ends_the_job():
    ran = run(3, HERE / "patience.py", "killed", seconds=120)
    assert ran.returncode != 0
    assert "gradient" not in ran.stdout
