"""What was compiled, and yet run in Python in silence, or refused for no reason."""

import numpy as np
import pytest

import zyg

X = np.array([0.5, -1.2, 2.0, 0.1])


pytestmark = pytest.mark.usefixtures("machine_code_alone")


def rebound(x, n=6):
    """The argument is not written to, though what takes its place in the loop is made there."""
    for _ in range(n):
        x = np.sin(x) * x[0] + 0.5 * x
    return np.sum(x * x)


def left_under_a_gradient(x):
    def inner(t):
        k = 0
        while t < 3.0:
            t = t * t + 0.5 * t + 0.1
            k += 1
            if k > 20:
                break
        return t * t

    return zyg.gradient(inner, x[0])[0] * x[1]


def prange_under_a_gradient(x):
    def inner(t):
        total = 0.0
        for i in zyg.prange(len(t)):
            total += np.sin(t[i]) * t[0]
        return total

    return np.sum(zyg.gradient(inner, x)[0] ** 2)


def rebound_under_a_gradient(x):
    def inner(w):
        y = x
        for _ in range(5):
            y = y * w + 0.1 * x[0]
        return np.sum(y * y)

    return zyg.gradient(inner, x[1])[0]


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize(
    "f",
    [rebound, left_under_a_gradient, prange_under_a_gradient, rebound_under_a_gradient],
    ids=lambda f: f.__name__,
)
def test_every_derivative_is_machine_code(f, parallel):
    compiled, v = zyg.compile(f, parallel=parallel), np.cos(np.arange(4.0))
    x = X.copy()
    (right,) = zyg.gradient(f, x)

    assert compiled(x) == pytest.approx(f(x), rel=1e-12)
    np.testing.assert_allclose(zyg.gradient(compiled, x)[0], right, rtol=1e-9)
    np.testing.assert_allclose(zyg.pullback(compiled, x)[1](1.0)[0], right, rtol=1e-9)
    assert zyg.pushforward(compiled, (x,), (v,))[1] == pytest.approx(right @ v, rel=1e-9)
    np.testing.assert_allclose(zyg.jacobian(compiled, x)[0], right, rtol=1e-9)
    ahead, behind = (zyg.gradient(f, x + h * v)[0] for h in (1e-5, -1e-5))
    np.testing.assert_allclose(zyg.hvp(compiled, x, v), (ahead - behind) / 2e-5, rtol=1e-5)
    np.testing.assert_array_equal(x, X)


def test_an_argument_that_is_rebound_may_be_read_only():
    x = X.copy()
    x.flags.writeable = False
    assert zyg.compile(rebound)(x) == pytest.approx(rebound(X))


def changed_around(x):
    kept = [x]

    def inner(t):
        kept[0] = t
        return t * t

    return zyg.gradient(inner, x)[0] + kept[0]


def test_a_function_that_changes_a_list_around_it_is_refused_under_a_derivative():
    with pytest.raises(zyg.errors.CompileError, match="changes something around it"):
        zyg.compile(changed_around)(0.5)


def before_no_rounds(a, u, n):
    v, s = np.zeros(len(u)), 0.0
    for i in range(len(u)):
        v[i] = u[i - 1] - 2 * u[i]
    for row in a:
        s += row[0] * row[1] - row[2]
    for i in range(n):
        for j in range(len(u)):
            s += a[i, 3] * a[0, j]
    return v, s


def after_no_rounds(u, n):
    s = 0.0
    for _ in range(n):
        s += u[0] + u[2]
    return s + u[2]


@pytest.mark.parametrize(
    ("shape", "m", "n"), [((0, 0), 0, 0), ((0, 1), 3, 0), ((3, 3), 1, 0), ((3, 4), 0, 2)]
)
def test_what_no_round_reads_is_not_demanded(shape, m, n):
    args = np.ones(shape), np.arange(1.0, m + 1), n
    found, right = zyg.compile(before_no_rounds)(*args), before_no_rounds(*args)
    np.testing.assert_array_equal(found[0], right[0])
    assert found[1] == right[1]


@pytest.mark.parametrize("n", [0, 1])
def test_what_no_round_has_demanded_is_demanded_after_the_loop(n):
    compiled = zyg.compile(after_no_rounds)
    assert compiled(np.arange(3.0), n) == after_no_rounds(np.arange(3.0), n)
    with pytest.raises(AssertionError, match="Python ran"):
        compiled(np.ones(2), n)


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lambda x: np.sort(x, 0), (0, 3)),
        (lambda x: np.argsort(x), (2, 0)),
        (lambda x: np.sort(x), (2, 0, 3)),
        (lambda x: np.median(x), (0,)),
        (lambda x: np.median(x, axis=0), (0, 3)),
        (lambda x: np.linalg.solve(x, x), (0, 2, 2)),
        (lambda x: np.linalg.inv(x), (0, 2, 2)),
        (lambda x: np.linalg.det(x), (0, 2, 2)),
        (lambda x: np.max(x, axis=1, initial=0.5), (2, 0)),
        (lambda x: np.min(x, initial=0.5), (0,)),
        (lambda x: np.cov(x), (0,)),
        (lambda x: np.cov(x), (2, 0)),
        (lambda x: np.linalg.norm(x.astype(int), np.inf), (3,)),
        (lambda x: np.linalg.norm(x > 0, axis=1), (2, 3)),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_no_elements(f, shape):
    x = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    found, right = zyg.compile(f)(x), f(x)
    assert type(found) is type(right)
    assert found.dtype == right.dtype
    np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("f", [np.max, np.min])
def test_of_an_element_that_equals_the_initial_value_the_slope_is_the_tracers(f):
    def extremum(x):
        return f(x, initial=1.0)

    for x in ([1.0, 2.0], [2.0, 1.0], [1.0, 0.5], [0.5, 1.0], [1.0, 1.0]):
        args = (np.array(x),)
        right = zyg.gradient(extremum, *args)[0]
        np.testing.assert_array_equal(zyg.gradient(zyg.compile(extremum), *args)[0], right)
