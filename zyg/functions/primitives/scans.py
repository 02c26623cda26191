"""Cumulative functions, and the methods of ufuncs: reduce, accumulate and reduceat.

A method that NumPy has a function for is that function. Any other is a fold, y[k] = f(y[k-1],
x[k]), and its pullback a linear recurrence from the end, whose factors are the partial derivatives
at all places at once.
"""

import functools

import numpy as np

from zyg.errors import MissingRuleError
from zyg.functions.kit import (
    CONSTANT,
    NO,
    OPERATIONS,
    ScalarRule,
    adjoint,
    array_type,
    as_array,
    bind,
    composed,
    conj,
    count,
    cut,
    demand_read,
    in_order,
    like,
    lowering,
    no_out,
    normal_axes,
    remembered,
    rules,
    slopes_hold,
    strip,
    ufunc_methods,
    with_value,
    without_nan,
)


@adjoint(np.cumsum, linear=(0,))
def cumsum(a, axis=None, dtype=None, out=None):
    no_out(out)

    def cumsum_pullback(y_bar):
        k = 0 if axis is None else axis
        return (np.reshape(np.flip(np.cumsum(np.flip(y_bar, k), axis=k), k), np.shape(a)),)

    return np.cumsum(a, axis=axis, dtype=dtype), cumsum_pullback


@adjoint
def recurrence(a, b):
    """s along the last axis, with s[0] = b[0] and s[i] = b[i] + a[i] s[i-1]."""
    if strip(a) is not a or strip(b) is not b:
        s = recurrence(a, b)
    elif not array_type(b).writable:
        s = _doubled(a, b)
    else:
        s = np.array(b, dtype=np.result_type(a, b))
        if s.ndim == 1:
            factors, values = a.tolist(), s.tolist()
            for i in range(1, len(values)):
                values[i] += factors[i] * values[i - 1]
            s[:] = values
        else:
            for i in range(1, s.shape[-1]):
                s[..., i] += a[..., i] * s[..., i - 1]

    def recurrence_pullback(s_bar):
        zero = np.zeros_like(a[..., :1])
        ahead = np.concatenate([zero, np.flip(a[..., 1:], -1)], axis=-1)
        b_bar = np.flip(recurrence(conj(ahead), np.flip(s_bar, -1)), -1)
        behind = np.concatenate([zero, s[..., :-1]], axis=-1)
        return b_bar * conj(behind), b_bar

    return s, recurrence_pullback


def _doubled(a, b):
    """The same without a write, each step twice as far: of what was not there, nothing is added."""
    n, step = np.shape(b)[-1], 1
    while step < n:
        far = a[..., step:] * b[..., :-step]
        added = np.where(b[..., :-step] == 0, np.zeros_like(far), far)
        b = np.concatenate([b[..., :step], b[..., step:] + added], axis=-1)
        a = np.concatenate([a[..., :step], a[..., step:] * a[..., :-step]], axis=-1)
        step *= 2
    return b


@adjoint(np.cumprod)
def cumprod(a, axis=None, dtype=None, out=None):
    no_out(out)
    y = np.cumprod(a, axis=axis, dtype=dtype)

    def cumprod_pullback(y_bar):
        # sum over j >= i of y_bar[j] times the product of the a[k], k <= j, without a[i]: the
        # product before i, times a sum that a recurrence from the end gives. Exact with zeros,
        # in O(n).
        if np.size(a) == 0:
            return (np.zeros_like(a),)
        k = -1 if axis is None else axis
        rows = np.moveaxis(np.ravel(a) if axis is None else a, k, -1)
        bars = np.moveaxis(y_bar, k, -1)
        one = np.ones_like(rows[..., :1])
        before = np.cumprod(np.concatenate([one, rows[..., :-1]], axis=-1), axis=-1)
        factors = np.flip(np.concatenate([rows[..., 1:], one], axis=-1), -1)
        after = np.flip(recurrence(conj(factors), np.flip(bars, -1)), -1)
        return (np.reshape(np.moveaxis(conj(before) * after, -1, k), np.shape(a)),)

    return y, cumprod_pullback


@composed(np.nancumsum)
def nancumsum(a, axis=None, dtype=None, out=None):
    return np.cumsum(without_nan(a, 0), axis, dtype, out)


@composed(np.nancumprod)
def nancumprod(a, axis=None, dtype=None, out=None):
    return np.cumprod(without_nan(a, 1), axis, dtype, out)


def _cumulative(function, scan, identity):
    def cumulative(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
        no_out(out)
        x = np.atleast_1d(as_array(x))
        if axis is None and np.ndim(x) > 1:
            return function(strip(x))  # raises
        axis = 0 if axis is None else axis
        y = scan(x, axis=axis, dtype=dtype)
        if not include_initial:
            return y
        shape = list(np.shape(y))
        shape[axis] = 1
        first = np.zeros(shape, strip(y).dtype, like=like(y)) + identity
        return np.concatenate([in_order(first, strip(y)), y], axis=axis)

    composed(function)(cumulative)


_cumulative(np.cumulative_sum, np.cumsum, 0)
_cumulative(np.cumulative_prod, np.cumprod, 1)


# The methods of ufuncs

_FUNCTIONS = {
    (np.add, "accumulate"): np.cumsum,
    (np.multiply, "accumulate"): np.cumprod,
    **{(r.function, "reduce"): getattr(np, r.reduce) for r in OPERATIONS.values() if r.reduce},
}
_BUT_NAN = {np.fmax: (np.max, -np.inf), np.fmin: (np.min, np.inf)}


def _method(method):
    """Register a method, for the ufuncs that it can be a fold of."""
    name = method.__name__

    def answer(ufunc, x, *args, **kwargs):
        rule = rules.get(ufunc)
        if rule is CONSTANT:
            plain = cut(x, f"{ufunc.__name__}.{name}, which is constant")
            return getattr(ufunc, name)(plain, *map(strip, args), **kwargs)
        if name == "accumulate":  # raises where NumPy does
            ufunc.accumulate(np.empty((1,) * np.ndim(x)), axis=kwargs.get("axis", 0))
        if function := _FUNCTIONS.get((ufunc, name)):
            return bind(function, (x,), {"axis": 0, **kwargs})
        if not isinstance(rule, ScalarRule) or len(rule.partials) != 2:
            _refuse(ufunc, name, "only a ufunc of two arguments that has a rule can be folded.")
        if kwargs.pop("dtype", None) is not None:
            _refuse(ufunc, f"{name} with dtype=", "the fold is taken in the dtype of its operand.")
        return method(ufunc, x, *args, **kwargs)

    ufunc_methods[name] = answer


def _refuse(ufunc, what, why):
    raise MissingRuleError(
        f"np.{ufunc.__name__}.{what} has no rule, so zyg cannot differentiate it.",
        why,
        "use the NumPy function that does the same, convert with x.astype(...), or write the loop "
        "in Python.",
    )


@adjoint
def fold(ufunc, x):
    """ufunc.accumulate along the last axis."""
    y = ufunc.accumulate(x, axis=-1)

    def fold_pullback(y_bar):
        before, new, after = y[..., :-1], x[..., 1:], y[..., 1:]
        of_before, of_new = (
            conj(d(before, new, after)) if callable(d) else d for d in rules[ufunc].partials
        )
        zero = np.zeros_like(y[..., :1])
        factors = np.flip(of_before + np.zeros_like(after), -1)
        c = recurrence(np.concatenate([zero, factors], axis=-1), np.flip(y_bar, -1))
        c = np.flip(c, -1)
        return None, np.concatenate([c[..., :1], of_new * c[..., 1:]], axis=-1)

    return y, fold_pullback


def _mended(ufunc, y, d):
    """NumPy's reduction `y`, but the fold `d` where that is another number."""
    d = strip(d)
    if not isinstance(y, (np.ndarray, np.generic)) or not _forgets(ufunc, y.dtype):
        return y
    near = np.isclose(y, d, rtol=64 * np.finfo(y.dtype).eps, atol=0, equal_nan=True)
    return np.positive(np.where(near, y, d), dtype=y.dtype)  # a number, where `y` is one


@remembered(64)
def _forgets(ufunc, dtype):
    """Whether NumPy's reduce of three numbers forgets the one in the middle.

    NumPy 2.4 does, for power and arctan2 on processors with AVX-512: their loops do not expect to
    write all results to one place. The processor is not asked, but NumPy.
    """
    if dtype.kind not in "fc":
        return False
    x = np.array([2, 3, 2], dtype)
    return not np.isclose(ufunc.reduce(x), functools.reduce(ufunc, x), equal_nan=True)


@_method
def reduce(ufunc, x, axis=0, keepdims=False, initial=NO, where=True):
    y = ufunc.reduce(strip(x), axis, None, None, keepdims, strip(initial), where)
    if ufunc in _BUT_NAN:
        function, least = _BUT_NAN[ufunc]
        d = function(without_nan(x, least), axis, None, keepdims, initial, where)
        return with_value(d, (y,))
    if where is not True:
        if ufunc.identity is None:
            _refuse(
                ufunc,
                "reduce with where=",
                "no value can stand for the elements that are left out.",
            )
        x = np.where(where, x, ufunc.identity)
    shape = np.shape(x)
    axes = normal_axes(axis, len(shape))
    others = tuple(k for k in range(len(shape)) if k not in axes)
    outer = tuple(shape[k] for k in others)
    rows = np.reshape(np.transpose(x, others + axes), (*outer, count(shape, axes)))
    if initial is not NO and initial is not None:
        rows = np.concatenate([np.broadcast_to(initial, (*outer, 1)), rows], axis=-1)
    if np.size(rows) == 0:
        return y
    d = np.reshape(fold(ufunc, rows)[..., -1], np.shape(y))
    return with_value(d, (_mended(ufunc, y, d),))


@_method
def accumulate(ufunc, x, axis=0):
    if ufunc in (np.maximum, np.minimum, np.fmax, np.fmin):
        return _running_extreme(ufunc, x, axis)
    return np.moveaxis(fold(ufunc, np.moveaxis(x, axis, -1)), -1, axis)


def _running_extreme(ufunc, x, axis):
    """Each place reads its first extremal element."""
    made = ufunc.accumulate(strip(x), axis=axis)
    y = np.moveaxis(made, axis, -1)
    new = np.ones(y.shape, bool)
    now, last = y[..., 1:], y[..., :-1]
    new[..., 1:] = (now != last) & ~(np.isnan(now) & np.isnan(last))
    places = np.maximum.accumulate(np.where(new, np.arange(y.shape[-1]), 0), axis=-1)
    return in_order(np.take_along_axis(x, np.moveaxis(places, -1, axis), axis), made)


@_method
def reduceat(ufunc, x, indices, axis=0):
    """A reduction of each stretch from one index to the next."""
    y = ufunc.reduceat(strip(x), strip(indices), axis)
    starts = np.asarray(strip(indices)).tolist()
    before = (slice(None),) * (axis % np.ndim(x))
    stretches = [
        slice(a, b if a < b else a + 1)
        for a, b in zip(starts, [*starts[1:], np.shape(x)[axis]], strict=True)
    ]
    parts = [ufunc.reduce(x[(*before, s)], axis=axis, keepdims=True) for s in stretches]
    if not parts:
        return y
    d = np.concatenate(parts, axis)
    return with_value(d, (_mended(ufunc, y, d),))


# In loops, for machine code


def scanned(a, axis, kind):
    """A new array for a scan of another one, whose axis comes first."""
    return np.moveaxis(np.empty_like(a + 0, kind), axis, 0)  # in the order that a ufunc gives


@lowering(np.cumsum)
def cumsum_loops(a, axis=None, dtype=None):
    a = a if dtype is None else np.astype(a, dtype)
    b = np.ravel(a) if axis is None else np.moveaxis(a, axis, 0)
    kind = int if dtype is None and a.dtype == bool else a.dtype
    made = np.empty_like(b, kind) if axis is None else scanned(a, axis, kind)
    if len(b) > 0:
        made[0] = b[0]
    for i in range(1, len(b)):
        made[i] = made[i - 1] + b[i]
    return made if axis is None else np.moveaxis(made, 0, axis)


@lowering(np.cumprod)
def cumprod_loops(a, axis=None, dtype=None):
    a = a if dtype is None else np.astype(a, dtype)
    b = np.ravel(a) if axis is None else np.moveaxis(a, axis, 0)
    kind = int if dtype is None and a.dtype == bool else a.dtype
    made = np.empty_like(b, kind) if axis is None else scanned(a, axis, kind)
    if len(b) > 0:
        made[0] = b[0]
    for i in range(1, len(b)):
        made[i] = made[i - 1] * b[i]
    slopes_hold(np.all(np.isfinite(made)))
    return made if axis is None else np.moveaxis(made, 0, axis)


@lowering(np.add.accumulate)
def add_accumulate_loops(array, axis=0):
    demand_read(type(axis) is int and np.ndim(array) > 0)
    return np.cumsum(array, axis)


@lowering(np.multiply.accumulate)
def multiply_accumulate_loops(array, axis=0):
    demand_read(type(axis) is int and np.ndim(array) > 0)
    return np.cumprod(array, axis)


@lowering(np.maximum.accumulate)
def maximum_accumulate_loops(array, axis=0):
    slopes_hold(np.all(array == array))
    b = np.moveaxis(array, axis, 0)
    made = np.moveaxis(+array, axis, 0)
    for i in range(1, len(b)):
        made[i] = np.maximum(b[i], made[i - 1])  # of equals the first
    return np.moveaxis(made, 0, axis)


@lowering(np.minimum.accumulate)
def minimum_accumulate_loops(array, axis=0):
    slopes_hold(np.all(array == array))
    b = np.moveaxis(array, axis, 0)
    made = np.moveaxis(+array, axis, 0)
    for i in range(1, len(b)):
        made[i] = np.minimum(made[i - 1], b[i])
    return np.moveaxis(made, 0, axis)


@lowering(np.logaddexp.reduce)
def logaddexp_reduce_loops(array, axis=0):
    demand_read(array.dtype != np.bool_)  # of which NumPy's have 16 bits
    top = (array + 0.0).max(axis=axis, keepdims=True, initial=-np.inf)
    slopes_hold(np.all(np.isfinite(top)))
    top = np.where(np.isfinite(top), top, 0.0)
    away = np.exp(array - top).sum(axis=axis)
    return np.log(away) + top.sum(axis=axis)
