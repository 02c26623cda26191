"""The cyclic collector is off while programs are made, and on again after that."""

import gc
import os
import threading

import pytest

from zyg.base.collector import uncollected


@pytest.fixture(autouse=True)
def collector_on():
    assert gc.isenabled()
    yield
    gc.enable()


def test_the_collector_is_off_inside_and_on_after():
    @uncollected
    def make(x):
        return gc.isenabled(), x

    assert make(3) == (False, 3)
    assert gc.isenabled()


def test_an_exception_puts_it_on():
    @uncollected
    def make():
        assert not gc.isenabled()
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        make()
    assert gc.isenabled()


def test_it_stays_off_for_who_had_it_off():
    gc.disable()
    assert uncollected(gc.isenabled)() is False
    assert not gc.isenabled()


def test_calls_in_several_threads_leave_it_on():
    begun, go_on = threading.Barrier(3), threading.Event()

    @uncollected
    def make():
        begun.wait(10)
        go_on.wait(10)

    threads = [threading.Thread(target=make) for _ in range(2)]
    for thread in threads:
        thread.start()
    begun.wait(10)
    assert not gc.isenabled()
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_meanwhile_has_it_on():
    begun, go_on = threading.Event(), threading.Event()

    @uncollected
    def make():
        begun.set()
        go_on.wait(10)

    thread = threading.Thread(target=make)
    thread.start()
    begun.wait(10)
    child = os.fork()
    if not child:
        os._exit(0 if gc.isenabled() else 1)
    _, status = os.waitpid(child, 0)
    go_on.set()
    thread.join(10)
    assert status == 0
    assert gc.isenabled()
