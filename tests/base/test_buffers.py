"""The pool of memory: nothing that is in use is handed out, and not too much is kept."""

import gc
import itertools
import subprocess
import sys
import threading

import numpy as np
import pytest

import zyg
from zyg.base import buffers

F32 = np.dtype(np.float32)
LARGE = (512, 512)


@pytest.fixture(autouse=True)
def empty_pool():
    gc.collect()
    buffers._idle.clear()


def address(array):
    return array.__array_interface__["data"][0]


def idle_bytes():
    return sum(piece.size for piece in buffers._idle.values())


def test_an_array_is_ordinary_and_writeable():
    x = buffers.empty(LARGE, F32)
    x[...] = 1
    assert type(x) is np.ndarray
    assert (x.shape, x.dtype, x.flags.c_contiguous, x.flags.writeable) == (LARGE, F32, True, True)
    assert x.sum() == 512 * 512


def test_memory_is_reused_once_the_array_is_gone():
    x = buffers.empty(LARGE, F32)
    was = address(x)
    del x
    assert address(buffers.empty((1024, 256), F32)) == was


def test_memory_begins_with_a_line_of_the_cache_and_at_different_places_of_its_pages():
    arrays = [buffers.empty(LARGE, F32) for _ in range(20)]
    places = [address(x) % 4096 for x in arrays]
    assert not any(place % 64 for place in places)
    assert len({*places}) == len(places)
    assert {(b - a) % 4096 for a, b in itertools.pairwise(places)} == {192}


def test_what_is_written_past_the_cache_has_memory_of_its_own():
    x, y = buffers.empty(LARGE, F32), buffers.empty(LARGE, F32, streamed=True)
    cached, streamed = address(x), address(y)
    del x, y
    assert address(buffers.empty(LARGE, F32)) == cached
    assert address(buffers.empty(LARGE, F32, streamed=True)) == streamed


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[3:5],
        lambda x: x.T[::-2],
        lambda x: x.reshape(-1)[7:],
        lambda x: x.view(np.int32),
        lambda x: np.asarray(memoryview(x)),
        lambda x: np.broadcast_to(x, (2, *x.shape)),
        np.ascontiguousarray,
        np.asarray,
    ],
)
def test_a_view_keeps_the_memory_in_use(view):
    x = buffers.empty(LARGE, F32)
    x[...] = 1
    part = view(x)
    before = part.copy()
    del x
    assert not buffers._idle
    other = buffers.empty(LARGE, F32)
    other[...] = 2
    assert (part == before).all()
    del part
    assert len(buffers._idle) == 1


def test_small_arrays_are_numpys_own():
    assert buffers.empty((10,), F32).base is None


def test_size_0_and_0_d():
    assert buffers.empty((0, 5), F32).shape == (0, 5)
    assert buffers.empty((), F32).shape == ()


def test_the_pool_keeps_the_newest_up_to_its_bound():
    arrays = [buffers.empty(LARGE, F32) for _ in range(5)]
    places = [address(x) for x in arrays]
    with zyg.config(pool_bytes=2 * arrays[0].nbytes):
        while arrays:
            most = 2 * arrays.pop(0).nbytes
            assert idle_bytes() <= most
    assert [piece.address for piece in buffers._idle.values()] == places[3:]


def test_other_sizes_do_not_fill_the_pool_for_ever():
    with zyg.config(pool_bytes=2 << 20):
        del (x := [buffers.empty(LARGE, F32), buffers.empty(LARGE, F32)])[:]
        y = buffers.empty((512, 300), F32)
        was = address(y)
        del y
        assert address(buffers.empty((512, 300), F32)) == was
        assert x == []


def test_an_exception_gives_the_memory_back():
    def fails():
        x = buffers.empty(LARGE, F32)
        raise ValueError(x.shape)

    with pytest.raises(ValueError, match="512"):
        fails()
    gc.collect()
    assert len(buffers._idle) == 1


def test_a_cycle_gives_the_memory_back():
    x = [buffers.empty(LARGE, F32)]
    x.append(x)
    del x
    gc.collect()
    assert len(buffers._idle) == 1


def test_threads_never_share_memory():
    faults = []

    def work(me):
        for k in range(200):
            x = buffers.empty(LARGE, F32)
            x[0] = me
            y = buffers.empty(LARGE, F32)
            y[0] = -me
            if k % 3 == 0:
                x = x[:, ::2]
            if (x[0] != me).any() or (y[0] != -me).any():
                faults.append(me)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
        assert not thread.is_alive()
    assert faults == []


def test_arrays_that_live_to_the_end_of_the_process():
    program = """
import numpy as np
from zyg.base import buffers
x = buffers.empty((512, 512), np.dtype(np.float32))
class Keeper: pass
Keeper.x = buffers.empty((512, 512), np.dtype(np.float32)); Keeper.me = Keeper
np.kept = x
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stderr) == (0, "")
