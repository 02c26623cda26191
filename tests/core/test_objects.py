"""Object arrays: of watched numbers, beside watched operands and alone."""

import copy
import functools
import operator
import warnings

import numpy as np
import pytest
from scipy import signal

import zyg
from zyg.errors import ConversionError, MutationError, PerformanceWarning

from .objects import check, objects

X = np.array([0.3, 0.7, 1.1])
QUIET = pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")


def held(*values):
    """Watched values in an object array; on floats, the array of them."""
    return objects(values) if any(map(zyg.is_traced, values)) else np.array(values)


def agree(f, x=X):
    """Value, both modes and the second derivative against differences of `f` on floats."""
    h = 1e-6
    steps = h * np.eye(x.size)
    slopes = np.array([(f(x + s) - f(x - s)) / (2 * h) for s in steps])
    assert zyg.value_and_gradient(f, x)[0] == pytest.approx(f(x), rel=1e-13)
    np.testing.assert_allclose(zyg.gradient(f, x, zeros=True)[0], slopes, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(zyg.jacobian(f, x, mode="forward")[0], slopes, rtol=1e-6, atol=1e-8)
    ends = [[zyg.gradient(f, x + k * s, zeros=True)[0] for k in (-1, 1)] for s in steps]
    bends = [(b - a) / (2 * h) for a, b in ends]
    np.testing.assert_allclose(zyg.hessian(f, x), bends, rtol=1e-5, atol=1e-7)


def test_an_object_array_beside_a_watched_number_is_no_constant():
    def f(x):
        a = np.empty(2, object)
        a[0], a[1] = x, 2 * x
        return (a * x).sum() + (x * a).sum()

    assert zyg.gradient(f, 2.0) == (24.0,)
    assert zyg.pushforward(f, (2.0,), (1.0,)) == (24.0, 24.0)


BESIDE = [
    lambda x: np.sum(held(x[0], 2.0, x[1]) * x),
    lambda x: np.sum(x / held(x[0], 2.0, x[1])),
    lambda x: np.sum(np.arctan2(held(x[0], 2.0, x[1]), x)),
    lambda x: held(x[0], x[1], 3.0) @ (x * x),
    lambda x: np.dot(x, held(x[0], x[1], 3.0)),
    lambda x: np.sum(np.concatenate([x, held(x[0], 2.0)]) ** 2),
    lambda x: np.sum(np.where(x > 0.5, x, held(x[1], 1.0, x[0])) * x),
    lambda x: np.sum([held(*x), x] * x),
    lambda x: np.linalg.norm(np.stack((held(x[0], 3.0, x[1]), x))),
    lambda x: np.einsum("i,i->", x, held(x[1], x[0], 1.0)),
    lambda x: np.sum(np.linalg.solve(np.eye(3) + np.outer(x, x), held(x[1], 1.0, x[0]))),
    lambda x: np.sum(x * np.reshape(held(*x, *x, 1.0, 2.0, x[0]), (3, 3))),
    lambda x: np.sum(x * held(x[0])) + np.sum(x * held(x[1]).reshape(())),
    lambda x: zyg.checkpoint(lambda y: np.sum(y * held(*y)), x) * x[0],
    lambda x: zyg.forwarddiff(lambda y: np.sum(y**2 * held(*y)), x),
]


@pytest.mark.parametrize("f", BESIDE)
def test_object_arrays_beside_watched_operands_are_stacked(f):
    agree(f)


def store(x):
    y = x * 1.0
    y[:2] = held(x[1] ** 2, x[0])
    y += held(x[0], 1.0, x[2])
    y *= held(*x)
    np.add.at(y, [0, 0], held(x[2], x[1]))
    return np.sum(y**2)


def augmented(x):
    a = held(x[0], x[1], x[0] * 1.0)
    a += x
    a *= x
    np.multiply(a, x, out=a)
    return np.sum(a * a)


def copied_into(x):
    a = held(x[0], x[1], 2.0 * x[0])
    np.copyto(a, x * x)
    return np.sum(a * a)


def overwritten(x):
    a = held(x[0], x[1], 2.0 * x[0])
    y = a * x
    a[:] = 0.0
    return np.sum(y)


@pytest.mark.parametrize("f", [store, augmented, copied_into, overwritten])
def test_object_arrays_are_written_and_write(f):
    agree(f)


def test_the_elements_of_several_levels_are_each_watched():
    def f(x):
        return zyg.gradient(lambda y: (held(x, x * y) * y).sum(), 3.0)[0]  # x + 2xy

    assert zyg.gradient(f, 2.0) == (7.0,)

    def g(x):
        return zyg.gradient(lambda y: (held(y, x) * x).sum(), 3.0)[0]  # x

    assert zyg.gradient(g, 2.0) == (1.0,)


def test_elements_of_float32_and_complex_numbers():
    x = np.array([0.5, 0.25], np.float32)
    (bar,) = zyg.gradient(lambda x: np.sum(objects(x) * x), x)
    assert bar.dtype == np.float32
    np.testing.assert_array_equal(bar, 2 * x)

    z = np.array([1 + 2j, 0.5 - 1j])
    np.testing.assert_allclose(
        zyg.gradient(lambda z: np.real(np.sum(objects(z) * z)), z)[0], 2 * np.conj(z)
    )


def test_an_object_array_of_other_things_asks_its_elements():
    def f(x):
        a = np.empty(2, object)
        a[0], a[1] = x, x * np.ones(3)
        return np.sum((a * x)[1]) + (x * a)[0]

    assert zyg.gradient(f, 2.0) == (16.0,)
    with pytest.raises(TypeError, match="NoneType"):
        zyg.gradient(lambda x: (objects([x, None]) * x)[0], 2.0)
    with pytest.raises(ConversionError, match="no number type for, has no rule as an operand"):
        zyg.gradient(lambda x: np.concatenate([objects([x[0], None]), x])[0], X)


def test_a_subclass_that_holds_watched_numbers_is_refused():
    with pytest.raises(ConversionError, match="that is no plain array"):
        zyg.gradient(lambda x: np.dot(objects([*x]).view(np.matrix), x)[0, 0], X)


def test_object_arrays_as_arguments_and_results():
    x = objects([1.0, 2.0])
    (bar,) = zyg.gradient(lambda a: (a * a * a[0]).sum(), x)
    assert bar.dtype == object
    assert [*bar] == [7.0, 4.0]
    y, back = zyg.pullback(lambda x: objects([x, x * x]), 3.0)
    assert [*y] == [3.0, 9.0]
    assert back(objects([1.0, 10.0])) == (61.0,)


@QUIET
def test_an_object_array_without_axes_is_a_result_of_one_number():
    assert zyg.gradient(lambda x: np.asarray(x * x), 3.0) == (6.0,)


# What NumPy makes an object array of


def rotation(x):
    c, s = np.cos(x[0]), np.sin(x[0])
    return np.sum(np.array([[c, -s], [s, c]]) @ np.array([x[1], 2.0]))


ALONE = [
    rotation,
    lambda x: np.sum(np.asarray(x) ** 2) * x[0],
    lambda x: np.sum(np.sin(np.asarray(x)) + np.exp(np.array([x[0], x[1], x[2]]))),
    lambda x: np.sum(np.hypot(np.asarray(x), np.asarray(x[::-1]))),
    lambda x: np.mean([x[0] * x[1], x[1]]) + np.std(np.array(x)) + np.var([x[0], x[1] ** 2]),
    lambda x: np.sum(np.r_[x, x[0]] ** 2) + np.sum(np.r_[x[0], x[1], 3.0] ** 2),
    lambda x: np.sum(np.vectorize(lambda t, u: t * u)(x, x[::-1])),
    lambda x: np.sum(np.full(3, x[0]) * x[1]),
    lambda x: np.sort(np.asarray(x * x))[1] * x[np.argmax(np.asarray(x))],
    lambda x: np.sum(np.where(np.asarray(x) > 0.5, np.asarray(x), 0.0) ** 2),
    lambda x: np.linalg.norm([x[0], x[1]]) + np.median([x[0], x[1], 5.0]),
    lambda x: np.sum(copy.deepcopy(np.asarray(x)) * x),
    lambda x: np.sum(np.array([x, [x[0], 1.0, x[1]]]).T @ np.array([x[2], 2.0])),
]


@QUIET
@pytest.mark.parametrize("f", ALONE)
def test_arrays_of_watched_numbers_alone(f):
    agree(f)


ORDERED = [
    np.max, np.ptp, np.median, np.sort, np.unique, np.argmin, np.maximum.reduce,
    lambda a: a.min(), lambda a: a.sort(), lambda a: np.clip(a, 0, 3), lambda a: MAXIMUM(a, 1.0),
    lambda a: np.minimum.accumulate(a), lambda a: np.logical_and(a, a), np.logical_or.reduce,
]  # fmt: skip
MAXIMUM = np.maximum


@QUIET
@pytest.mark.parametrize("f", ORDERED)
def test_what_numpy_orders_otherwise_among_objects_than_among_floats_is_refused(f):
    def loss(x):
        f(np.array([x[1], x[0], x[2]]))
        return x[1]

    with pytest.raises(ConversionError, match="in an array of objects"):
        zyg.gradient(loss, np.array([np.nan, 1.0, 2.0]))


@QUIET
def test_pythons_order_of_numbers_with_nan_is_that_of_floats():
    def f(x):
        a, b, c = x
        row = [a, b, c]
        row.sort()
        with np.errstate(invalid="ignore"):
            mask = np.array([a, b, c]) > 0.5
        true = any([a, b]) + all([b, c]) + np.array([b, c]).astype(bool).sum()
        true += len(np.array([b, c]).nonzero()[0]) + np.any(np.array([b, c]))
        return (
            true * c,
            max(x),
            min(row),
            sorted(x)[0],
            b if a > b else c,
            mask.sum() * c,
            bool(a) * c,
        )

    x = np.array([np.nan, 1.0, 2.0])
    for k, y in enumerate(f(x)):
        np.testing.assert_equal(zyg.value_and_gradient(lambda x, k=k: f(x)[k], x)[0], y)


@QUIET
def test_elements_divide_as_numpys_do():
    with np.errstate(divide="ignore"):
        assert zyg.value_and_gradient(lambda x: 1 / np.asarray(x), 0.0) == (
            np.inf, (-np.inf,),
        )  # fmt: skip


def test_a_conversion_warns_once_for_each_line():
    def f(x):
        return sum(np.array([k * x, x]).sum() for k in range(3))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        zyg.gradient(f, 2.0)
    assert [w.category for w in caught] == [PerformanceWarning]
    assert "Faster: write np.stack([k * x, x]) instead of np.array" in str(caught[0].message)
    assert caught[0].filename == __file__


@pytest.mark.slow
@QUIET
def test_beyond_the_bound_conversions_are_refused():
    large = np.ones(10_001)
    for f in (np.asarray, lambda x: np.array([*x]), lambda x: np.array([x[0] * k for k in large])):
        with pytest.raises(ConversionError, match="would drop its derivative"):
            zyg.pullback(f, large)
    zyg.pullback(np.asarray, large[1:])
    with zyg.config(object_elements=0), pytest.raises(ConversionError):
        zyg.pullback(np.asarray, 1.0)
    with zyg.config(object_elements=2):
        zyg.gradient(lambda x: sum(np.asarray(x[k]) ** 2 for k in range(3)), X)


@QUIET
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.asarray(x, float),
        lambda x: np.array([x[0], 1], np.float32),
        lambda x: np.asarray(x).astype(float),
        lambda x: np.asarray(x).astype(complex),
        lambda x: np.zeros(3).__setitem__(slice(None), np.asarray(x)),
        lambda x: np.array(x, copy=False),
        lambda x: np.fromiter(np.asarray(x), float),
        lambda x: np.interp(np.asarray(x), [0.0, 1.0], [2.0, 3.0]),
        lambda x: np.linalg.solve(np.array([[x[0], 1.0], [0.0, x[1]]]), np.ones(2)),
        lambda x: np.isfinite(np.asarray(x)),
        lambda x: np.logaddexp(np.asarray(x), 1.0),
        lambda x: np.fft.fft(np.asarray(x)),
        lambda x: np.random.default_rng(0).normal(np.asarray(x)),
    ],
)
def test_what_takes_numbers_only_refuses_object_arrays(f):
    with pytest.raises(ConversionError):
        zyg.pullback(f, X)


@QUIET
def test_numpys_refusal_of_objects_is_told_with_a_remedy():
    with pytest.raises(ConversionError, match=r"takes numbers only: .* dtype\('O'\)") as caught:
        zyg.gradient(lambda x: np.linalg.det(np.array([[x, 1.0], [0.0, x]])), 2.0)
    assert "use np.stack([x, y]) instead of np.array([x, y])" in str(caught.value)
    with pytest.raises(ConversionError, match=r"'object' not supported\. \["):  # SciPy ends a line
        zyg.gradient(lambda x: signal.lfilter([1.0], [1.0, x], np.ones(3)).sum(), 2.0)
    with pytest.raises(TypeError) as caught:  # f's own
        zyg.gradient(lambda x: x * np.linalg.det(np.array([[None]])), 2.0)
    assert not isinstance(caught.value, ConversionError)


@QUIET
def test_a_ufunc_of_plain_numbers_beside_watched_ones_says_how_it_is_written():
    with pytest.raises(ConversionError) as caught:
        zyg.gradient(lambda x: np.log([1.0, x]).sum(), 2.0)
    assert "write np.log(np.stack(xs)) for np.log(xs)" in str(caught.value)
    assert zyg.gradient(lambda x: np.log(np.stack([1.0, x])).sum(), 2.0) == (0.5,)


@QUIET
def test_an_int_is_not_stored_among_ints():
    def f(n):
        counts = np.zeros(2, int)
        counts[0] = n
        return counts.sum() * 1.0

    with pytest.raises(ConversionError, match="cannot be stored in a plain NumPy array"):
        zyg.gradient(f, 5)
    with pytest.raises(ConversionError):
        zyg.gradient(lambda n: np.array([n, 2], int).sum() * 1.0, 5)


@QUIET
def test_np_asarray_shares_memory_in_numpy_and_so_neither_is_written():
    def written(x):
        y = x * 1.0
        b = np.asarray(y)
        y[1:][0] = 5.0
        return b.sum()

    with pytest.raises(MutationError, match=r"np\.asarray made an object array"):
        zyg.gradient(written, X)

    def write(x):
        np.asarray(x)[0] = 5.0
        return x.sum()

    with pytest.raises(ValueError, match="read-only"):
        zyg.gradient(write, X)

    def dropped(x):
        y = x * 1.0
        total = np.asarray(y).sum() + np.array(y)[0]
        y[0] = total * y[1]
        return y.sum()

    agree(dropped)


@QUIET
def test_an_array_and_its_object_array_share_memory_as_in_numpy():
    def f(x):
        y = x * 1.0
        a, b = np.asarray(y), np.array(y)
        seen.append([
            np.may_share_memory(a, y), np.shares_memory(y[1:], a[:2]), np.may_share_memory(y, a),
            np.may_share_memory(b, y), np.may_share_memory(a, x), np.shares_memory(y, y[1:]),
        ])  # fmt: skip
        return y.sum()

    seen = []
    f(X)
    zyg.gradient(f, X)
    zyg.gradient(lambda x: zyg.gradient(f, x)[0].sum(), X)
    assert seen == [[True, True, True, False, False, True]] * 3


@QUIET
@pytest.mark.parametrize("axes", [(3,), (3, 2)])
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_permute_watched_arrays(axes, make):
    x = np.arange(1.0, 1.0 + np.prod(axes)).reshape(axes)
    weights = x**2

    def f(x):
        return (make(3).permutation(x) * weights).sum()

    value, (x_bar,) = zyg.value_and_gradient(f, x)
    assert value == f(x) == np.sum(x_bar * x)  # f is linear
    np.testing.assert_array_equal(np.sort(np.ravel(x_bar)), np.ravel(weights))


@pytest.mark.filterwarnings("ignore:you are shuffling")
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_shuffle_numbers_and_refuse_rows(make):
    def shuffled(x):
        y, rng = x.copy(), make(3)
        rng.shuffle(y)
        return (y * weights).sum()

    weights = np.arange(1.0, 6.0) ** 2
    value, (x_bar,) = zyg.value_and_gradient(shuffled, weights)
    assert value == shuffled(weights) == np.sum(x_bar * weights)
    with pytest.raises(MutationError, match="shuffle the rows") as caught:
        zyg.gradient(shuffled, np.arange(10.0).reshape(2, 5))
    assert "write x[:] = x[rng.permutation(len(x))]" in str(caught.value)

    def rows(x):
        y, rng = x.copy(), make(3)
        y[:] = y[rng.permutation(len(y))]
        y[0] = y[1]
        operator.setitem(y, 1, y[0])
        return (y * weights).sum()

    assert zyg.value_and_gradient(rows, np.ones((2, 5)))[0] == rows(np.ones((2, 5)))


class _Holder:
    def __init__(self, rng):
        self.rng = rng


SPELLINGS = {
    "by an alias": lambda rng, y: (lambda shuffle: shuffle(y))(rng.shuffle),
    "by getattr": lambda rng, y: getattr(rng, "shuffle")(y),  # noqa: B009
    "by map": lambda rng, y: [*map(rng.shuffle, [y])],
    "with a star": lambda rng, y: rng.shuffle(*[y]),
    "by a partial": lambda rng, y: functools.partial(rng.shuffle, y)(),
    "of an attribute": lambda rng, y: _Holder(rng).rng.shuffle(y),
    "of an element": lambda rng, y: [rng][0].shuffle(y),
    "of a call": lambda rng, y: (lambda: rng)().shuffle(y),
    "of a view": lambda rng, y: rng.shuffle(y[1:]),
    "two lines": lambda rng, y: rng.shuffle(
        y,
    ),
}


@pytest.mark.filterwarnings("ignore:you are shuffling")
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_rows_are_refused_however_a_generator_is_called(spelling, make):
    def f(x):
        y = x * 1.0
        SPELLINGS[spelling](make(0), y)
        return (y * np.arange(8.0).reshape(4, 2)).sum()

    with pytest.raises(MutationError, match="shuffle the rows"):
        zyg.gradient(f, np.arange(8.0).reshape(4, 2))


@QUIET
@pytest.mark.filterwarnings("ignore:you are shuffling")
def test_shuffling_in_plain_memory_is_refused_by_name():
    rng = np.random.default_rng(0)
    for shuffle in (lambda y: rng.permuted(y, out=y), lambda y: rng.shuffle(y, axis=1)):
        with pytest.raises(MutationError, match="random generator") as caught:
            zyg.gradient(lambda x, s=shuffle: s(x * 1.0).sum(), np.ones((3, 2)))
        assert "rng.perm" in str(caught.value)


@QUIET
@pytest.mark.parametrize(
    "make", [lambda y: np.array([y]), np.asarray, lambda y: np.array([[y, 1.0]])]
)
@pytest.mark.parametrize(
    "call", [zyg.value_and_gradient, lambda f, x: zyg.pushforward(f, (x,), (1.0,))]
)
def test_the_addresses_of_elements_are_not_used_again_while_f_runs(make, call):
    def f(x):
        memo = {}
        for k in range(1, 9):
            memo.setdefault(make(k * x).tobytes(), k * x)
        return sum(memo.values()) * 1.0

    value, slope = call(f, 1.0)
    assert (value, float(np.squeeze(slope))) == (36.0, 36.0)


@QUIET
def test_elements_are_let_go_when_f_ends():
    def f(x):
        memory.append(x.strand.memory)
        total = np.asarray(x).sum()
        assert len(memory[0].elements) > 3
        return total

    memory = []
    zyg.gradient(f, X)
    assert memory[0].elements is None  # they refer to the strand


@pytest.mark.parametrize("first", [0, pytest.param(40, marks=pytest.mark.slow)])
def test_random_programs_of_arrays_objects_and_lists(first):
    for seed in range(first, 2 * first + 5):
        check(seed)


def test_scipys_squareform_gets_no_objects():
    """Its C code copies their pointers without counting them, which ended the process."""
    from scipy.spatial.distance import squareform

    with pytest.raises(ConversionError, match=r"np\.asarray of a watched ndarray"):
        zyg.gradient(lambda x: squareform(x).sum(), X)
    with pytest.raises(ConversionError, match=r"np\.asarray of a watched ndarray"):
        zyg.gradient(lambda x: squareform(np.outer(x, x), checks=False).sum(), X)
