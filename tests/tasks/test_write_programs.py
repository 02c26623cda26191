"""The random programs that write into arrays (tests/core), their statements spread over tasks."""

import queue
import random
from dataclasses import dataclass

import numpy
import pytest

import zyg

from ..core.programs import Program, checked, loss, program


class Worker:
    """A thread with strands of its own that runs one function after the other."""

    def __init__(self):
        self.calls, self.results = queue.Queue(), queue.Queue()
        self.thread = zyg.threads.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while (call := self.calls.get()) is not None:
            try:
                call()
            except BaseException as error:
                self.results.put(error)
            else:
                self.results.put(None)

    def run(self, call):
        self.calls.put(call)
        if (error := self.results.get()) is not None:
            raise error

    def end(self):
        self.calls.put(None)
        self.thread.join()


@dataclass(frozen=True)
class Spread(Program):
    """A program whose statements are run by the first task and two others in turn."""

    seed: int = 0

    def function(self):
        def f(x, np, log):
            scope = {"np": np, "x": x, "loss": loss}
            if np is numpy:
                for statement in self.statements:
                    exec(statement, scope)
            else:
                self.spread(scope)
            log[:] = [scope[name] for name in self.names]
            return loss(*log)

        return f

    def spread(self, scope):
        rng, workers = random.Random(self.seed), [Worker(), Worker()]
        try:
            for statement in self.statements:
                place = rng.randrange(3)
                if place == 2:
                    exec(statement, scope)
                else:
                    workers[place].run(lambda s=statement: exec(s, scope))
        finally:
            for worker in workers:
                worker.end()


@pytest.mark.parametrize("chunk", range(12))
def test_gradients_do_not_depend_on_who_writes(chunk):
    for seed in range(50_000 + 25 * chunk, 50_025 + 25 * chunk):
        grown = program(seed)
        spread = Spread(grown.x, grown.statements, grown.names, grown.kinds, seed)
        checked(seed, spread, second_every=4)
