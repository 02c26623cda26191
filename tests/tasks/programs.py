"""Random concurrent programs, and the sequential programs that they are equivalent to.

A program is grown as one sequence of actions of several tasks: computing, sending along the channel
from one task to another, receiving, starting a task, waiting for one. Run in that order it is the
sequential program. The tasks' own parts of it, run side by side, are the concurrent one: each
channel has one sender and one receiver, so what they compute does not depend on the schedule
(Kahn 1974), and the sequence shows that it does not deadlock with the capacities it was grown with.

A buffer belongs to one task at a time, which reads and writes it, and sends it on.
"""

import functools
import random
from dataclasses import dataclass, field

import numpy as np

import zyg
import zyg.numpy

# Computations: of the numbers and arrays at hand. The names say what they need: a number, an array,
# a buffer.


def wave(p, a, b):
    return np.sin(a + 0.7 * b)


def product(p, a, b):
    return a * np.cos(b) + p


def mean(p, a, b):
    return 0.5 * (a - b) + p * a


def quotient(p, a, b):
    return a / (2.0 + b * b)


def power(p, a, b):
    return np.tanh(a) ** 3 - b


def nested(p, a, b):
    return zyg.gradient(lambda z: np.sin(z * a) * p + z * z * b, b)[0]


def checkpointed(p, a, b):
    return zyg.checkpoint(lambda a, b: np.sin(a) * b + p, a, b)


def total(p, v, w):
    return np.sum(np.sin(v) * w)


def element(p, v, w):
    return v[int(3 * p) % 3] * w[-1]


def outer(p, v, w):
    return np.sin(v) * w + p


def scaled(p, v, a):
    return v * a


def shifted(p, v, w):
    return np.concatenate([v[1:], w[:1] * p])


def made_buffer(p, v, w):
    # in a thread that nobody forked, what is around is not known
    buffer = zyg.numpy.zeros(4) if zyg.nestlevel() else np.zeros_like(v, shape=4)
    buffer[1:] = v
    return buffer


def read(p, buffer, v):
    return buffer[int(4 * p) % 4] * 1.5


def read_part(p, buffer, v):
    return np.sin(buffer[1:]) + v


def write(p, buffer, a):
    buffer[int(4 * p) % 4] = a


def write_part(p, buffer, v):
    buffer[:3] = v * np.mean(buffer)


def augment(p, buffer, a):
    buffer *= np.cos(a)


def add_to_view(p, buffer, v):
    view = buffer[::-1]
    view[:3] += v


NUMBERS = {wave: "aa", product: "aa", mean: "aa", quotient: "aa", power: "aa", nested: "aa",
           checkpointed: "aa", total: "vv", element: "vv", read: "bv"}  # fmt: skip
ARRAYS = {outer: "vv", scaled: "va", shifted: "vv", read_part: "bv"}
WRITES = {write: "ba", write_part: "bv", augment: "ba", add_to_view: "bv"}
COMPUTE = {**{f: ("a", n) for f, n in NUMBERS.items()}, **{f: ("v", n) for f, n in ARRAYS.items()},
           **{f: (None, n) for f, n in WRITES.items()}, made_buffer: ("b", "vv")}  # fmt: skip


@dataclass
class Task:
    """What one task does: its actions, and the names of what it has when it ends."""

    kind: str = "main"
    actions: list = field(default_factory=list)
    has: dict = field(default_factory=lambda: {"a": [], "v": [], "b": []})
    ended: bool = False


@dataclass
class Program:
    """Tasks, the first one first; the capacities of channels; all actions in one order."""

    tasks: list
    capacities: dict
    order: list  # (number of a task, action)

    def __str__(self):
        lines = [f"task {k}: {task.kind}" for k, task in enumerate(self.tasks)]
        shown = [
            " ".join(getattr(part, "__name__", str(part)) for part in a) for _, a in self.order
        ]
        return "\n".join(
            [*lines, *(f"{k}: {s}" for (k, _), s in zip(self.order, shown, strict=True))]
        )


class Grower:
    """Grows a program from a seed; `kinds` are those of its tasks."""

    def __init__(self, seed, kinds):
        self.rng = random.Random(seed)
        self.kinds = kinds
        self.names = 0
        main = Task(has={"a": ["x"], "v": ["y"], "b": []})
        self.program = Program([main], {}, [])
        self.waiting = {}  # channel -> what is in it: (kind, name of it at the sender)

    def act(self, k, *action):
        self.program.tasks[k].actions.append(action)
        self.program.order.append((k, action))

    def new(self, k, kind):
        self.names += 1
        name = f"{kind}{self.names}"
        self.program.tasks[k].has[kind].append(name)
        return name

    def pick(self, k, kind):
        """The name of a value; newer ones more often."""
        names = self.program.tasks[k].has[kind]
        return names[max(self.rng.randrange(len(names)), self.rng.randrange(len(names)))]

    def grow(self, length):
        moves = [self.compute] * 6 + [self.send] * 4 + [self.receive] * 4 + [self.start] * 2
        moves += [self.wait, self.pause, self.pause, self.fountain, self.failing]
        while len(self.program.order) < length:
            open_tasks = [k for k, task in enumerate(self.program.tasks) if not task.ended]
            self.rng.choice(moves)(self.rng.choice(open_tasks))
        for k in range(1, len(self.program.tasks)):
            if not self.program.tasks[k].ended:
                self.end(k)
        return self.program

    def compute(self, k):
        f = self.rng.choice([*COMPUTE])
        made, needs = COMPUTE[f]
        if all(self.program.tasks[k].has[kind] for kind in needs):
            names = [self.pick(k, kind) for kind in needs]
            p = round(self.rng.random(), 3)
            self.act(k, "compute", self.new(k, made) if made else None, f, p, *names)

    def send(self, k):
        others = [j for j, t in enumerate(self.program.tasks) if j != k and not t.ended]
        if not others:
            return
        other = self.rng.choice(others)
        capacity = self.program.capacities.setdefault((k, other), self.rng.choice([0, 1, 2, 100]))
        inside = self.waiting.setdefault((k, other), [])
        if capacity and len(inside) >= capacity:
            return
        has = self.program.tasks[k].has
        kind = self.rng.choice([kind for kind in "avb" if has[kind]])
        name = self.pick(k, kind)
        if kind == "b":
            has["b"].remove(name)  # it is the receiver's now
        inside.append(kind)
        self.act(k, "send", other, kind, name)
        if not capacity:
            self.take(other, k)

    def receive(self, k):
        sources = [j for (j, to), inside in self.waiting.items() if to == k and inside]
        if sources:
            self.take(k, self.rng.choice(sources))

    def take(self, k, source):
        kind = self.waiting[source, k].pop(0)
        self.act(k, "receive", source, self.new(k, kind))

    def start(self, k):
        if len(self.program.tasks) < 7:
            has = self.program.tasks[k].has
            child = Task(self.rng.choice(self.kinds), has={**{s: [*has[s]] for s in "av"}, "b": []})
            self.program.tasks.append(child)
            self.act(k, "start", len(self.program.tasks) - 1)

    def end(self, k):
        """The task ends; the first one waits for it and has what it had."""
        task = self.program.tasks[k]
        task.ended = True
        self.act(0, "wait", k)
        for kind in "av":
            if task.has[kind]:
                name = self.pick(k, kind)
                self.act(0, "fetch", k, name, self.new(0, kind))

    def wait(self, k):
        others = [j for j, t in enumerate(self.program.tasks) if j and not t.ended]
        # What was sent to it and not received would fill its channels for ever.
        if k == 0 and others and self.rng.random() < 0.5:
            self.end(self.rng.choice(others))

    def pause(self, k):
        self.act(k, "pause")

    def fountain(self, k):
        if self.rng.random() < 0.3:
            n = self.rng.randrange(1, 4)
            self.act(k, "fountain", n, self.pick(k, "a"), self.new(k, "a"))

    def failing(self, k):
        if self.rng.random() < 0.3:
            self.act(k, "failing", self.pick(k, "a"), self.new(k, "a"))


def compute(has, action):
    _, made, f, p, *names = action
    value = f(p, *(has[name] for name in names))
    if made:
        has[made] = value


def result(program, has):
    """A number that depends on all that the first task has."""
    names = program.tasks[0].has
    parts = [has[name] for name in names["a"]]
    parts += [np.sum(has[name] * has[name]) for kind in "vb" for name in names[kind]]
    value = 0.0
    for k, part in enumerate(parts):
        value = value + (1.0 - 0.1 * (k % 7)) * part
    return value


def sequential(program, x, y):
    """The program run in the order in which it was grown."""
    values = [{} for _ in program.tasks]
    values[0].update(x=x, y=y)
    channels = {}
    for k, action in program.order:
        has = values[k]
        match action:
            case ("compute", *_):
                compute(has, action)
            case ("send", to, _, name):
                channels.setdefault((k, to), []).append(has[name])
            case ("receive", source, name):
                has[name] = channels[source, k].pop(0)
            case ("start", child):
                values[child].update(has)
            case ("fetch", child, theirs, mine):
                has[mine] = values[child][theirs]
            case ("fountain", n, name, made):
                has[made] = sum([np.sin(has[name] * j) for j in range(1, n + 1)])
            case ("failing", name, made):
                has[made] = 2.0 * has[name] ** 2
    return result(program, values[0])


def program(seed, kinds, length=None):
    """The program of a seed, with tasks of these kinds."""
    return Grower(seed, kinds).grow(length or random.Random(seed).randrange(8, 60))


POINT = (0.4, np.array([0.3, -0.5, 0.9]))


@functools.lru_cache(maxsize=64)
def expected(seed, kinds):
    """The program of a seed, its value and its gradient, by the sequential program."""
    grown = program(seed, kinds)
    return grown, *zyg.value_and_gradient(lambda x, y: sequential(grown, x, y), *POINT, zeros=True)
