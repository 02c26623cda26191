"""Which names are one object in compiled functions: as in Python."""

import copy

import numpy as np
import pytest

import zyg
from zyg.compiler.ir import Call, operations
from zyg.errors import CompileError

A = np.array([1.5, -2.0, 3.0])


class Box:
    def __init__(self, p):
        self.p = p


def two_targets(a):
    b = c = a * 2.0
    b[0] = 9.0
    return np.sum(b * c)


def walrus(a):
    b = (c := a * 2.0)
    b[0] = 9.0
    return np.sum(b * c)


def attribute(a):
    o = Box(None)
    o.p = b = a * 2.0
    b[0] = 9.0
    return np.sum(o.p * b)


def item(a):
    held, d = [a], {}
    held[0] = d["x"] = c = a * 2.0
    c[0] = 9.0
    return np.sum(held[0] * d["x"])


def of_lambda(a):
    g = lambda t: t * 2.0  # noqa: E731
    b = c = g(a)
    b[0] = 9.0
    return np.sum(b * c)


def literal_dict(a):
    d = {"x": a * 2.0}
    d["x"][0] = 9.0
    return np.sum(d["x"] * a)


def called_dict(a):
    d = dict(x=a * 2.0)  # noqa: C408
    d["x"][0] = 9.0
    return np.sum(d["x"] * a)


def chosen(a):
    b = a * 2.0 if a[0] > 0 else a
    c = b
    c[0] = 9.0
    return np.sum(b * a)


def method_kept(a):
    g = (a * 2.0).sum
    a[0] = 5.0
    return g() * a[1]


ONE_ARRAY = [two_targets, walrus, attribute, item, of_lambda, literal_dict, called_dict, chosen,
             method_kept]  # fmt: skip


@pytest.mark.parametrize("f", ONE_ARRAY, ids=lambda f: f.__name__)
def test_a_new_array_is_made_once(f):
    with zyg.config(fallback="error"):
        assert zyg.compile(f)(A.copy()) == f(A.copy())


def differences(f, step=1e-6):
    rows = step * np.eye(3)
    return [(f(A + row) - f(A - row)) / (2 * step) for row in rows]


@pytest.mark.parametrize("f", ONE_ARRAY, ids=lambda f: f.__name__)
def test_so_is_its_derivative(f):
    with zyg.config(fallback="error" if f is not method_kept else "silent"):
        got = zyg.gradient(zyg.compile(f), A.copy())[0]
    np.testing.assert_allclose(got, differences(f), rtol=1e-7, atol=1e-7)


def pairs(f, *args):
    """Which results and arguments are one object, and which share memory."""
    args = copy.deepcopy(args)
    found = f(*args)
    things = [*args, *(found if isinstance(found, tuple) else (found,))]
    numbers = [(j, k) for k in range(len(things)) for j in range(k)]
    one = [(j, k) for j, k in numbers if things[j] is things[k]]
    return one, [(j, k) for j, k in numbers if np.shares_memory(things[j], things[k])]


def new_twice(a):
    b = a * 2.0
    return b, b


def view_and_owner(a):
    b = a * 2.0
    return b, b[:], b, b[1:]


def all_of_an_argument(a):
    return a[:], a


def view_twice(a):
    v = a[1:]
    return v, a, v


def two_views(a):
    return a[1:], a[1:]


def itself_or_new(a):
    b = a if a[0] > 0 else a * 2.0
    return b, a


def itself_or_view(a):
    b = a if a[0] > 0 else a[:]
    return b, a


def view_or_itself(a):
    b = a[:] if a[0] > 0 else a
    return b, a


def of_a_loop(a):
    b = c = a
    for k in range(len(a)):
        b = b * (k + 0.5)
        if k < 2:
            c = b
    return b, c, a


def one_of_a_loop(a):
    b = c = a
    for k in range(len(a)):
        b = b * (k + 0.5)
        c = b
    return b, c, a


def views_of_rounds(a):
    v = w = a
    for _ in range(len(a)):
        w = v
        v = a[1:]
    return v, w


def as_array(a):
    return np.asarray(a), np.squeeze(a), np.atleast_1d(a), a


def squeezed(a):
    return a[None].squeeze(), a.real, a[...], a


def into(a):
    b = np.empty(len(a))
    return np.add(a, 1.0, out=b), b


def augmented(a):
    b = a
    b += 1.0
    return b, a


RESULTS = [new_twice, view_and_owner, all_of_an_argument, view_twice, two_views, itself_or_new,
           itself_or_view, view_or_itself, of_a_loop, one_of_a_loop, views_of_rounds, as_array,
           squeezed, into, augmented]  # fmt: skip


@pytest.mark.parametrize("f", RESULTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("a", [A, -A, np.ones(0)], ids=["positive", "negative", "empty"])
def test_results_are_one_object_where_they_are_in_python(f, a):
    if not a.size and "_or_" in f.__name__:
        return
    with zyg.config(fallback="error"):
        compiled = zyg.compile(f)
        assert [pairs(compiled, a) for _ in range(2)] == [pairs(f, a)] * 2


def is_after_a_loop(a):
    b = a
    for k in range(len(a)):
        a[k] += 1.0
    return b is a, a[:] is a, a * 1.0 is a


def is_in_a_branch(a):
    b = a * 2.0
    c = b
    if a[0] > 0:
        c[0] = 1.0
    return c is b


def is_either(a):
    b = a if a[0] > 0 else a * 2.0
    return b is a


def is_argument(a, b):
    return a is b


def test_is_of_arrays():
    with zyg.config(fallback="error"):
        assert zyg.compile(is_after_a_loop)(A.copy()) == (True, False, False)
        assert zyg.compile(is_in_a_branch)(A.copy()) is True


@pytest.mark.parametrize(
    ("f", "args", "same"), [(is_either, (A,), True), (is_either, (-A,), False),
                            (is_argument, (A, A), True), (is_argument, (A, -A), False)],
)  # fmt: skip
def test_is_of_arrays_that_depends_on_the_way_is_pythons(f, args, same):
    with zyg.config(fallback="silent"):
        assert zyg.compile(f)(*args) is same
    with zyg.config(fallback="error"), pytest.raises(CompileError, match="is, of arrays"):
        zyg.compile(f)(*args)


def list_twice(x):
    made = [x]
    return made, made


def argument_list(xs):
    return xs, sum(xs)


def box_twice(x):
    made = Box(x)
    return made, {"it": made}


@pytest.mark.parametrize("f", [list_twice, argument_list, box_twice])
def test_containers_that_are_one_are_pythons(f):
    argument = [1.0, 2.0] if f is argument_list else 1.0
    with zyg.config(fallback="silent"):
        one, other = zyg.compile(f)(argument)
    assert f is argument_list or one is (other["it"] if f is box_twice else other)
    assert f is not argument_list or one is argument
    with zyg.config(fallback="error"), pytest.raises(CompileError, match="a result with a"):
        zyg.compile(f)(argument)


def walked(n):
    def walk(k, out):
        if k == 0:
            return out
        out.append(k * 1.5)
        return walk(k - 1, out)

    made = []
    again = walk(n, made)
    again.append(0.5)
    return made[0], len(made), sum(made)


def hanoi(n, start, end, other, moves):
    if n == 0:
        return
    hanoi(n - 1, start, other, end, moves)
    moves.append((start, end))
    hanoi(n - 1, other, end, start, moves)


def solved(n):
    moves = []
    hanoi(n, 0, 2, 1, moves)
    return len(moves), moves[0], moves[-1]


@pytest.mark.parametrize("f", [walked, solved])
def test_lists_grow_through_recursion(f):
    with zyg.config(fallback="error"):
        got = zyg.compile(f)(4)
    assert got == f(4)
    assert [*map(type, got)] == [*map(type, f(4))]


def halved(a, b, levels):
    def rest(a, b, levels):
        if levels == 0:
            return np.exp(a) * (b - a)
        m = (a + b) / 2
        return rest(a, m, levels - 1) + rest(m, b, levels - 1)

    return rest(a, b, levels)


def whole(a, b):
    return halved(a, b, 9)


def test_a_function_that_calls_itself_twice_is_not_read_in_every_branch():
    compiled = zyg.compile(whole)
    with zyg.config(fallback="error"):
        assert compiled(0.0, 1.0) == whole(0.0, 1.0)
        zyg.check_gradient(compiled, 0.0, 1.0)
    program = compiled.call((0.0, 1.0), {}).known.operation.program
    assert len({op.callee for op in operations(program.body) if isinstance(op, Call)}) < 10


def shifted(a):
    a <<= 2
    a[1:] >>= 1
    return a


def test_shifts_in_place():
    a = np.array([1, 2, 3])
    with zyg.config(fallback="error"):
        assert zyg.compile(shifted)(a) is a
    assert a.tolist() == [4, 4, 6]


def equal_or_the_same(x):
    n = float("nan")
    values = [x, n, x + 1.0]
    found = n in values, [n] == [n], (n, x) == (n, x), x * 1.0 in values, x + 2.0 in values
    return found, values.index(x + 1.0), values.index(n), values.count(x * 1.0)


def arrays_in_lists(a):
    b = a[1:]
    return b in [b, a], [b, a].index(b)


def truths(a):
    f = a[0] > 0
    return f is True, bool(f) is True, f is f, bool(f) is False, (len(a) > 2) is True


@pytest.mark.parametrize("f", [equal_or_the_same, arrays_in_lists, truths])
def test_containers_ask_for_the_same_before_what_is_equal(f):
    argument = 1.5 if f is equal_or_the_same else A
    with zyg.config(fallback="error"):
        assert zyg.compile(f)(argument) == f(argument)


def by_lists(a):
    b = a + [1, 2, 3]
    b *= (1.0, 0.5, 2.0)
    return [2.0, 1.0, 0.5] - a, b, a > [0, 1, 2], b @ [1.0, 2.0, 3.0]


def test_arrays_meet_lists():
    with zyg.config(fallback="error"):
        for got, want in zip(zyg.compile(by_lists)(A), by_lists(A), strict=True):
            np.testing.assert_array_equal(got, want)
            assert got.dtype == want.dtype


def meets_text(a):
    return a == "x"


def meets_none(a):
    return a != None  # noqa: E711


@pytest.mark.parametrize("f", [meets_text, meets_none])
def test_arrays_meet_what_is_no_number_in_python(f):
    with zyg.config(fallback="silent"):
        assert zyg.compile(f)(A).tolist() == f(A).tolist()
    with zyg.config(fallback="error"), pytest.raises(CompileError, match="an array meets a"):
        zyg.compile(f)(A)


def unassigned(a):
    a.x = 3
    return a


def undeleted(a):
    del a[0]
    return a


@pytest.mark.parametrize("f", [unassigned, undeleted])
def test_a_statement_that_is_refused_is_named(f):
    line = f.__code__.co_firstlineno + 1
    with zyg.config(fallback="error"), pytest.raises(CompileError, match="this statement") as told:
        zyg.compile(f)(A)
    assert f"{__file__}:{line}" in str(told.value)
    assert "ArrayView" not in str(told.value)


def put(t):
    t[0] = 9.0
    t[2] = -4.0
    return 0


def summed(a):
    return np.sum(a * 2.0, axis=put(a))


def mean_of(a):
    return (a * 2.0).mean(put(a))


def begun_with(a):
    return np.sum(a * 2.0, initial=put(a))


def added(a):
    return np.sum(a * 2.0 + put(a))


def greatest(a):
    return np.max(a * 2.0, axis=put(a))


@pytest.mark.parametrize("f", [summed, mean_of, begun_with, added, greatest])
def test_an_expression_is_what_it_was_before_a_later_argument_wrote(f):
    with zyg.config(fallback="silent"):
        assert zyg.compile(f)(A.copy()) == f(A.copy())


def over_a_number(a):
    return [t + 1 for t in a[0]]


def test_refusals_speak_of_pythons_things():
    with (
        zyg.config(fallback="error"),
        pytest.raises(CompileError, match="a number has no elements"),
    ):
        zyg.compile(over_a_number)(A)


@pytest.mark.parametrize("f", [
    lambda b: b.reshape(-1, order="F"), lambda b: b.T.reshape(-1), lambda b: b.ravel("F"),
    np.asfortranarray,
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_a_part_of_one_row_in_another_order_is_a_view_as_in_numpy(f):
    def rows(a):
        return f(a[1:])

    compiled = zyg.compile(rows)
    for n in (2, 3, 2):
        a = np.arange(3.0 * n).reshape(n, 3)
        assert np.shares_memory(compiled(a), a) == np.shares_memory(rows(a), a) == (n == 2)
