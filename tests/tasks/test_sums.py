"""Sums of cotangents on a cluster, whose tasks run here: of any that go back together."""

import math

import numpy as np
import pytest

from zyg.tasks import departures, sums
from zyg.tasks.arrivals import give
from zyg.tasks.departures import Connection
from zyg.tasks.shared import Parts

SIZES = [1, 2, 3, 7, 8, 12, 50]


class Cluster(Connection):
    """Cotangents go back on these workers, each of which does all that it can in one task."""

    def __init__(self, workers):
        super().__init__()
        self.workers, self.tasks, self.values = workers, [], []

    def each(self, f, *columns):
        self.tasks += [f.__name__] * len(columns[0])
        return [*map(f, *columns)]

    def arrival(self, raw):
        made = departures.Fetched()
        give(made, lambda: raw)
        return made

    def grouped(self, returns):
        return [some for _, some in sums.grouped(returns, lambda one: self.workers[one.kept[0]])]

    def gone_back(self, works):
        def went_back(work):
            def back(row):
                self.values.append(work.returns[row].kept[0])
                return work.returns[row].kept[1]

            return sums.went_back(back, work.program(), [*work.results])

        return self.each(went_back, works)


def by_hand(values):
    """The first half with the second, and so on."""
    while len(values) > 1:
        half = (len(values) + 1) // 2
        rest = [*values[half:], *([None] * (2 * half - len(values)))]
        values = [one if two is None else one + two for one, two in zip(values, rest, strict=False)]
    return values[0]


def returns(cluster, values, places):
    """Of the cotangents of each task those at some places come here, and all others stay."""
    found = []
    for k, some in enumerate(values):
        stay = [j for j in range(len(some)) if j not in places]
        found.append(cluster.back((k, some), [], [], places, stay)[0])
    return found


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("workers", [1, 2, 3, 50])
@pytest.mark.parametrize("placed", ["in turn", "in blocks", "at random"])
def test_no_bit_depends_on_where_what_is(n, workers, placed):
    rng = np.random.default_rng(n)
    places = {
        "in turn": [k % workers for k in range(n)],
        "in blocks": [k * workers // n for k in range(n)],
        "at random": [*rng.integers(workers, size=n)],
    }[placed]
    values = rng.normal(size=(n, 3)) * 10.0 ** rng.integers(-8, 8, size=(n, 3))
    cluster = Cluster(places)
    back = returns(cluster, values, [1])
    a, b = (cluster.added([(one, k) for one in back])[0] for k in (0, 2))
    cluster.send()

    assert a.result() == by_hand([*values[:, 0]])
    assert b.result() == by_hand([*values[:, 2]])
    assert [one.result() for one in back] == [[x] for x in values[:, 1]]
    assert cluster.tasks.count("went_back") == len({*places})
    assert sorted(cluster.values) == [*range(n)]


def test_two_workers_add_up_what_each_has_and_one_task_the_rest():
    cluster = Cluster([0, 1] * 4)
    back = returns(cluster, np.ones((8, 3)), [])
    found = [cluster.added([(one, k) for one in back])[0] for k in range(3)]
    cluster.send()

    assert [one.result() for one in found] == [8.0] * 3
    assert cluster.tasks == ["went_back", "went_back", "added"]


@pytest.mark.parametrize("n", [8, 64, 1024])
def test_a_worker_holds_few_of_the_cotangents_at_once(n):
    held, most = set(), 0

    class Counted:
        def __init__(self, k):
            self.k = k
            held.add(k)

        def __add__(self, other):
            return Counted((self.k, other.k))

        def __del__(self):
            held.discard(self.k)

    def back(row):
        nonlocal most
        made = Counted(row)
        most = max(most, len(held))
        return [made]

    cluster = Cluster([0] * n)
    work = sums.Back(returns(cluster, [[0.0]] * n, []))
    planned = sums.Sums()
    planned.plan([one.nodes[0] for one in work.returns], True)
    sums.went_back(back, work.program(), [*work.results])

    assert most <= 2 + math.log2(n)


def test_nothing_is_left_out_that_somebody_still_asks_for():
    """A sum that is looked at on the way, before it is known what else is added to it."""
    cluster = Cluster([0] * 4)
    back = returns(cluster, [[0.5], [None], [2.0], [4.0]], [])
    parts = Parts(cluster, [(back[0], 0)]) + Parts(cluster, [(back[1], 0)])
    assert parts.here() == 0.5
    total, send = cluster.added((parts + Parts(cluster, [(back[2], 0)]) + 0.25).given)
    send()
    assert total.result() == 2.75
    assert Parts(cluster, [(back[1], 0)]).here() is None
    assert cluster.added_there([(back[2], 0), (back[3], 0)]) == 6.0


def test_what_cannot_go_back_is_an_error_to_all_who_wait():
    class Broken(Cluster):
        def gone_back(self, works):
            raise KeyError("lost")

    cluster = Broken([0, 0])
    back = returns(cluster, [[0.5, 1.0]] * 2, [0])
    total, send = cluster.added([(one, 1) for one in back])
    with pytest.raises(KeyError, match="lost"):
        send()
    for one in (*back, total):
        with pytest.raises(KeyError, match="lost"):
            one.result()


def test_a_sum_of_what_was_cancelled_is_cancelled():
    """A pass that has ended, whose sum another one has depart."""
    cluster = Cluster([0, 0])
    back = returns(cluster, [[0.5, 1.0]] * 2, [0])
    total, _ = cluster.added([(one, 1) for one in back])
    assert back[1].cancel()
    cluster.send()
    assert total.cancelled()
    assert back[0].result() == [0.5]
