"""Drop-ins are NumPy's, math's and SciPy's own functions wherever no gradient runs."""

import cmath
import contextvars
import copy
import inspect
import math
import pickle
import statistics
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy
import scipy.linalg
import scipy.sparse
import scipy.stats

import zyg
import zyg.cmath
import zyg.math
import zyg.numpy as znp
import zyg.scipy
import zyg.statistics
from zyg.scipy import linalg, sparse, stats
from zyg.watched.dropins import DropIn

PAIRS = [
    (np, znp), (np.linalg, znp.linalg), (math, zyg.math), (cmath, zyg.cmath),
    (statistics, zyg.statistics), (scipy.linalg, linalg), (scipy, zyg.scipy),
]  # fmt: skip
X, Y = 0.7, 1.9


def slopes_are_those_of_differences(f, *at):
    h = 1e-6
    for k, slope in enumerate(zyg.gradient(f, *at, zeros=True)):
        ahead, behind = ([v + s * h * (j == k) for j, v in enumerate(at)] for s in (1, -1))
        assert slope == pytest.approx((f(*ahead) - f(*behind)) / (2 * h), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(("plain", "ours"), PAIRS, ids=lambda m: m.__name__)
def test_a_drop_in_module_has_its_originals_names(plain, ours):
    assert {*dir(plain)} <= {*dir(ours)}
    for name in dir(plain):
        if not name.startswith("__") and name not in ("odr", "test", "r_", "c_"):
            x, original = getattr(ours, name), getattr(plain, name)
            same = x is original or type(x) is type(plain) or x == original
            assert same or isinstance(x, type(original)), name


def test_all_names_can_be_imported_at_once():
    names = {}
    exec("from zyg.numpy import *", names)
    assert {*np.__all__} <= {*names}
    assert names["zeros"] is znp.zeros
    assert names["float64"] is np.float64


def test_types_and_ufuncs_are_numpys_own_objects():
    for name in ("ndarray", "float64", "generic", "ufunc", "sin", "add", "newaxis", "polynomial"):
        assert getattr(znp, name) is getattr(np, name)


def test_outside_of_a_gradient_results_are_numpys():
    a = np.ones(3)
    for made in (znp.zeros(3), znp.array([1.0, 2.0]), znp.full(2, 1.0), znp.zeros_like(a)):
        assert type(made) is np.ndarray
    assert znp.asarray(a) is a
    assert znp.asarray(a, dtype=float) is a
    assert type(zyg.math.sin(1.0)) is float
    assert type(sparse.csr_array(np.eye(2))) is scipy.sparse.csr_array
    assert isinstance(scipy.sparse.csr_array(np.eye(2)), sparse.csr_array)
    assert isinstance(stats.norm, scipy.stats.rv_continuous)
    assert stats.norm.logpdf(0.3, 0.1, 2.0) == scipy.stats.norm.logpdf(0.3, 0.1, 2.0)


def test_after_a_gradient_results_are_numpys_again():
    def f(x):
        assert type(znp.zeros(3)) is not np.ndarray
        return x

    zyg.gradient(f, 1.0)
    assert type(znp.zeros(3)) is np.ndarray
    with pytest.raises(ZeroDivisionError):
        zyg.gradient(lambda x: x / 0, 1.0)
    assert type(znp.zeros(3)) is np.ndarray


def test_a_thread_beside_a_gradient_has_numpys_functions():
    with ThreadPoolExecutor(1) as pool:

        def f(x):
            made = pool.submit(znp.zeros, 3).result(timeout=60)
            assert type(made) is np.ndarray
            return x * pool.submit(zyg.math.sin, x).result(timeout=60)

        assert zyg.gradient(f, X)[0] == pytest.approx(math.sin(X) + X * math.cos(X))


@pytest.mark.parametrize("f", [znp.zeros, znp.sum, zyg.math.sin, linalg.inv, znp.linalg.norm])
def test_a_drop_in_passes_for_its_original(f):
    assert type(f.original) is not DropIn
    assert f == f.original
    assert f.original == f
    assert {f.original: 1}[f] == 1
    assert (f.__name__, f.__module__, repr(f)) == (
        f.original.__name__, f.original.__module__, repr(f.original),
    )  # fmt: skip
    assert f.__doc__ == f.original.__doc__
    assert copy.deepcopy([f])[0] is f


def test_a_drop_in_has_its_originals_signature():
    assert inspect.signature(znp.sum) == inspect.signature(np.sum)
    assert inspect.signature(linalg.inv) == inspect.signature(scipy.linalg.inv)


@pytest.mark.parametrize(
    ("ours", "original"),
    [
        (znp.zeros, np.zeros), (znp.mean, np.mean), (zyg.math.exp, math.exp),
        (linalg.solve, scipy.linalg.solve), (sparse.csr_array, scipy.sparse.csr_array),
        (statistics.mean, statistics.mean),
    ],
)  # fmt: skip
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_drop_in_is_pickled_as_its_original(ours, original, protocol):
    text = pickle.dumps({"f": ours}, protocol)
    assert b"zyg" not in text
    assert pickle.loads(text)["f"] is original


def test_a_drop_in_in_a_class_is_bound_where_its_original_is():
    class Ours:
        total, zeros = znp.sum, znp.zeros

        def __array__(self, dtype=None, copy=None):
            return np.ones(3)

    assert Ours().total() == 3.0
    assert Ours().zeros(2).shape == (2,)


@pytest.mark.parametrize(
    "f",
    [
        lambda m, x, y: m.sum([x, [y, 2.0][0]]) * x,
        lambda m, x, y: m.mean((x, y * x)),
        lambda m, x, y: m.clip([x, y], 0.0, 1.0).sum() * y,
        lambda m, x, y: m.where([True, False], [x, y], [y, x])[0],
        lambda m, x, y: m.hstack(([x], [y, y * x])).prod(),
        lambda m, x, y: m.dot([x, y], [[y, 1.0], [x, 2.0]]).sum(),
        lambda m, x, y: m.concatenate([[x, y], [x * x]]).prod(),
        lambda m, x, y: m.linalg.norm([x, y]),
        lambda m, x, y: m.linalg.det([[x, y], [1.0, x]]),
        lambda m, x, y: m.array([[x, 1.0], [y, x * y]]).prod(),
        lambda m, x, y: m.asarray((x, y), dtype=float).prod(),
        lambda m, x, y: m.array([x, y], ndmin=2)[0, 1] * x,
        lambda m, x, y: m.full((2, 2), x * y).sum(),
        lambda m, x, y: m.fromiter((k * x * y for k in range(4)), float, 3).prod() + x,
        lambda m, x, y: m.max([x, y]) * m.argmax([x, y]),
    ],
)
def test_lists_of_watched_numbers_are_arrays(f):
    assert f(znp, X, Y) == f(np, X, Y)
    slopes_are_those_of_differences(lambda x, y: f(znp, x, y), X, Y)


@pytest.mark.parametrize(
    "made",
    [
        lambda: znp.where(np.arange(3) > 1, 1.0, 0.0), lambda: znp.tile([1.0, 0.0], 2),
        lambda: znp.repeat(1.0, 3),
    ],
)  # fmt: skip
def test_arrays_that_are_made_otherwise_take_watched_values_too(made):
    def f(x):
        y = made().copy()
        y[0] = x
        return y.sum() * x

    assert zyg.gradient(f, 3.0)[0] == pytest.approx(2 * 3.0 + np.sum(made()[1:]))
    assert znp.where([True, False])[0].tolist() == [0]


def test_what_comes_from_iterators_is_numpys():
    def f(x):
        y = znp.fromiter(iter([2.0, 3.0]), float)
        y[0] = x
        assert znp.fromiter((k for k in (1, 2)), int).tolist() == [1, 2]
        for items, count in (([x], 2), ([x, [x, x]], -1)):
            with pytest.raises((ValueError, zyg.errors.ConversionError)):
                znp.fromiter(iter(items), float, count)
        return y.prod()

    assert zyg.gradient(f, 5.0) == (3.0,)


@pytest.mark.parametrize("name", ["acos", "asin", "cosh", "exp", "log", "log10", "sqrt", "tanh"])
def test_functions_of_cmath(name):
    def f(x, y):
        z = getattr(zyg.cmath, name)(0.3 * x + 0.2j * y)
        return z.real + 2.0 * z.imag

    slopes_are_those_of_differences(f, X, Y)


def test_polar_forms_of_cmath():
    def f(x, y):
        r, phi = zyg.cmath.polar(x + 1j * y)
        return r * zyg.cmath.rect(x, phi).imag + zyg.cmath.phase(x * 1j + y)

    slopes_are_those_of_differences(f, X, Y)
    with pytest.raises(zyg.errors.MissingRuleError, match="modf has no rule"):
        zyg.gradient(zyg.math.modf, X)


@pytest.mark.parametrize(
    "name",
    ["fmean", "geometric_mean", "harmonic_mean", "mean", "pstdev", "pvariance", "stdev",
     "variance", "median"],
)  # fmt: skip
def test_functions_of_statistics(name):
    def f(x, y):
        return getattr(zyg.statistics, name)(iter([x, y, 2.5 * x]))

    slopes_are_those_of_differences(f, X, Y)


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [("covariance", {}), ("correlation", {}), ("linear_regression", {}),
     ("linear_regression", {"proportional": True}), ("quantiles", {})],
)  # fmt: skip
def test_functions_of_statistics_with_several_numbers(name, kwargs):
    of_pairs = name != "quantiles"

    def f(x, y):
        data = ([1.0, x, 4.0], [y, x * y, 2.5 * x]) if of_pairs else ([x, y, 2.5 * x],)
        found = getattr(zyg.statistics, name)(*data, **kwargs)
        return found if name[0] == "c" else found[0] - 2 * found[1]

    def plainly(x, y):
        data = ([1.0, x, 4.0], [y, x * y, 2.5 * x]) if of_pairs else ([x, y, 2.5 * x],)
        found = getattr(statistics, name)(*data, **kwargs)
        return found if name[0] == "c" else found[0] - 2 * found[1]

    assert zyg.value_and_gradient(f, X, Y)[0] == pytest.approx(plainly(X, Y))
    zyg.check_gradient(f, X, Y, modes=("reverse", "forward"))


@pytest.mark.parametrize(
    ("name", "f"),
    [
        ("mean", lambda x: statistics.mean([x, 1.0])),
        ("fmean", lambda x: statistics.fmean([x, 1.0])),
        ("stdev", lambda x: statistics.stdev([x, 1.0])),
        ("covariance", lambda x: statistics.covariance([x, 1.0], [2.0, x])),
    ],
)
def test_a_refusal_in_statistics_names_the_drop_in(name, f):
    with pytest.raises(
        zyg.errors.ConversionError, match=rf"use zyg\.statistics\.{name} instead of"
    ):
        zyg.gradient(f, X)


def test_statistics_refuses_what_it_refuses():
    with pytest.raises(statistics.StatisticsError, match="same number of data points"):
        zyg.gradient(lambda x: zyg.statistics.covariance([x, 1.0], [x]), X)
    with pytest.raises(statistics.StatisticsError, match="at least two"):
        zyg.gradient(lambda x: zyg.statistics.variance([x]), X)


def test_a_distribution_that_was_frozen_outside_works_inside():
    prior = stats.norm(0.5, 2.0)
    assert prior.logpdf(0.1) == scipy.stats.norm(0.5, 2.0).logpdf(0.1)
    slopes_are_those_of_differences(lambda x: prior.logpdf(x), X)
    with pytest.raises(TypeError):
        stats.norm(0.5, 2.0, 3.0, 4.0)


def test_a_rule_that_a_user_gave_a_function_of_math_is_used():
    if math.nextafter not in zyg.base.registry.rules:
        zyg.scalar_rule(math.nextafter, lambda x, y, z: 1.0, 0)
    try:
        assert zyg.gradient(lambda x: zyg.math.nextafter(x, 2.0), X) == (1.0,)
    finally:
        del zyg.base.registry.rules[math.nextafter]


def test_a_task_that_outlives_an_inner_gradient_is_still_in_the_outer_one():
    context = []

    def f(x):
        zyg.gradient(lambda y: context.append(contextvars.copy_context()) or y, x)
        made = context[0].run(znp.zeros, 2)  # as a task would that goes on after the inner one
        made[0] = x
        return made[0] * context[0].run(zyg.math.sin, x)

    assert zyg.gradient(f, X)[0] == pytest.approx(math.sin(X) + X * math.cos(X))
    assert type(context[0].run(znp.zeros, 2)) is np.ndarray


def test_arrays_are_made_with_numpys_modes_of_copying_and_its_requirements():
    x = np.arange(6.0).reshape(2, 3)
    modes = np._CopyMode

    def f(x):
        assert znp.asarray(x, copy=modes.IF_NEEDED) is x
        assert znp.array(x, copy=modes.ALWAYS) is not x
        assert znp.require(x) is x
        assert znp.require(x, float, ["C", "W"]) is x
        columns = znp.require(x, None, "F")
        assert columns.flags.f_contiguous
        assert not columns.flags.c_contiguous
        with pytest.raises(ValueError, match="Cannot specify both"):
            znp.require(x, None, ["C", "F"])
        plain = znp.array(np.ones(3), copy=modes.IF_NEEDED)
        counts = znp.require([x[0, 0], 2 * x[0, 1]], np.float64, requirements=["A", "O"])
        return (
            (columns * x).sum()
            + (znp.array([x, x], copy=modes.IF_NEEDED) @ plain).sum()
            + (counts.sum())
        )

    zyg.check_gradient(f, x + 1, order=2)
    assert f(x) == (x * x).sum() + 2 * x.sum() + x[0, 0] + 2 * x[0, 1]


class Holder:
    """An object that NumPy asks for its array."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return znp.array(self.array, dtype, copy=copy)


def test_objects_may_answer_for_an_array_with_a_watched_one():
    def f(x):
        y = znp.zeros((2, 2))
        y[0] = Holder(x)
        buffer = Holder(znp.ones(2))
        y[1] = buffer
        held = znp.asarray(Holder(x), dtype=float) * znp.array(Holder(2 * x))
        held = held[Holder(znp.array([1, 0]))] + znp.dot(Holder(x), Holder(y))
        return (held * znp.asanyarray(buffer)).sum() + (y * y[0]).sum()

    zyg.check_gradient(f, np.array([0.5, 2.0]), order=2)

    class Failing:
        def __array__(self, dtype=None, copy=None):
            return 3

    for make in (np.asarray, lambda a: zyg.gradient(lambda x: x * znp.array(a).sum(), 1.0)):
        with pytest.raises(ValueError, match="__array__"):
            make(Failing())


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_object_arrays_of_watched_numbers_are_converted_as_arrays_of_numbers():
    class Sub(np.ndarray):
        pass

    def f(x):
        objects = np.asarray(x)
        sub = znp.asarray(x.view(Sub), dtype=np.float64)
        assert sub.dtype == np.float64
        return (znp.array(objects, dtype=float) * sub * znp.asanyarray(objects, float)).sum()

    zyg.check_gradient(f, np.array([0.5, 2.0]))


def test_methods_write_their_result_into_a_buffer():
    def f(x):
        y = znp.zeros(3)
        y[:] = x
        assert y.cumprod(axis=0, out=y) is y
        z = znp.zeros(())
        x.sum(out=z)
        return y.sum() * z

    zyg.check_gradient(f, np.array([0.5, 2.0, -1.5]), order=2)
    assert f(np.array([0.5, 2.0, -1.5])) == 0.0


@pytest.mark.parametrize("name", ["atan2", "hypot", "pow", "fmod", "copysign", "remainder"])
def test_a_narrow_number_beside_a_float_leaves_its_slope_all_digits(name):
    f, b = getattr(zyg.math, name), np.float32(0.7)
    right = zyg.gradient(f, 1.1, float(b))
    for found in (zyg.gradient(f, 1.1, b)[0], zyg.gradient(lambda a: f(a, b), 1.1)[0]):
        assert found == pytest.approx(right[0], rel=1e-15)
    assert zyg.gradient(f, 1.1, b)[1].dtype == np.float32
