"""Values that come from a cluster: who asks for one fetches all that are ready."""

import gc
import threading
import weakref
from concurrent.futures import CancelledError, Future

import pytest

from zyg.tasks.arrivals import Arrivals


class Remote(Future):
    """A future of Dask's, as far as it is asked."""

    @property
    def status(self):
        return "error" if self.exception() else "finished"

    def traceback(self):
        return self.exception().__traceback__


def fetched():
    """What fetches values, and the sizes of what it was asked for."""
    sizes = []

    def gather(raws):
        sizes.append(len(raws))
        return [raw.result() for raw in raws]

    return Arrivals(gather), sizes


def test_nothing_is_fetched_before_somebody_asks_and_then_all_that_is_ready():
    arrivals, sizes = fetched()
    raws = [Remote() for _ in range(9)]
    made = [arrivals.of(raw) for raw in raws]
    for k, raw in enumerate(raws[:8]):
        raw.set_result(k)
    assert [future.done() for future in made] == [True] * 8 + [False]
    assert sizes == []

    assert [future.result(60) for future in made[:8]] == [*range(8)]
    assert sizes == [8]
    raws[8].set_result(8)
    assert made[8].result(60) == 8
    assert sizes == [8, 1]


def test_each_gets_its_own_value_or_error():
    arrivals, _ = fetched()
    good, bad = Remote(), Remote()
    made = [arrivals.of(good), arrivals.of(bad)]
    bad.set_exception(KeyError("here"))
    good.set_result(3)

    assert made[0].result(60) == 3
    assert made[1].exception(60).args == ("here",)
    with pytest.raises(KeyError, match="here"):
        made[1].result(60)


class ManyError(Exception):
    def __init__(self, count):
        super().__init__(f"{count} of them")


@pytest.mark.parametrize("error", [KeyError("here"), ManyError(3), OSError(2, "no file")])
def test_an_error_is_told_as_it_is(error):
    arrivals, _ = fetched()
    error.add_note("a note")
    raw = Remote()
    made = arrivals.of(raw)
    raw.set_exception(error)

    found = made.exception(60)
    assert (type(found), found.args, str(found)) == (type(error), error.args, str(error))
    assert found.__notes__ == ["a note"]


def test_a_gathering_that_fails_is_done_one_by_one():
    def gather(raws):
        raise OSError("a worker was lost")

    arrivals = Arrivals(gather)
    raws = Remote(), Remote()
    made = [arrivals.of(raw) for raw in raws]
    for k, raw in enumerate(raws):
        raw.set_result(k)

    assert [future.result(60) for future in made] == [0, 1]


def test_who_is_interrupted_leaves_the_values_to_the_next():
    interrupts = [KeyboardInterrupt()]

    def gather(raws):
        if interrupts:
            raise interrupts.pop()
        return [raw.result() for raw in raws]

    raw = Remote()
    made = Arrivals(gather).of(raw)
    raw.set_result(3)
    with pytest.raises(KeyboardInterrupt):
        made.result()
    assert made.result() == 3


def test_who_cancels_cancels_what_computes():
    arrivals, _ = fetched()
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


def test_what_nobody_wants_any_more_is_let_go_of():
    arrivals, sizes = fetched()
    raws = [Remote() for _ in range(2)]
    made = [arrivals.of(raw) for raw in raws]
    for raw in raws:
        raw.set_result(1)
    gone = weakref.ref(raws.pop())
    del made[1], raw
    gc.collect()

    assert gone() is None
    assert made[0].result(60) == 1
    assert sizes == [1]


def test_threads_that_ask_at_once_fetch_each_value_once():
    arrivals, sizes = fetched()
    raws = [Remote() for _ in range(40)]
    made = [arrivals.of(raw) for raw in raws]
    found = [None] * len(made)

    def ask(k):
        found[k] = made[k].result(60)

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(len(made))]
    for thread in threads:
        thread.start()
    for k, raw in enumerate(raws):
        raw.set_result(k)
    for thread in threads:
        thread.join()
    assert found == [*range(40)]
    assert sum(sizes) == 40
