"""Python's data model in compiled functions: classes of values, and classes that change."""

from collections import namedtuple
from collections.abc import Iterable

import numpy as np
import pytest

import zyg

from ..modules import imported

X = np.array([0.7, -0.4, 1.3])
Pair = namedtuple("Pair", "first second")
WEIGHTS = [1.0, 2.0, 3.0]


def of_which_class(x):
    total, rows = 0.0, x[:, None] * 2.0
    for v in (x, rows, x > 0.0, x.sum(), x[0], 2.0, 3, True, (1.0, 2.0), [4.0], None, "ab"):
        if isinstance(v, np.ndarray):
            total += 1.0
        elif isinstance(v, (list, tuple)):
            total += v[0] * 10.0
        elif isinstance(v, (str, type(None))):
            total += 100.0
        elif isinstance(v, int):
            total += v * 1000.0
        elif isinstance(v, np.float64):
            total += 1e4 * v
        else:
            total += 1e6
    return total


def one_way(x):
    if isinstance(x, np.ndarray) and isinstance(x, Iterable) and x.ndim == 1:
        return np.sum(x * x)
    return x[0]


def by_type(x):
    return x[0] if type(x) is np.ndarray and type(np.sin(x)) in (list, np.ndarray) else x[1]


def slices_of_a_list(x):
    rest = WEIGHTS[1:]
    rest[0] = x[0]
    rest.append(x[1])
    if WEIGHTS[1:] == [2.0, 3.0] and isinstance(WEIGHTS[::2], list):
        return sum(rest) * (WEIGHTS[:1] + [x[2]])[1]
    return x[0]


def named_as_tuples(x):
    pair = Pair(x[0], 2.0)
    alike = pair == (x[0], 2.0) and (x[0], 2.0) == pair and pair < (x[0], 3.0)
    return x[0] if alike else x[1]


def truths(x):
    kinds = [[], [x[0]], {}, {1: x[0]}, (), [x[0]][1:], 0, "", "a", None, x[0]]
    return sum([1.0 for v in map(bool, kinds) if v], 0.5) * x[0] + bool([]) + (x[1] if {} else 0.0)


def sizes_of_lists(x):
    return x[0] * (np.size([1.0, x[1]]) + 10 * np.ndim([[1.0, 2.0]]) + 100 * np.size([x, x]))


class One:
    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        return self.v + other.v if isinstance(other, One) else NotImplemented

    def __eq__(self, other):
        return self.v == other.v

    __hash__ = None


class More(One):
    def __radd__(self, other):
        return 100.0 * self.v * other.v

    def __lt__(self, other):
        return self.v * 2.0 < other.v


class Other:
    def __init__(self, v):
        self.v = v

    def __radd__(self, other):
        return 7.0 * self.v


def operators_of_objects(x):
    one, more, other = One(x[0]), More(x[1]), Other(x[2])
    total = (one + one) + 2.0 * (one + more) + 3.0 * (more + one) + 5.0 * (one + other)
    total += x[0] * (one != One(x[0])) + x[1] * (one != One(x[1])) + x[2] * (other != one)
    return total + x[0] * (More(3.0) > more) + x[1] * (one == more)


OF_VALUES = [
    of_which_class, one_way, by_type, slices_of_a_list, named_as_tuples, truths, sizes_of_lists,
    operators_of_objects,
]  # fmt: skip


@pytest.mark.parametrize("f", OF_VALUES)
def test_classes_of_values_are_pythons(f, machine_code_alone):
    compiled, along = zyg.compile(f), np.array([0.3, -0.5, 0.2])
    assert compiled(X) == pytest.approx(f(X), rel=1e-14)
    slope = (f(X + 1e-6 * along) - f(X - 1e-6 * along)) / 2e-6
    assert zyg.gradient(compiled, X)[0] @ along == pytest.approx(slope, rel=1e-6)


TABLE = {1: 10.0, 2: [20.0]}


def got(x, i):
    return {1: x[0], 2: x[1]}.get(i, 4.0) + {i: 2.0}.get(1, x[2])


def there(x, i):
    made = {1: x[0]}
    return (x[0] if i in TABLE else x[1]) + (x[1] if i in made else x[2]) + made.setdefault(i, 5.0)


def taken_out(x, i):
    table = {1: x[0], 2: x[1]}
    return table.pop(i, 7.0) + sum(table.values())


@pytest.mark.parametrize("i", [1, 2, 3, True, np.int64(2), 1.0])
@pytest.mark.parametrize("f", [got, there, taken_out])
def test_keys_that_are_computed(f, i):
    with zyg.config(fallback="silent"):
        compiled = zyg.compile(f)
        assert compiled(X, i) == pytest.approx(f(X, i), rel=1e-14)
        slopes = [f(X + along, i) - f(X, i) for along in np.eye(3)]  # it is linear
        np.testing.assert_allclose(zyg.gradient(lambda x: compiled(x, i), X)[0], slopes, atol=1e-12)


ROW, OTHER_ROW = (1.0, 2.0), (1.0, 3.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ROW * 2, lambda x: max(ROW, OTHER_ROW), lambda x: (x[0], 1) < (x[1], 2),
        lambda x: [] * [1.0], lambda x: ROW[x[0]], lambda x: (Other(1.0) == x, x[0])[1],
        lambda x: WEIGHTS, lambda x: (TABLE, x[0]), lambda x: {"w": WEIGHTS} if x[0] > 0.0 else {},
        lambda x: TABLE[2] or x, lambda x: [Pair(WEIGHTS, x[1])], lambda x: x[0] == [1.0, 2.0],
    ],
)  # fmt: skip
def test_sequences_are_pythons(f):
    with zyg.config(fallback="silent"):
        try:
            right = f(X)
        except (TypeError, IndexError) as error:
            with pytest.raises(type(error)):
                zyg.compile(f)(X)
            return
        found = zyg.compile(f)(X)
        assert type(found) is type(right)
        assert repr(found) == repr(right)


def hashed(n):
    found = 14695981039346656037
    for k in range(n):
        found = (found ^ k) * 1099511628211 % 2**64
    return found


def halved(n):
    large = 2**63
    for _ in range(n):
        large //= 2
    return large


@pytest.mark.parametrize("f", [hashed, halved, lambda n: (2**63, 2**64 - n)])
def test_ints_beyond_64_bits_are_pythons(f):
    with zyg.config(fallback="silent"):
        assert zyg.compile(f)(3) == f(3)


CLASSES = """
class Base:
    k = 3.0

    def __init__(self, v):
        self.v = v

    def go(self):
        return self.v * self.k

    @property
    def more(self):
        return self.v + 1.0

    def __mul__(self, other):
        return self.v * other

    def __len__(self):
        return 4

    def __bool__(self):
        return self.k > 1.0


class Own(Base):
    pass


kept = Own(1.5)


def twice(self):
    return 2.0 * self.v


def product(self, other):
    return 5.0 * self.v * other


def none(self):
    return 0


def started(self, v):
    self.v = 7.0 * v


def inside(x):
    own = Own(x)
    return own.go() + own.more + (own * 2.0) + len(own) * x + (x if own else -x)


def captured(x):
    return kept.go() * x + kept.more * x + len(kept) * x + getattr(kept, "later", 0.5) * x


def argument(own, x):
    return own.go() * x + own.more * x + (own * x)


def truth(x):
    return x if kept else -x
"""


@pytest.mark.parametrize(
    "change",
    [
        "Base.go = twice", "Own.go = twice", "Base.more = property(twice)", "Own.__len__ = none",
        "Base.__mul__ = product", "Own.__init__ = started", "Base.k = 0.5", "Own.k = 0.5",
        "kept.k = 0.5", "Own.later = 4.0", "kept.later = 4.0",
        "Own.__bases__ = (type('New', (Base,), {'go': twice}),)",
    ],
)  # fmt: skip
def test_what_changes_of_a_class_is_seen(change, machine_code_alone):
    module = imported(CLASSES)
    functions = [zyg.compile(f) for f in (module.inside, module.captured, module.truth)]
    of_an_argument = zyg.compile(module.argument)

    def demand_alike():
        for f in functions:
            assert f(0.7) == pytest.approx(f.py_func(0.7), rel=1e-14)
            slope = f.py_func(1.7) - f.py_func(0.7)  # they are linear but for a constant
            assert zyg.gradient(f, 0.7)[0] == pytest.approx(slope, rel=1e-12)
        own = module.Own(1.5)
        right = module.argument(own, 0.7)
        assert of_an_argument(own, 0.7) == pytest.approx(right, rel=1e-14)
        slope = module.argument(own, 1.7) - right
        assert zyg.gradient(of_an_argument, own, 0.7)[1] == pytest.approx(slope, rel=1e-12)

    for _ in range(2):
        demand_alike()
    exec(change, vars(module))
    for _ in range(2):
        demand_alike()


def test_data_of_a_class_that_nobody_reads_changes_nothing(machine_code_alone, monkeypatch):
    module = imported(CLASSES)
    f = zyg.compile(module.inside)
    module.Own.count = 0
    f(0.7)
    entries = f.entries("value")
    for k in range(3):
        module.Own.count = k
        f(0.7)
    assert f.entries("value") == entries
