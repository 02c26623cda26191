"""Arrays and numbers of int8 to uint64 in compiled functions: what NumPy gives, in its types."""

import operator
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zyg
from zyg.compiler.kinds import NARROW
from zyg.errors import CompileError, PerformanceWarning

TYPES = [*NARROW.values()]
X = np.linspace(0.1, 1, 8)
OTHERS = {
    "int": lambda n: 3, "float": lambda n: -1.5, "bool": lambda n: True, "complex": lambda n: 2j,
    **{str(t): lambda n, t=t: edges(t)[::-1][:n].copy()
       for t in (*TYPES, *map(np.dtype, (np.int64, np.float32, np.float64, bool)))},
    **{f"one {t}": lambda n, t=t: np.dtype(t).type(2) for t in (*TYPES, np.int64, np.float32)},
}  # fmt: skip
BINARY = {
    **{name: getattr(operator, name) for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "lt", "ge", "eq", "ne", "and_", "or_",
        "xor", "pow", "matmul", "lshift", "rshift")},
    "maximum": np.maximum, "minimum": np.minimum, "hypot": np.hypot, "power": np.power,
    "logical_and": np.logical_and, "copysign": np.copysign, "float_power": np.float_power,
    "where": lambda a, b: np.where(a, a, b), "concatenate": lambda a, b: np.concatenate([a, b]),
    "stack": lambda a, b: np.stack([a, b]), "dot": lambda a, b: np.dot(a, b),
    "outer": lambda a, b: np.outer(a, b), "clip": lambda a, b: np.clip(a, 0, b),
    "fmax": np.fmax, "arctan2": np.arctan2, "equal": np.equal, "gcd": lambda a, b: np.gcd(a, b),
    "searchsorted": lambda a, b: np.searchsorted(a, b), "add.outer": np.add.outer,
    "in place": lambda a, b: augmented(a, b), "interp": lambda a, b: np.interp(a, b, b),
}  # fmt: skip


def augmented(a, b):
    c = a.copy()
    c += b
    c[0] = 1
    return c


UNARY = {
    **{name: getattr(operator, name) for name in ("neg", "pos", "invert", "abs")},
    **{name: getattr(np, name) for name in (
        "sqrt", "exp", "sin", "square", "sign", "floor", "rint", "isfinite", "reciprocal", "sum",
        "prod", "mean", "std", "max", "min", "argmax", "any", "cumsum", "diff", "sort", "unique",
        "median", "nonzero", "count_nonzero", "argsort", "ravel", "zeros_like", "ones_like",
        "ptp", "cumprod", "var", "trace", "round", "real", "conjugate", "angle", "isnan")},
    "sum of axis": lambda a: np.sum(np.stack([a, a]), axis=0),
    "sum of float": lambda a: np.sum(a, dtype=float), "sum of int": lambda a: a.sum(dtype=np.int64),
    "max of axis": lambda a: np.max(np.stack([a, a]), axis=1, keepdims=True),
    "max initial": lambda a: np.max(a, initial=0), "slices": lambda a: (a[1:] - a[:-1], a[::-1]),
    "elements": lambda a: (a[0], a[1] + a[2], a[1] * 2.5, int(a[-1]), float(a[0]), a[0] == a[1]),
    "types": lambda a: (a.astype(float), a.astype(np.float32), a.astype(np.int64), a.astype(bool)),
    "narrower": lambda a: (a.astype(np.int8), a.astype(np.uint16), a[0].astype(np.int16)),
    "shapes": lambda a: (np.stack([a, a]).T.reshape(-1), len(a), a.shape, a.dtype.itemsize),
    "squares": lambda a: (a**2, a**3, a[1] ** 2, 2**a[:1]), "halves": lambda a: a / 2,
    "mask": lambda a: a[a > 1].copy(), "item": lambda a: (a[0].item(), a.item(1), +a[0]),
    "numbers": lambda a: (abs(a[1]), round(a[1]), max(a[0], a[1]), bool(a[2]), a[0].sum()),
    "isinstance": lambda a: (isinstance(a[0], np.integer), isinstance(a[0], int)),
    "full": lambda a: (np.full_like(a, 2), np.zeros(3, dtype=np.int16)),
    "array": lambda a: (np.array(a), np.array([a[0], a[1]]), np.asarray([a[0], 2.5])),
    "self": lambda a: a, "part": lambda a: a[1:], "whole": lambda a: (a, a.copy(), [a[1]]),
    "sum in Python": lambda a: sum(float(v) for v in a), "builtin sum": lambda a: sum(a),
    "loop": lambda a: looped(a), "keywords": lambda a: (np.sum(a=a), np.clip(a=a, min=1, max=2)),
    "counts": lambda a: (np.bincount(a[1:3], minlength=4), np.bincount(np.abs(a[-1:]))),
    "lists": lambda a: (np.maximum([a[1], 2], 1), np.mean([a[1], a[2]]), np.outer([a[1]], a)),
}  # fmt: skip


def looped(a):
    s, best, count = 0.0, a[0], [0.0] * 3
    for v in a:
        s += v * 0.5
        best = v if v > best else best
        count[v % 3] += 1
    for k in range(len(a)):
        s -= a[k]
    return s, best, count


def edges(dtype):
    """Numbers at the ends of a type, and in its middle."""
    if dtype.kind not in "iu":
        return np.array([0, 1, 2.5, -3, 7, 0.5, 2, 1]).astype(dtype)
    limits = np.iinfo(dtype)
    top = limits.max if dtype != np.uint64 else 2**63 - 1
    return np.array([top, 1, 2, limits.min, 5, top - 1, limits.min + 4, 3], dtype)


def outcome(f, *args):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f(*args)
        except Exception as error:
            return type(error)


def demand_alike(made, wanted):
    if isinstance(wanted, (tuple, list)):
        assert type(made) is type(wanted)
        assert len(made) == len(wanted)
        for x, y in zip(made, wanted, strict=True):
            demand_alike(x, y)
        return
    assert type(made) is type(wanted), (made, wanted)
    assert getattr(made, "dtype", None) == getattr(wanted, "dtype", None), (made, wanted)
    if isinstance(wanted, (np.ndarray, np.generic, float)):
        near = 1e-5 if getattr(wanted, "dtype", None) == np.float32 else 1e-13
        exact = getattr(wanted, "dtype", np.dtype(float)).kind in "iub"
        np.testing.assert_allclose(made, wanted, rtol=0 if exact else near, atol=0)
    else:
        assert made == wanted


def demand_same(f, *args):
    demand_alike(outcome(zyg.compile(f), *args), outcome(f, *args))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from([*BINARY]), st.sampled_from(TYPES), st.sampled_from([*OTHERS]), st.booleans()
)
def test_of_two_operands(name, dtype, other, turned):
    f, a = BINARY[name], edges(dtype)
    b = OTHERS[other](len(a))
    demand_same(f, *((b, a) if turned else (a, b)))
    if not turned and name != "where":  # of numbers alone it gives a number
        demand_same(f, *(x[4] if isinstance(x, np.ndarray) else x for x in (a, b)))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from([*UNARY]), st.sampled_from(TYPES))
def test_of_one_operand(name, dtype):
    demand_same(UNARY[name], edges(dtype))


def sum_at(x, i):
    return np.sum(x[i] ** 2) + x[i[0]] * i[1]


def multiplied(x, i):
    return np.sum(i * i * x[:3]) + np.sum(i * 2 + i[0]) * 0.5 + i[1:] @ x[:2]


def looked_up(x, i):
    s = 0.0
    for k in range(len(i)):
        s += x[i[k]] * x[i[k] - 1]
    return s


def unread(x, i):
    try:
        weight = 2.0 if i.dtype == np.int32 else np.nan
    finally:
        pass
    return x[i[0]] * weight + np.sum(x[i] ** 2), i[1:] + 1, i[0]


def helped(x, i):
    y, j, k = unread(x, i)
    return y * j[0] + np.sum(x[j]) + x[k]


WHERE = np.array([3, 1, 2], np.int32)


def captured(x):
    return np.sum(x[WHERE] ** 2) * WHERE[0]


def of_structures(d, pair):
    return d["a"][0] * 2, pair[0] + pair[1][0], d["a"].copy()


def many(m):
    return (
        m.T[1] * 2,
        m + m,
        m[:, ::2].copy(),
        m.mean(),
        m.T.copy(),
        m.sum(axis=0),
        m[..., None] > 1,
    )


@pytest.mark.parametrize("f", [sum_at, looked_up, multiplied])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_derivatives_are_those_of_the_tracer(f, dtype):
    c, i = zyg.compile(f), np.array([3, 1, 2], dtype)
    with zyg.config(fallback="error"):
        assert c(X, i) == f(X, i)
        for verb in (zyg.gradient, zyg.jacobian):
            for got, wanted in zip(verb(c, X, i), verb(f, X, i), strict=True):
                assert (got is None) == (wanted is None)
                if wanted is not None:
                    np.testing.assert_allclose(got, wanted, rtol=1e-15)
        over, under = ((lambda x, g=g: g(x * 2.0, i) * 3.0) for g in (c, f))
        np.testing.assert_allclose(zyg.hessian(over, X), zyg.hessian(under, X), atol=1e-14)


def test_what_is_captured_or_called_back_keeps_its_type():
    i = np.array([3, 1, 2], np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        for f, args in ((captured, (X,)), (helped, (X, i))):
            c = zyg.compile(f)
            assert c(*args) == f(*args)
            assert "machine code" in str(c.inspect(*args))
            for got, wanted in zip(zyg.gradient(c, *args), zyg.gradient(f, *args), strict=True):
                np.testing.assert_array_equal(got, wanted)
            twice = zyg.hessian(lambda x, c=c, rest=args[1:]: c(x, *rest), X)
            np.testing.assert_allclose(twice, zyg.hessian(lambda x, f=f, r=args[1:]: f(x, *r), X))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_any_layout_is_taken(dtype):
    m = np.arange(12).astype(dtype).reshape(3, 4)
    for x in (m, m.T, m[::2], m[:, ::2], m[:0], m[::-1], np.stack([m, m]).transpose(2, 0, 1)[0]):
        demand_same(many, x)


def test_they_may_be_in_structures_and_alone():
    demand_same(of_structures, {"a": np.array([1], np.int8)}, (np.int16(3), [np.ones(2, np.uint8)]))
    demand_same(UNARY["squares"], np.array([3, 1], ">i4"))
    demand_same(lambda i: (i * 2, i[()], i.shape), np.array(3, np.int8))


def test_texts_take_and_give_them():
    i, names = np.array([3, 1], np.int16), {}
    exec(zyg.compile(over_types).source(X, i), names)
    demand_alike(names["over_types"](X, i), over_types(X, i))
    exec(zyg.compile(looked_up).source(X, i, of="gradient"), names)
    value, (by_x, _) = names["looked_up_gradient"](X, i)
    assert value == looked_up(X, i)
    np.testing.assert_array_equal(by_x, zyg.gradient(looked_up, X, i)[0])


def over_types(x, i):
    return i + 1, i[0], x[i], i[0] * x


def written(i):
    i[0] = 3
    return i


def test_writes_and_parts_of_arguments_are_left_to_python():
    for f in (written, UNARY["part"]):
        i = np.array([1, 2], np.int8)
        with zyg.config(fallback="error"), pytest.raises(CompileError, match="of int8 is not"):
            zyg.compile(f)(i)
        with zyg.config(fallback="silent"):
            y = zyg.compile(f)(i)
        assert np.shares_memory(y, i)
        assert i[0] == (3 if f is written else 1)


def test_ints_beyond_63_bits_are_left_to_python():
    i = np.array([2**63 + 1, 5], np.uint64)
    with pytest.warns(PerformanceWarning, match="an int beyond 64 bits"):
        demand_alike(zyg.compile(UNARY["neg"])(i), -i)


def listed(x, i):
    rows = []
    for v in i:
        rows += [v]
    return rows, x[rows[1]]


def greatest(x, i):
    best = i[0]
    for v in i:
        best = v if v > best else best
    return best, x[best], i[0] in (3, 4)


def from_zero(x, i):
    best, total = 0, 0
    for v in i:
        total += v
        if v > best:
            best = v
    return best, total


def in_matrices(x, i):
    y = np.zeros((4, 4))
    y[i, i] = 1.0
    y[i[:, None], i] += 2.0
    y[i[0] :, 1] -= 1
    return y, y[i[1] : i[0]], x[:3][i == 1], i[i > 1], np.where(i == 1)[0]


def ruled(x, i):
    return np.sum(doubled(x, i) ** 2), zyg.stop_gradient(i)[0] * x, zyg.broadcast(product, x[:3], i)


def product(a, b):
    return a * b


@zyg.adjoint
def doubled(x, i):
    def doubled_pullback(y_bar):
        x_bar = np.zeros_like(x)
        x_bar[i] += 2 * y_bar
        return x_bar, None

    return x[i] * 2, doubled_pullback


def derived(x, i):
    y, back = zyg.pullback(lambda y: y[i] * 2, x)
    loss = zyg.gradient(lambda y: np.sum(y[i] ** 2), x)[0]
    return back(y)[0], loss, zyg.jacobian(lambda y: y[i] * y[0], x)


def derived_by_them(x, i):
    return zyg.gradient(lambda y, j: np.sum(y[:3] ** 2 * j), x, i)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(
    "f",
    [
        sum_at, multiplied, looked_up, over_types, listed, greatest, from_zero, in_matrices, ruled,
        derived, derived_by_them,
    ],
)  # fmt: skip
def test_in_programs(f, dtype):
    demand_same(f, X, np.array([3, 1, 2], dtype))
