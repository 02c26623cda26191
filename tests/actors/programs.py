"""Programs of actors, for any engine: `engine.make(cls, *args)`, `engine.get(references)`."""

import functools

import numpy as np

import zyg

X = np.linspace(0.2, 1.4, 5)


class Counter:
    """Adds up what it is given, damped by what it has."""

    def __init__(self, total=0.5):
        self.total = total
        self.seen = []

    def add(self, y):
        self.total = self.total * np.cos(np.sum(y)) + np.sum(y * y)
        self.seen.append(y)
        return {"total": self.total, "count": len(self.seen), "name": "counter"}

    def keep(self, y):
        self.seen.append(np.sin(y))

    def read(self):
        return [self.total, *self.seen]

    def fail(self, y):
        self.total = self.total + np.sum(y)
        raise KeyError("after the write")

    def sizes(self, values):
        return len(values)


SCALE = 1.0  # which a test sets


class Scaled:
    """What reads a global variable."""

    def of(self, x):
        return x * SCALE


class Optimizer:
    """Parameters with a momentum; its gradients are taken inside."""

    def __init__(self, w):
        self.w, self.v = w, 0.0 * w

    def step(self, chunk):
        g = 2 * (self.w - chunk) * np.sum(self.w)
        self.v = 0.9 * self.v + g
        self.w = self.w - 0.1 * self.v

    def loss(self):
        return np.sum(np.tanh(self.w) ** 2)


class Written:
    """Writes into an array that it has been given."""

    def __init__(self, n):
        self.n = n

    def begin(self, x):
        self.array = x * np.ones(self.n)

    def put(self, k, y):
        self.array[k] = y * self.array[k - 1]

    def whole(self):
        return self.array, self.array[1:]


class Kept:
    """What it is given, in the order in which that comes."""

    def __init__(self):
        self.kept = []

    def keep(self, x):
        self.kept.append(np.exp(x))

    def all(self):
        return self.kept


class Sequential:
    """What the programs are compared with: objects of this process."""

    def make(self, cls, *args):
        return cls(*args)

    def get(self, x):
        return x


def demand_same(engine, program):
    """Value, gradient and tangent are those of objects, and of their differences.

    Not of plain calls of the engine's: Dask runs those of an actor in any order.
    """
    f, f0 = (functools.partial(program, e) for e in (engine, Sequential()))
    (y, (g,)), (y0, (g0,)) = (zyg.value_and_gradient(h, X) for h in (f, f0))
    assert y == y0
    np.testing.assert_allclose(g, g0, rtol=1e-13, atol=1e-13)
    assert program in IN_ANOTHER_ORDER or g.tobytes() == g0.tobytes()
    direction, h = np.cos(X), 1e-6
    assert zyg.pushforward(f, (X,), (direction,)) == zyg.pushforward(f0, (X,), (direction,))
    moved = (f0(X + h * direction) - f0(X - h * direction)) / (2 * h)
    np.testing.assert_allclose(g @ direction, moved, rtol=1e-6)
    return y, g


# Programs of an engine and an array


def twice(engine, x):
    counter = engine.make(Counter)
    first = engine.get(counter.add(x))
    second = engine.get(counter.add(2 * x))
    assert (first["count"], second["count"], second["name"]) == (1, 2, "counter")
    return first["total"] * second["total"]


def asked_in_another_order(engine, x):
    counter = engine.make(Counter)
    made = [counter.add(k * x) for k in (1.0, 2.0, 3.0)]
    return sum(k * engine.get(y)["total"] ** 2 for k, y in enumerate(reversed(made), 1))


def unasked(engine, x):
    """What a call leaves in the actor counts, although nobody asks for its result."""
    counter = engine.make(Counter)
    counter.add(x)
    counter.keep(x[0])
    counter.add(np.ones(3))
    total, first, kept, ones = engine.get(counter.read())
    assert not zyg.is_traced(ones)
    return total * kept + np.sum(first)


def made_of_parameters(engine, x):
    optimizer = engine.make(Optimizer, x * x)
    for k in range(3):
        optimizer.step(np.cos(x + k))
    return engine.get(optimizer.loss())


def unused(engine, x):
    counter = engine.make(Counter, x[0])
    counter.add(x)
    return np.sum(np.sin(x))


def through_two(engine, x):
    """The state of one goes into the other's, and back."""
    one, two = engine.make(Counter), engine.make(Counter, 0.1)
    for k in (1.0, 0.5):
        y = engine.get(one.add(k * x))["total"]
        z = engine.get(two.add(np.stack([y, x[0]])))["total"]
        one.add(np.tanh(z))
    return engine.get(one.read())[0] + engine.get(two.read())[0]


def plain_calls_between(engine, x):
    counter = engine.make(Counter)
    assert engine.get(counter.add(np.ones(2)))["count"] == 1
    counter.add(x)
    assert engine.get(counter.sizes([1, 2])) == 2
    return engine.get(counter.read())[0]


def an_error_that_is_caught(engine, x):
    counter = engine.make(Counter)
    counter.add(x)
    try:
        engine.get(counter.fail(x))
    except KeyError:
        return engine.get(counter.read())[0] ** 2
    raise AssertionError


def written(engine, x):
    actor = engine.make(Written, 5)
    actor.begin(x)
    for k in (1, 2, 4):
        actor.put(k, x[k] ** 2)
    whole, part = engine.get(actor.whole())
    return np.sum(whole * np.cos(x)) + np.sum(part**2)


PROGRAMS = [
    twice, asked_in_another_order, unasked, made_of_parameters, unused, through_two,
    plain_calls_between, an_error_that_is_caught, written,
]  # fmt: skip
IN_ANOTHER_ORDER = unasked, an_error_that_is_caught  # sums
