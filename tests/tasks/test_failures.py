"""A rule that raises in a reverse pass, a trace that is corrupt: one error, and nothing runs."""

import asyncio
import threading

import numpy as np
import pytest
import trio

import zyg
from zyg import trio as zyg_trio
from zyg.core.exchange import deliver
from zyg.core.trace import Trace
from zyg.errors import AdjointInvariantError


class Interrupted(BaseException):
    """As KeyboardInterrupt, which pytest keeps to itself."""


@zyg.adjoint
def faulty(x, kind):
    def faulty_pullback(y_bar):
        raise kind("in the rule")

    return x * 1.0, faulty_pullback


@pytest.mark.parametrize("kind", [ZeroDivisionError, Interrupted])
@pytest.mark.parametrize("workers", [0, 1, 7])
def test_a_rule_that_raises_in_a_thread(kind, workers):
    def f(x):
        ys = [None] * 9

        def work(k):
            y = faulty(x, kind) if k == 7 else x
            for _ in range(50):
                y = np.sin(y)
            ys[k] = y

        threads = [zyg.threads.Thread(target=work, args=(k,), name=f"worker-{k}") for k in range(9)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return sum(ys)

    before = threading.active_count()
    for _ in range(5):
        with zyg.config(workers=workers), pytest.raises(kind, match="in the rule") as caught:
            zyg.gradient(f, 0.5)
        assert caught.value.__notes__ == [
            "zyg: while running the adjoint of faulty recorded by task 'worker-7' (path 7)"
        ]
        assert threading.active_count() == before
    x = zyg.gradient(lambda x: x * x, 3.0)
    assert x == (6.0,)


@pytest.mark.parametrize("loop", ["trio", "asyncio"])
def test_a_rule_that_raises_in_a_task_of_a_loop(loop):
    async def f(x):
        got = []

        async def work(k):
            y = faulty(x, ZeroDivisionError) if k == 2 else x
            got.append(np.sin(y))

        if loop == "asyncio":
            await asyncio.gather(*(work(k) for k in range(4)))
        else:
            async with zyg_trio.open_nursery() as nursery:
                for k in range(4):
                    nursery.start_soon(work, k, name=f"worker-{k}")
        return sum(got)

    name = "'main' (path root)" if loop == "asyncio" else "'worker-2' (path 2)"
    run = asyncio.run if loop == "asyncio" else lambda gradient: trio.run(lambda: gradient)
    with pytest.raises(ZeroDivisionError) as caught:
        run(zyg.gradient_async(f, 0.5))
    assert caught.value.__notes__ == [
        f"zyg: while running the adjoint of faulty recorded by task {name}"
    ]


def test_several_rules_that_raise_give_one_error():
    class NumberedError(Exception):
        pass

    @zyg.adjoint
    def numbered(x, k):
        def numbered_pullback(y_bar):
            raise NumberedError(k)

        return x * 1.0, numbered_pullback

    def f(x):
        def numbered_in(k):
            return numbered(x, k)

        return sum(zyg.threads.map(numbered_in, range(6)))

    with zyg.config(workers=0), pytest.raises(NumberedError, match="5"):  # they stop at the first
        zyg.gradient(f, 0.5)
    for workers in (1, 7):
        with zyg.config(workers=workers), pytest.raises(NumberedError) as caught:
            zyg.gradient(f, 0.5)
        assert any("recorded by task 'numbered_in" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("workers", [0, 3])
def test_a_corrupted_trace_raises_and_does_not_hang(workers):
    def f(x):
        return sum(zyg.threads.map(lambda k: np.sin(x * k), range(4)))

    trace = Trace(f, (0.5,), {})
    strand = trace.strand.kin.family[2]
    at = strand.tape.index(deliver)
    strand.tape[at - 2 : at + 3] = [None, None, lambda run: (), None, ()]
    before = threading.active_count()
    with (
        zyg.config(workers=workers),
        pytest.raises(AdjointInvariantError, match=r"cannot advance; waiting: main"),
    ):
        trace.back(1.0, False)
    assert threading.active_count() == before
