"""The least that a tape in plain Python costs: the floor for zyg's, and no library.

NumPy's own protocols, one closure for each operation, real float64 only: no nesting, no views, no
writes, no checks, no arguments but arrays and numbers. Indices are ints, slices or arrays without
repetitions. What zyg takes above it is what it does besides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_tape: list[Any] = []  # one pullback for each slot; None for an argument
_owned: set[int] = set()  # slots whose cotangents may be written to


class Value:
    """A watched array or number: its primal and its slot."""

    __slots__ = ("primal", "slot")

    def __array_ufunc__(self, ufunc, method, *inputs):
        return _UFUNCS[ufunc](*inputs)

    def __array_function__(self, function, types, args, kwargs):
        return _FUNCTIONS[function](*args, **kwargs)

    def __add__(self, other):
        return _add(self, other)

    def __mul__(self, other):
        return _multiply(self, other)

    def __matmul__(self, other):
        return _matmul(self, other)

    def __rmul__(self, other):
        return _multiply(other, self)

    def __rmatmul__(self, other):
        return _matmul(other, self)

    def __getitem__(self, index):
        return _getitem(self, index)

    def sum(self, axis=None):
        return _sum(self, axis)

    def max(self):
        return _max(self)

    def reshape(self, *shape):
        return _reshape(self, shape)

    @property
    def T(self):  # noqa: N802 - NumPy's name
        return _transpose(self)


def gradient(f, *args):
    """The gradients of f, each as the last pullback left it."""
    _tape.clear()
    _owned.clear()
    y = f(*[_noted(x, None) for x in args])
    bars = [None] * len(_tape)
    bars[y.slot] = 1.0
    for slot in range(len(_tape) - 1, len(args) - 1, -1):
        y_bar = bars[slot]
        if y_bar is not None:
            _tape[slot](bars, y_bar)
            bars[slot] = None
    return bars[: len(args)]


def _noted(primal, pullback):
    y = Value()
    y.primal, y.slot = primal, len(_tape)
    _tape.append(pullback)
    return y


def _give(bars, slot, x_bar):
    before = bars[slot]
    bars[slot] = x_bar if before is None else before + x_bar


def _unbroadcast(x_bar, x):
    if type(x) is not np.ndarray:
        return x_bar if type(x_bar) is not np.ndarray else x_bar.sum()
    if x_bar.shape == x.shape:
        return x_bar
    return np.add.reduce(x_bar, axis=tuple(range(x_bar.ndim - x.ndim)))


def _taken_apart(x):
    return (x.primal, x.slot) if type(x) is Value else (x, None)


# Elementwise


def _of_one(f, slope):
    def call(x):
        p, slot = x.primal, x.slot
        return _noted(f(p), lambda bars, y_bar: _give(bars, slot, y_bar * slope(p)))

    return call


def _add(x, y):
    if type(y) is not Value:
        slot = x.slot
        return _noted(x.primal + y, lambda bars, y_bar: _give(bars, slot, y_bar))
    p, s, q, t = x.primal, x.slot, y.primal, y.slot

    def pullback(bars, y_bar):
        _give(bars, s, _unbroadcast(y_bar, p))
        _give(bars, t, _unbroadcast(y_bar, q))

    return _noted(p + q, pullback)


def _multiply(x, y):
    if type(y) is not Value:
        slot = x.slot
        return _noted(x.primal * y, lambda bars, y_bar: _give(bars, slot, y_bar * y))
    if type(x) is not Value:
        slot = y.slot
        return _noted(x * y.primal, lambda bars, y_bar: _give(bars, slot, y_bar * x))
    p, s, q, t = x.primal, x.slot, y.primal, y.slot

    def pullback(bars, y_bar):
        _give(bars, s, _unbroadcast(y_bar * q, p))
        _give(bars, t, _unbroadcast(y_bar * p, q))

    return _noted(p * q, pullback)


def _where(mask, x, y):
    (p, s), (q, t) = _taken_apart(x), _taken_apart(y)

    def pullback(bars, y_bar):
        if s is not None:
            _give(bars, s, np.where(mask, y_bar, 0.0))
        if t is not None:
            _give(bars, t, np.where(mask, 0.0, y_bar))

    return _noted(np.where(mask, p, q), pullback)


# Products and equations


def _matmul(x, y):
    (p, s), (q, t) = _taken_apart(x), _taken_apart(y)

    def pullback(bars, y_bar):
        if s is not None:
            if q.ndim == 1:
                _give(bars, s, y_bar * q if p.ndim == 1 else y_bar[:, None] * q)
            else:
                _give(bars, s, y_bar @ q.T)
        if t is not None:
            _give(bars, t, y_bar * p if p.ndim == 1 else p.T @ y_bar)

    return _noted(p @ q, pullback)


def _solve(a, b):
    (p, s), (q, t) = _taken_apart(a), _taken_apart(b)
    y = np.linalg.solve(p, q)

    def pullback(bars, y_bar):
        b_bar = np.linalg.solve(p.T, y_bar)
        if t is not None:
            _give(bars, t, b_bar)
        if s is not None:
            _give(bars, s, -b_bar[:, None] * y)

    return _noted(y, pullback)


# Shapes, parts, reductions


def _transpose(x):
    slot = x.slot
    return _noted(x.primal.T, lambda bars, y_bar: _give(bars, slot, y_bar.T))


def _reshape(x, shape):
    p, slot = x.primal, x.slot
    return _noted(p.reshape(shape), lambda bars, y_bar: _give(bars, slot, y_bar.reshape(p.shape)))


def _getitem(x, index):
    p, slot = x.primal, x.slot

    def pullback(bars, y_bar):
        if slot not in _owned:
            before = bars[slot]
            bars[slot] = np.zeros(p.shape) if before is None else before.copy()
            _owned.add(slot)
        bars[slot][index] += y_bar

    return _noted(p[index], pullback)


def _sum(x, axis=None):
    p, slot = x.primal, x.slot

    def pullback(bars, y_bar):
        x_bar = np.empty(p.shape)
        x_bar[...] = y_bar if axis is None else np.expand_dims(y_bar, axis)
        _give(bars, slot, x_bar)

    return _noted(np.add.reduce(p, axis), pullback)


def _mean(x):
    p, slot = x.primal, x.slot

    def pullback(bars, y_bar):
        x_bar = np.empty(p.shape)
        x_bar[...] = y_bar / p.size
        _give(bars, slot, x_bar)

    return _noted(np.add.reduce(p) / p.size, pullback)


def _max(x):
    p, slot = x.primal, x.slot

    def pullback(bars, y_bar):
        x_bar = np.zeros(p.shape)
        x_bar.flat[p.argmax()] = y_bar
        _give(bars, slot, x_bar)

    return _noted(p.max(), pullback)


def _concatenate(parts):
    pairs = [_taken_apart(x) for x in parts]

    def pullback(bars, y_bar):
        k = 0
        for p, slot in pairs:
            n = len(p)
            if slot is not None:
                _give(bars, slot, y_bar[k : k + n])
            k += n

    return _noted(np.concatenate([p for p, _ in pairs]), pullback)


def stack(parts):
    """Of numbers, or of arrays."""
    pairs = [_taken_apart(x) for x in parts]

    def pullback(bars, y_bar):
        for k, (_, slot) in enumerate(pairs):
            if slot is not None:
                _give(bars, slot, y_bar[k])

    return _noted(np.array([p for p, _ in pairs]), pullback)


_UFUNCS = {
    np.sin: _of_one(np.sin, np.cos),
    np.add: _add,
    np.multiply: _multiply,
    np.matmul: _matmul,
}
_FUNCTIONS = {
    np.sum: _sum,
    np.mean: _mean,
    np.reshape: _reshape,
    np.concatenate: _concatenate,
    np.stack: stack,
    np.where: _where,
    np.linalg.solve: _solve,
}
