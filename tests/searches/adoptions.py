"""Two threads that adopt, release, begin and end gradients, in every order.

A case is a sequence of steps for each of two threads, and an order of all of them, in which the
threads take turns. After each step an adopted module must be as a model of it says: it has drop-ins
if somebody asks for it and any gradient runs, and else its own names. What a thread computes with
it in a gradient has its derivative; afterwards every name is what it was.
"""

import itertools
import math
import sys
import threading
import types

import zyg
from zyg.base.adoptable import running, turns

from .search import Search, main

LIMIT = 60  # seconds: a deadlock fails
STEPS = "adopt", "release", "enter", "leave"
LENGTHS = 6, 8  # of two threads' steps together: of any, and if each has half of them
X = 0.25


def sequences():
    """Of a thread: what is released was adopted, what is left was entered, and all is left."""
    found = []
    for steps in itertools.chain(*(itertools.product(STEPS, repeat=n) for n in range(1, 5))):
        moves = [(s == "adopt") - (s == "release") for s in steps]
        depths = [*itertools.accumulate((s == "enter") - (s == "leave") for s in steps)]
        if min(itertools.accumulate(moves)) >= 0 == depths[-1] and min(depths) >= 0:
            found.append(steps)
    return found


PAIRS = [
    (a, b)
    for a, b in itertools.combinations_with_replacement(sequences(), 2)
    if "enter" in a + b
    and "adopt" in a + b
    and (len(a) + len(b) <= LENGTHS[0] or len(a) == len(b) == LENGTHS[1] // 2)
]
ENDS = [*itertools.accumulate(math.comb(len(a) + len(b), len(a)) for a, b in PAIRS)]


def case(number):
    k = next(k for k, end in enumerate(ENDS) if number < end)
    a, b = PAIRS[k]
    places = itertools.combinations(range(len(a) + len(b)), len(a))  # of the first thread's steps
    first = next(itertools.islice(places, ENDS[k] - number - 1, None))
    return a, b, [int(k not in first) for k in range(len(a) + len(b))]


class Walk:
    """Threads that take their steps in an order, and what is to be seen meanwhile."""

    def __init__(self, *steps):
        self.steps, self.module = steps, types.ModuleType("library")
        exec(
            "import math\nTABLE = [len, math.exp]\n"
            "def f(x, exp=math.exp): return exp(x) * TABLE[1](x) * math.exp(x)",
            vars(self.module),
        )
        self.turns = [threading.Semaphore(0) for _ in steps]
        self.done = threading.Semaphore(0)
        self.asked = self.running = 0
        self.adoptions, self.errors = [], []

    def look(self):
        """All places of the module are as they should be by now."""
        now = [self.module.math, self.module.TABLE[1], *self.module.f.__defaults__]
        own = [x is y for x, y in zip(now, [math, math.exp, math.exp], strict=True)]
        expected = not (self.asked and self.running)
        assert own == [expected] * 3, f"own names: {own}, and not {expected}"

    def go(self, steps, adoptions, x=None):
        """Take steps up to the one that leaves; in a gradient, its value and its slope."""
        y, slope = x, 1.0
        for turn, step in steps:
            assert turn.acquire(timeout=LIMIT), "a deadlock"
            if step == "leave":
                return y, slope
            if step == "adopt":
                adoptions.append(zyg.adopt(self.module))
                self.asked += 1
            elif step == "release":
                adoptions.pop().release()
                self.asked -= 1
            else:
                self.differentiate(steps, adoptions)
            self.look()
            if x is not None and self.asked:
                y, slope = y + self.module.f(x), slope + 3 * math.exp(3 * X)
            self.done.release()
        return y, slope

    def differentiate(self, steps, adoptions):
        expected = []

        def f(x):
            self.running += 1
            self.look()
            y = self.module.f(x) if self.asked else x
            first = 3 * math.exp(3 * X) if self.asked else 1.0
            self.done.release()
            more, slope = self.go(steps, adoptions, x)
            expected.append(first + slope)
            return y + more

        (slope,) = zyg.gradient(f, X)
        self.running -= 1
        assert math.isclose(slope, expected[0]), f"{slope} instead of {expected[0]}"

    def work(self, k):
        adoptions = []
        self.adoptions.append(adoptions)
        try:
            self.go(((self.turns[k], step) for step in self.steps[k]), adoptions)
        except BaseException as error:
            self.errors.append(error)
            self.done.release()

    def run(self, order):
        threads = [threading.Thread(target=self.work, args=(k,), daemon=True) for k in (0, 1)]
        for thread in threads:
            thread.start()
        for k in order:
            self.turns[k].release()
            assert self.done.acquire(timeout=LIMIT), "a deadlock"
            if self.errors:
                raise self.errors[0]
        for thread in threads:
            thread.join(LIMIT)
            assert not thread.is_alive(), "a deadlock"
        for adoption in itertools.chain(*self.adoptions):
            adoption.release()
            self.asked -= 1
        self.look()


def check(case):
    *steps, order = case
    finders = [*sys.meta_path]
    try:
        Walk(*steps).run(order)
        assert zyg.adopted().modules == {}, "something stays adopted"
        assert not running
        assert not turns
        assert sys.meta_path == finders
    except BaseException as error:
        zyg.adopted().release()
        raise AssertionError(f"{case}: {error}") from error
    return "as the model says"


SEARCH = Search(case, check, ENDS[-1], gate=400)


if __name__ == "__main__":
    main(SEARCH, __doc__)
