"""Programs of Ray's tasks, for Ray and for `Sequential`, and an array."""

import functools

import numpy as np


class Sequential:
    """What the programs are compared with: calls of this process."""

    def remote(self, f=None, **options):
        if f is None:
            return functools.partial(self.remote, **options)
        f.remote = f
        f.options = lambda **options: f
        return f

    def put(self, x):
        return x

    def get(self, x, timeout=None):
        return x

    def wait(self, refs, num_returns=1):
        return refs[:num_returns], refs[num_returns:]


SCALE = 1.0  # which a test sets


def scaled(x):
    return x * SCALE


def mapped(ray, x):
    @ray.remote
    def part(x, k):
        return np.sum(np.tanh(k * x) * x[0])

    return sum(ray.get([part.remote(x, k) for k in (1.0, 2.0, 3.0)]))


def with_options(ray, x):
    @ray.remote(num_cpus=0.5, max_retries=1)
    def part(x, *, power):
        return x**power

    return np.sum(ray.get(part.options(num_cpus=1, name="p").remote(x, power=3)))


def closures(ray, x):
    scale = np.cos(x)

    @ray.remote
    def f(k):
        return np.sum(np.tanh(k * x) * scale)

    return sum(ray.get([f.remote(k) for k in (1.0, 2.0)]))


def containers(ray, x):
    @ray.remote
    def f(model, k):
        u, v = model["w"]
        return {"a": np.sum(u * v) ** k, "n": len(model), "b": [u * v[0], (v, "text")]}

    found = ray.get(f.remote({"w": [x, 2 * x], "name": "m"}, 2))
    assert type(found["n"]) is int
    return found["a"] + np.sum(found["b"][0] * found["b"][1][0] ** 2)


def shared(ray, x):
    """What is put is used by several tasks, and here."""

    @ray.remote
    def part(w, k):
        return np.sum(np.sin(w["a"] * k) * w["b"])

    w = ray.put({"a": x * 2, "b": np.sum(x), "name": "w"})
    parts = [part.remote(w, k) for k in (1.0, 2.0, 3.0)]
    return sum(ray.get(parts)) + np.sum(ray.get(w)["a"] ** 2)


def chained(ray, x):
    """References as arguments: values go from worker to worker."""

    @ray.remote
    def times(x, k):
        return x * k

    @ray.remote
    def total(a, b):
        return np.sum(a * b)

    a, b = times.remote(x, 2.0), times.remote(x, 3.0)
    c = total.remote(a, times.remote(b, 0.5))
    return ray.get(times.remote(c, x[0])) + ray.get(c) ** 2


def several_values(ray, x):
    @ray.remote(num_returns=2)
    def both(x):
        return np.sin(x), np.sum(x)

    @ray.remote
    def times(a, b):
        return np.sum(a * b)

    a, b = both.remote(x)
    return ray.get(times.remote(a, b)) + ray.get(b) ** 2


def waited_for(ray, x):
    @ray.remote
    def part(x, k):
        return np.sum(x * k)

    left, total = [part.remote(x, float(k)) for k in range(1, 5)], 0.0
    while left:
        (ready,), left = ray.wait(left)
        total = total + ray.get(ready) ** 2
    return total


def data_that_stays(ray, x):
    """Data is loaded by tasks, and is where tasks of the gradient use it."""

    @ray.remote
    def load(k):
        return {"data": np.random.default_rng(k).normal(size=(4, 5)), "k": k}

    @ray.remote
    def loss(x, chunk):
        return np.sum((chunk["data"] @ x - chunk["k"]) ** 2)

    chunks = [load.remote(k) for k in range(3)]
    return sum(ray.get([loss.remote(x, chunk) for chunk in chunks]))


def tasks_of_tasks(ray, x):
    @ray.remote(num_cpus=0.25)
    def inner(x, k):
        return np.prod(x) * k

    @ray.remote(num_cpus=0.25)
    def outer(x):
        return sum(ray.get([inner.remote(x, 1.0), inner.remote(x * x, 2.0)]))

    return ray.get(outer.remote(x))


PROGRAMS = [
    mapped, with_options, closures, containers, shared, chained, several_values, waited_for,
    data_that_stays, tasks_of_tasks,
]  # fmt: skip
IN_ANOTHER_ORDER = shared, chained  # sums
