"""Values that come from a cluster, of several futures at once."""

import threading
from concurrent.futures import CancelledError, Future

import pytest

from zyg.tasks.arrivals import Arrivals


class Remote(Future):
    """A future of Dask's, as far as it is asked."""


def fetched():
    """What fetches values, in a thread that waits for us, and the sizes of what it was asked for"""
    sizes, may = [], threading.Event()

    def gather(raws):
        sizes.append(len(raws))
        may.wait(60)
        return [raw.result() for raw in raws]

    return Arrivals(gather), sizes, may


def test_what_is_ready_while_others_are_fetched_is_fetched_together():
    arrivals, sizes, may = fetched()
    raws = [Remote() for _ in range(9)]
    made = [arrivals.of(raw) for raw in raws]
    for k, raw in enumerate(raws):
        raw.set_result(k)
    may.set()

    assert [future.result(60) for future in made] == [*range(9)]
    assert sum(sizes) == 9
    assert len(sizes) <= 3


def test_each_gets_its_own_value_or_error():
    arrivals, _, may = fetched()
    may.set()
    good, bad = Remote(), Remote()
    made = [arrivals.of(good), arrivals.of(bad)]
    bad.set_exception(KeyError("here"))
    good.set_result(3)

    assert made[0].result(60) == 3
    with pytest.raises(KeyError, match="here"):
        made[1].result(60)


def test_a_gathering_that_fails_is_done_one_by_one():
    def gather(raws):
        raise OSError("a worker was lost")

    raw = Remote()
    made = Arrivals(gather).of(raw)
    raw.set_result(3)

    assert made.result(60) == 3


def test_who_cancels_cancels_what_computes():
    arrivals, _, may = fetched()
    may.set()
    raw = Remote()
    made = arrivals.of(raw)

    assert made.cancel()
    assert raw.cancelled()
    with pytest.raises(CancelledError):
        made.result(60)
    gone = Remote()
    made = arrivals.of(gone)
    assert gone.cancel()
    with pytest.raises(CancelledError):
        made.result(60)
    later = Remote()
    found = arrivals.of(later)
    later.set_result(1)
    assert found.result(60) == 1


def test_the_thread_ends_and_another_one_begins():
    arrivals, _, may = fetched()
    may.set()
    for k in range(3):
        raw = Remote()
        made = arrivals.of(raw)
        raw.set_result(k)
        assert made.result(60) == k


def test_without_another_thread_nobody_waits_for_ever(monkeypatch):
    def refused(*args, **kwargs):
        raise RuntimeError("can't start new thread")

    arrivals, _, may = fetched()
    may.set()
    raw, later = Remote(), Remote()
    made = arrivals.of(raw)
    with monkeypatch.context() as patch:
        patch.setattr("zyg.tasks.arrivals.Thread", refused)
        raw.set_result(1)
    with pytest.raises(RuntimeError, match="new thread"):
        made.result(60)
    made = arrivals.of(later)
    later.set_result(2)
    assert made.result(60) == 2
