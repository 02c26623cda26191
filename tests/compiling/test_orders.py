"""Orders of axes in memory: compiled functions have those that NumPy has."""

import re
import warnings

import numpy as np
import pytest

import zyg
from zyg.errors import CompileError, PerformanceWarning

X = np.arange(1.0, 13.0).reshape(3, 4)
Y = np.arange(24.0).reshape(2, 3, 4)

PROGRAMS = {
    "operand": lambda a: a.T * 2,
    "two operands": lambda a: (a * a.copy(), a + a.T.copy().T, a * np.zeros_like(a)),
    "flat": lambda a: (a.ravel(), a.T.ravel(), a.flatten(), a.T.reshape(-1)),
    "flat in memory": lambda a: (a.ravel(order="K"), a.ravel("F"), (a + 1).ravel("A")),
    "like": lambda a: (np.zeros_like(a.T), np.ones_like(a), np.full_like(a, 2.0)),
    "copies": lambda a: (np.copy(a), a.copy(), np.array(a.T), a.astype(np.float32), a.copy("F")),
    "made": lambda a: (np.zeros(a.shape, order="F"), np.asfortranarray(a * 2)),
    "chosen": lambda a: (np.where(a > 2, a, 0.0), np.where(a.T > 2, 1.0, a.T), np.clip(a, 2, 3)),
    "joined": lambda a: (np.concatenate([a, a]), np.concatenate([a, a * 2], 1), np.vstack([a, a])),
    "stacked": lambda a: (np.stack([a, a]), np.stack([a, a], -1), np.array([a, a])),
    "reduced": lambda a: (a[:, :, None] * a[:, None, :]).sum(1) + 1,
    "picked": lambda a: (a[[0, 0]], a[:, [0, 1]], a[a > 3], a[:1, [0, 0, 1]]),
    "products": lambda a: (a @ a.T, np.einsum("ij,ij->ij", a, a), np.einsum("ij->ji", a)),
    "scans": lambda a: (np.cumsum(a, 0), np.cumsum(a, 1), np.diff(a), np.roll(a, 1, 0)),
    "sorted": lambda a: (np.sort(a, 0), np.argsort(a, 0), np.sort(a)),
    "repeated": lambda a: (np.repeat(a, 2, 0), np.repeat(a, 2, 1), np.tile(a, (2, 1))),
    "argument": lambda a: (a, a.T),
    "steps": lambda a: (a[::-1] * 2, a[:, ::2] * 2, a[:, :0] * 2, -a[:1]),
    "shapes": lambda a: (a.reshape(2, -1) * 2, a.reshape(-1, 2, order="F") * 2),
}
LAYOUTS = {
    "C": lambda: X.copy(),
    "F": lambda: X.copy(order="F"),
    "transposed": lambda: X.copy().T,
    "strided": lambda: np.repeat(X, 2, 1)[:, ::2],
    "backwards": lambda: X[::-1, ::-1].copy()[::-1, ::-1],
    "Fortran's, strided": lambda: np.repeat(X, 2, 1)[:, ::2].T,
    "broadcast": lambda: np.broadcast_to(X[0], X.shape),
    "row": lambda: X[:1].copy(order="F"),
}


def demand_same(found, wanted, found_in, wanted_in):
    for y, z in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, wanted)), strict=True):
        np.testing.assert_array_equal(y, z)
        assert y.dtype == z.dtype
        assert np.shares_memory(y, found_in) == np.shares_memory(z, wanted_in)
        steps = zip(y.shape, y.strides, z.strides, strict=True)
        assert all(n < 2 or a == b for n, a, b in steps) or not y.size, (y.strides, z.strides)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_results_lie_in_memory_as_numpys_do(program, layout):
    f, make = PROGRAMS[program], LAYOUTS[layout]
    compiled = zyg.compile(f)
    with zyg.config(fallback="error"):
        for _ in range(2):
            mine, theirs = make(), make()
            demand_same(compiled(mine), f(theirs), mine, theirs)


def written_in_a_row(a):
    b = a.ravel()
    b[1] = -1.0
    return a


def written_in_another_order(a):
    b = a.T.reshape(-1)
    b[1] = -1.0
    return a


def written_in_a_new_one(a):
    b = (a * 2).T
    b.ravel(order="F")[1] = -1.0
    c = np.zeros_like(a)
    c.reshape(-1)[0] = 5.0
    return b, c


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "broadcast"])
@pytest.mark.parametrize("f", [written_in_a_row, written_in_another_order, written_in_a_new_one])
@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_writes_go_through_views_and_not_through_copies(f, layout):
    compiled, make = zyg.compile(f), LAYOUTS[layout]
    for _ in range(2):
        mine, theirs = make(), make()
        demand_same(compiled(mine), f(theirs), mine, theirs)
        np.testing.assert_array_equal(mine, theirs)


def loss(a, w):
    b = (a.T * w).ravel(order="K")
    return np.sum(b * np.arange(b.shape[0])) + np.sum(np.sin(a.reshape(-1)) * np.arange(a.size))


def slope(f, a, direction, step=1e-4):
    """The derivative of f by an array along a direction, in arrays of the same layout."""

    def at(by):
        moved = np.lib.stride_tricks.as_strided(
            np.empty(4 * a.size)[2 * a.size :], a.shape, a.strides
        )
        moved[...] = a + by * direction
        return f(moved)

    return (at(step) - at(-step)) / (2 * step)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "broadcast"])
def test_gradients_are_right_in_every_order(layout):
    a, compiled = LAYOUTS[layout](), zyg.compile(loss)
    direction = np.random.default_rng(0).standard_normal(a.shape)
    wanted = slope(lambda a: loss(a, 1.5), a, direction)
    for f in (compiled, loss, lambda a, w: 2 * compiled(a, w) / 2):
        for _ in range(2):
            np.testing.assert_allclose(np.sum(zyg.gradient(f, a, 1.5)[0] * direction), wanted, 1e-5)


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "broadcast"])
def test_jacobians_are_right_in_every_order(layout, mode):
    a = LAYOUTS[layout]()
    a = a if a.shape[1] == 3 else np.ascontiguousarray(a.T).T if a.shape[0] == 3 else X
    for f in (lambda a: (a.T * 2).ravel(order="K") + a.size, lambda a: a.T * 2 + a.T**2):
        found = zyg.jacobian(zyg.compile(f), a, mode=mode)
        np.testing.assert_allclose(found, zyg.jacobian(f, a), rtol=1e-12)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "broadcast"])
def test_hessians_and_what_is_inside_are_right_in_every_order(layout):
    a = LAYOUTS[layout]()

    def inside(a):
        return zyg.gradient(loss, a, 2.0)[0].T * 2, zyg.hessian(lambda b: np.sum(b**3), a)

    for y, z in zip(zyg.compile(inside)(a), inside(a), strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-12)
    cubes = zyg.compile(lambda a: np.sum(a.T**3))
    np.testing.assert_allclose(zyg.hessian(cubes, a), zyg.hessian(lambda a: np.sum(a**3), a))
    np.testing.assert_allclose(zyg.hvp(cubes, a, np.ones(a.shape)), 6 * a)


def test_the_printed_text_takes_arguments_as_they_lie():
    a = X.copy(order="F")
    for of, name in (("value", "f"), ("gradient", "f_gradient")):
        names = {}
        compiled = zyg.compile(f)
        exec(compiled.source(a, of=of), names)
        found = names[name](a)
        value = found if of == "value" else found[0]
        np.testing.assert_allclose(value, f(a))
        if of == "gradient":
            np.testing.assert_allclose(found[1][0], zyg.gradient(f, a)[0])


def in_pairs(a):
    total = 0.0
    for i in range(0, len(a), 2):
        total += a[i] * a[i + 1]
    return total


def test_loops_with_a_step_do_not_stop_at_indices_beyond_all_rounds():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert zyg.compile(in_pairs)(np.arange(6.0)) == 26.0


def test_the_warning_of_a_stop_says_why_machine_code_stops():
    where = r"test_orders\.py:\d+: n \* n\."
    with pytest.warns(PerformanceWarning, match=f"stops at an int beyond 64 bits, in .*{where}"):
        zyg.compile(lambda n: n * n)(2**40)


def test_stops_are_counted_and_raise_where_one_asked():
    square = zyg.compile(lambda n: n * n)

    with zyg.config(fallback="silent"):
        assert square(2**40) == 2**80
    with (
        zyg.config(fallback="error"),
        pytest.raises(CompileError, match=r"run in Python.*\n.*\n.*stops at an int beyond 64 bits"),
    ):
        square(2**41)

    ((why, count),) = square.inspect(2)["stops"].items()
    assert count == 2
    assert re.fullmatch(r"an int beyond 64 bits, in .*test_orders\.py:\d+: n \* n", why)
    assert f"run in Python at {why}: 2 times" in repr(square.inspect(2))


def f(a):
    return np.sum(a.ravel(order="K") * np.arange(12.0)) + np.sum(a.T * a.T)
