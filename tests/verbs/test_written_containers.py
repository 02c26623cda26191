"""Writes inside of a verb to what holds watched values already: they happen, as without the verb.

Each program writes to containers, objects or variables that hold watched values, and uses them
afterwards. Run plainly, each verb is what it means; with zyg, the derivative is that of
differences, unless a value is used whose derivative stays behind: that raises.
"""

from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import zyg
from zyg.errors import AdjointError


def fixed_point(f, x):
    return zyg.fixed_point(lambda s, q: 0.0 * s + f(q), 0.0, x)


def fixed_point_plainly(f, x):
    f(x)  # its two steps
    return f(x)


VERBS = {
    "checkpoint": (zyg.checkpoint, lambda f, x: f(x)),
    "forwarddiff": (zyg.forwarddiff, lambda f, x: f(x)),
    "fixed_point": (fixed_point, fixed_point_plainly),
}


@dataclass
class Record:
    value: object
    n: int = 0

    def count(self, q):
        self.n += 1
        return q * self.value


@dataclass(frozen=True)
class Frozen:
    value: object
    log: list


class Slotted:
    __slots__ = ("n", "value")

    def __init__(self, value):
        self.value, self.n = value, 0


Pair = namedtuple("Pair", "first second")


def moved_in_a_list(verb, x):
    log = [x * 1.0, x * x, 2.0]

    def f(q):
        log.reverse()
        log[1] = log[0]
        del log[0]
        return q * log[0]

    return verb(f, x) + 3 * log[0] * log[-1] + len(log)


def sorted_list(verb, x):
    log = [x * x, 0.5 * x, x]
    y = verb(lambda q: log.sort() or q * log[0], x)
    return y + log[0] * 2 + log[1] ** 2


def rotated_deque(verb, x):
    log = deque([x, x * x, 1.0], maxlen=3)
    y = verb(lambda q: log.rotate(1) or q * log[0], x)
    return y + log[0] * 2 + log[1] ** 2


def what_is_kept_is_an_argument(verb, x):
    log, w = [x * 1.0], x**3

    def f(q):
        log.append(w)
        log.insert(0, q)
        return q * w

    return verb(f, x) + log[-1] * log[0]


def dict_of_lists(verb, x):
    d = {"a": [x * 2.0], "b": [x * 3.0, 1.0]}

    def f(q):
        d["c"] = d.pop("a")
        d["b"][1] += 1.0
        d["n"] = len(d["b"])
        return q * d["c"][0]

    return verb(f, x) + d["b"][0] * d["b"][1] * d["n"] + sum(k == "c" for k in d)


def other_dicts(verb, x):
    d, o = defaultdict(list, a=[x * 2]), OrderedDict(a=x * x, b=x)

    def f(q):
        d["n"].append(1.0)
        o.move_to_end("a")
        return q * o["b"]

    y = verb(f, x)
    return y + sum(d["n"]) * d["a"][0] + next(iter(o.values())) * 2


def attributes(verb, x):
    r, s, other = Record(x * 2.0), Slotted(x * 3.0), Record(x * x)

    def f(q):
        r.n += 1
        s.n, r.value, s.value = s.n + 2, s.value, r.value
        other.extra = r.n
        return q * r.value

    return verb(f, x) + r.n * r.value + s.n * s.value + other.extra * other.value


def a_method(verb, x):
    r = Record(x * 2.0)
    y = verb(r.count, x)
    return y * r.n + verb(r.count, x) * r.n


def in_a_frozen_object(verb, x):
    r = Frozen(x * 2.0, [x])

    def f(q):
        r.log.append(float(len(r.log)))
        object.__setattr__(r, "value", r.log[0])
        return q * r.value

    return verb(f, x) + r.log[-1] * r.value


def swapped_variables(verb, x):
    a, b, n = x * 2.0, x * x, 0

    def f(q):
        nonlocal a, b, n
        a, b, n = b, a, n + 1
        return q * a

    return verb(f, x) + n * a + b


def two_functions_and_one_list(verb, x):
    log = [x * 1.0]
    same = log
    pair = Pair(log, {"it": log})

    def note(q):
        log.append(2.0)
        return q

    y = verb(lambda q: note(q) * same[0] * len(pair.second["it"]), x)
    assert pair.first is log is same is pair.second["it"]
    return y * len(log) + same[-1] * log[0]


def held_in_a_new_place(verb, x):
    log, other, d = [x * 2.0], [], {"w": x}

    def f(q):
        other.append(log)
        d["log"] = (log, [log])
        return q * log[0]

    y = verb(f, x)
    assert other[0] is log is d["log"][0] is d["log"][1][0]
    return y + other[0][0]


def a_function_made_inside(verb, x):
    acc, hooks = x * 2.0, [x]

    def f(q):
        hooks[1:] = [lambda: acc]
        return q * acc

    y = verb(f, x)
    acc = acc * acc
    return y + hooks[1]()


def a_default_and_an_attribute(verb, x):
    def f(q, log=[x * 2.0]):  # noqa: B006
        log.append(1.0 * len(log))
        f.count = len(log)
        return q * log[0]

    f.count = 0
    y = verb(f, x)
    return y + f.count * x + f.__defaults__[0][-1] * f.__defaults__[0][0]


def an_array_of_counts(verb, x):
    counts, w = np.zeros(2), x * 2.0

    def f(q):
        counts[0] += 1
        return q * w * counts[0]

    y = verb(f, x)
    return y * counts[0] + verb(f, x) * counts[0]


def a_deleted_variable(verb, x):
    a, log = x * 2.0, [x]

    def f(q):
        nonlocal a
        if log:
            b = log.pop()
            a = b * 1.0 if q is None else b
        return q * a

    return verb(f, x) + a + len(log)


def an_exception_in_the_middle(verb, x):
    log = [x * 2.0]

    def f(q):
        log.append(1.0)
        raise KeyError("mine")

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            verb(f, x)
    return len(log) * log[0] * log[-1]


def written_between(verb, x):
    log = [x * 2.0]

    def f(q):
        log.append(1.0)
        return q * len(log) * log[0]

    y = verb(f, x)
    log.extend([5.0, 6.0])
    log[0] = x
    return y + verb(f, x) * len(log)


def inside_each_other(verb, x):
    log, n = [x * 2.0], 0

    def inner(q):
        nonlocal n
        n += 1
        log.append(1.0 * n)
        return q * log[0]

    def outer(q):
        y = verb(inner, q * 1.0)
        log.append(log.pop(0))
        log.insert(0, log.pop())
        return y * log[0]

    return verb(outer, x) + log[0] * log[-1] * n


def an_object_array(verb, x):
    a = np.empty(2, dtype=object)
    a[0], a[1] = [x * 2.0], {"w": x}

    def f(q):
        a[0], a[1] = a[1], a[0]
        return q * a[1][0]

    y = verb(f, x)
    return y + (a[0]["w"] if isinstance(a[0], dict) else a[1]["w"]) * 3


def an_array_in_steps(verb, x):
    factors = [x * 3.0, x * 2.0]
    return verb(lambda q: q * factors.pop(0) if len(factors) > 1 else q * factors[0], x)


SAME_AT_EACH_STEP = [
    sorted_list, other_dicts, a_method, in_a_frozen_object, held_in_a_new_place,
    a_function_made_inside, a_default_and_an_attribute, an_exception_in_the_middle,
    inside_each_other,
]  # fmt: skip
RIGHT = [
    *SAME_AT_EACH_STEP, moved_in_a_list, rotated_deque, dict_of_lists,
    attributes, swapped_variables, two_functions_and_one_list, an_array_of_counts,
    a_deleted_variable, written_between, an_object_array,
]  # fmt: skip


def arguments(x):
    return [x, x * x]


def of_an_argument(verb, x):
    xs = arguments(x)

    def f(xs):
        xs.append(5.0)
        xs[0], xs[1] = xs[1], xs[0]
        return xs[0] * xs[0] * xs[1]

    y = verb(f, xs)
    return y + xs[-1] * xs[0] * len(xs)


def of_objects_in_an_argument(verb, x):
    given = {"r": Record(x * x), "log": deque([x])}

    def f(given):
        given["r"].n += 1
        given["log"].append(2.0)
        given["new"] = given["r"]
        return given["r"].value * given["log"][0]

    y = verb(f, given)
    return y + given["r"].n * given["new"].value * given["log"][-1]


OF_ARGUMENTS = [of_an_argument, of_objects_in_an_argument]


def kept_in_a_list(verb, x):
    log = [x * 1.0]
    return verb(lambda q: log.append(q * q) or log[0] * q, x) + log[-1]


def added_to_a_variable(verb, x):
    acc = x * 1.0

    def f(q):
        nonlocal acc
        acc = acc + q * q
        return q * 1.0

    return verb(f, x) + acc


def added_to_an_attribute(verb, x):
    r = Record(x * 1.0)

    def f(q):
        r.value += q
        return q * 2.0

    return verb(f, x) * r.value


def kept_in_a_slot(verb, x):
    r = Slotted(x * 1.0)

    def f(q):
        r.value = {"it": (q * 2.0,), "n": r.n}
        return q * 1.0

    return verb(f, x) * r.value["it"][0]


def kept_in_an_argument(verb, x):
    xs = arguments(x)
    if verb is not zyg.checkpoint:
        return verb(lambda q: xs.append(q * xs[0]) or q, x) + xs[-1]
    return verb(lambda v: v.append(v[0] * v[1]) or v[0], xs) + xs[-1]


def kept_by_an_inner_one(verb, x):
    log = [x * 1.0]
    y = verb(lambda q: verb(lambda p: log.append(p * p) or p * log[0], q * 1.0), x)
    return y + log[-1]


def kept_by_an_inner_one_alone(verb, x):
    log = []
    y = verb(lambda q: verb(lambda p: log.append(p * p) or p, q * 1.0), x)
    return y + log[-1]


LEAVING = [
    kept_in_a_list, added_to_a_variable, added_to_an_attribute, kept_in_a_slot,
    kept_in_an_argument, kept_by_an_inner_one, kept_by_an_inner_one_alone,
]  # fmt: skip


def demand_right(program, verb, meaning):
    x = 0.7

    def plainly(x):
        return program(meaning, x)

    def f(x):
        return program(verb, x)

    h = 1e-4
    slope = (plainly(x + h) - plainly(x - h)) / (2 * h)
    curvature = (plainly(x + h) - 2 * plainly(x) + plainly(x - h)) / h**2
    value, (found,) = zyg.value_and_gradient(f, x)
    assert value == pytest.approx(plainly(x), rel=1e-12)
    assert found == pytest.approx(slope, rel=1e-6)
    assert zyg.pushforward(f, (x,), (1.0,)) == pytest.approx((value, found), rel=1e-12)
    assert zyg.hessian(f, x) == pytest.approx(curvature, rel=1e-4, abs=1e-4)
    by_rows = zyg.jacobian(lambda x: zyg.gradient(f, x)[0], x, mode="reverse")[0]
    assert by_rows == pytest.approx(curvature, rel=1e-4, abs=1e-4)
    assert f(x) == pytest.approx(plainly(x), rel=1e-12)


@pytest.mark.parametrize("verb", ["checkpoint", "forwarddiff"])
@pytest.mark.parametrize("program", RIGHT)
def test_what_is_written_is_there_afterwards(program, verb):
    demand_right(program, *VERBS[verb])


@pytest.mark.parametrize("verb", ["checkpoint", "forwarddiff"])
@pytest.mark.parametrize("program", OF_ARGUMENTS)
def test_what_is_written_to_arguments_is_there_afterwards(program, verb):
    demand_right(program, *VERBS[verb])


def test_an_argument_that_is_kept_keeps_its_derivative():
    demand_right(what_is_kept_is_an_argument, *VERBS["checkpoint"])


@pytest.mark.parametrize("program", SAME_AT_EACH_STEP)
def test_what_a_step_of_an_iteration_writes_is_there_afterwards(program):
    demand_right(program, *VERBS["fixed_point"])


def test_an_iteration_whose_steps_differ_is_refused():
    with pytest.raises(AdjointError) as caught:
        zyg.gradient(lambda x: an_array_in_steps(fixed_point, x), 0.7)
    text = str(caught.value)
    assert "the function given to zyg.fixed_point gave another value when it ran again" in text
    assert "test_written_containers.py" in text
    assert "pass whatever changes as an argument" in text


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("program", LEAVING)
def test_what_has_no_derivative_is_refused(program, verb):
    def f(x):
        return program(VERBS[verb][0], x)

    for derivative in (
        lambda: zyg.gradient(f, 0.7),
        lambda: zyg.pushforward(f, (0.7,), (1.0,)),
        lambda: zyg.hessian(f, 0.7),
    ):
        with pytest.raises(AdjointError) as caught:
            derivative()
        assert f"a value that left zyg.{verb} by a side effect is used" in str(caught.value)


def test_random_numbers_are_the_same_where_an_argument_is_written():
    def program(x):
        xs, rng = [x], np.random.default_rng(1)
        y = zyg.checkpoint(lambda xs: xs.append(rng.normal()) or xs[0] * xs[1], xs)
        return y * xs[1] * rng.normal()

    value, (slope,) = zyg.value_and_gradient(program, 1.0)
    assert value == slope == program(1.0)
