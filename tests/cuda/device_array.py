"""A stand-in for CuPy's ndarray: NumPy's memory behind the protocols of a device array.

It answers what CuPy 14 answers and refuses what that refuses, so far as a program can notice: no
conversion to NumPy, no np.ndarray among the operands, no methods of ufuncs but by its own `add.at`,
its own signatures, results of no axes that stay arrays, shape=() taken for none. Where CuPy would
copy to the host in silence (float(x), bool(x), x.get()), it raises HiddenTransferError, which is no
TypeError, so that nothing takes it for a refusal.
"""

import numbers
import operator
import sys
from types import ModuleType, SimpleNamespace

import numpy as np

# The parameters of CuPy's functions that have fewer than NumPy's.
SIGNATURES = {
    "sum": "a axis dtype out keepdims", "prod": "a axis dtype out keepdims",
    "mean": "a axis dtype out keepdims", "nansum": "a axis dtype out keepdims",
    "nanmean": "a axis dtype out keepdims", "nanprod": "a axis dtype out keepdims",
    "max": "a axis out keepdims", "min": "a axis out keepdims", "amax": "a axis out keepdims",
    "amin": "a axis out keepdims", "nanmax": "a axis out keepdims", "nanmin": "a axis out keepdims",
    "any": "a axis out keepdims", "all": "a axis out keepdims",
    "var": "a axis dtype out ddof keepdims", "std": "a axis dtype out ddof keepdims",
    "nanvar": "a axis dtype out ddof keepdims", "nanstd": "a axis dtype out ddof keepdims",
    "argmax": "a axis dtype out keepdims", "argmin": "a axis dtype out keepdims",
    "argsort": "a axis kind", "sort": "a axis kind", "argpartition": "a kth axis",
    "astype": "x dtype copy", "broadcast_to": "array shape", "clip": "a a_min a_max out",
    "copy": "a order", "empty_like": "prototype dtype order subok shape",
    "ones_like": "a dtype order subok shape", "zeros_like": "a dtype order subok shape",
    "full_like": "a fill_value dtype order subok shape", "flip": "a axis",
    "take": "a indices axis out", "take_along_axis": "a indices axis",
    "eye": "N M k dtype order", "ones": "shape dtype order", "full": "shape fill_value dtype order",
    "cholesky": "a", "matrix_rank": "M tol", "pinv": "a rcond",
    "svd": "a full_matrices compute_uv",
}  # fmt: skip
MISSING = {
    "block", "einsum_path", "geomspace", "insert", "isnat", "matvec", "matrix_norm", "multi_dot",
    "nanpercentile", "nanquantile", "polyder", "polydiv", "polyint", "spacing", "svdvals",
    "unstack", "vecdot", "vecmat", "vector_norm",
}  # fmt: skip


class HiddenTransferError(AssertionError):
    """A device array was copied to the host where nobody asked for it."""


def _transfer(self, *args, **kwargs):
    raise HiddenTransferError("a device array was copied to the host")


class DeviceArray:
    """An array on a device that is none."""

    __array_priority__ = 100
    __hash__ = None

    def __init__(self, host):
        self.host = np.asarray(host)

    def __repr__(self):
        return f"device({self.host!r})"

    # What would copy to the host

    __float__ = __int__ = __bool__ = __complex__ = __index__ = _transfer
    get = item = tolist = tobytes = _transfer

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    # NumPy's protocols

    @property
    def __cuda_array_interface__(self):
        return {**self.host.__array_interface__, "version": 3}

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **kwargs):
        if method != "__call__" or ufunc.__name__ in MISSING:
            return NotImplemented
        if not all(_is_operand(x) for x in (*inputs, *out)):
            return NotImplemented
        if out:
            kwargs["out"] = tuple(map(_unwrapped, out))
        y = ufunc(*map(_unwrapped, inputs), **kwargs)
        return out[0] if out else _wrapped(y)

    def __array_function__(self, f, types, args, kwargs):
        if f.__name__ in MISSING or not all(t in (DeviceArray, np.ndarray) for t in types):
            return NotImplemented
        names = SIGNATURES.get(f.__name__, "").split()
        if names and (len(args) > len(names) or not kwargs.keys() <= {*names}):
            raise TypeError(f"{f.__name__}() takes {', '.join(names)} and nothing else")
        plain = {k: _unwrapped(v) for k, v in kwargs.items()}
        args = [*map(_unwrapped, args)]
        if f is np.tensordot and 0 in map(np.ndim, args[:2]) and args[2] not in (0, ((), ())):
            raise ValueError("An input is zero-dim while axes has dimensions")
        if plain.get("shape") == ():
            del plain["shape"]
        return _wrapped(f(*args, **plain))

    # What an array has

    base = property(lambda self: self.host.base)
    shape = property(lambda self: self.host.shape)
    ndim = property(lambda self: self.host.ndim)
    size = property(lambda self: self.host.size)
    dtype = property(lambda self: self.host.dtype)
    strides = property(lambda self: self.host.strides)
    nbytes = property(lambda self: self.host.nbytes)
    T = property(lambda self: _wrapped(self.host.T))
    real = property(lambda self: _wrapped(self.host.real))
    imag = property(lambda self: _wrapped(self.host.imag))

    def __len__(self):
        return len(self.host)

    def __iter__(self):
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index):
        return _wrapped(self.host[_index(index)])

    def __setitem__(self, index, value):
        if isinstance(value, np.ndarray) and value.ndim:
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        self.host[_index(index)] = value.host if type(value) is DeviceArray else np.asarray(value)

    def _operate(self, function, other):
        # CuPy leaves the operator to an operand of higher priority, unless isinstance(other, its
        # own ndarray), which asks the operand for its __class__.
        higher = getattr(other, "__array_priority__", 0) > self.__array_priority__
        if higher and not isinstance(other, DeviceArray):
            return NotImplemented
        return _wrapped(function(self.host, _unwrapped(other)))


def _add_at(target, index, values):
    np.add.at(target.host, _index(index), _unwrapped(values))


LIBRARY = sys.modules["device_arrays"] = ModuleType("device_arrays")
LIBRARY.add = SimpleNamespace(at=_add_at)
DeviceArray.__module__ = LIBRARY.__name__


def _is_operand(x):
    return isinstance(x, (DeviceArray, np.generic, numbers.Number, np.ndarray, slice, tuple, list))


def _unwrapped(x):
    if type(x) is DeviceArray:
        return x.host
    if isinstance(x, np.ndarray):
        raise TypeError(f"Unsupported type {type(x)}")
    if type(x) in (list, tuple):
        return type(x)(map(_unwrapped, x))
    return x


def _index(x):
    """An index, which may be an array of the host: that is copied to the device."""
    if type(x) is tuple:
        return tuple(map(_index, x))
    return x if isinstance(x, (list, np.ndarray)) else _unwrapped(x)


def _wrapped(y):
    if isinstance(y, (np.ndarray, np.generic)):
        return DeviceArray(y)
    if hasattr(y, "_fields"):
        return type(y)(*map(_wrapped, y))
    return type(y)(map(_wrapped, y)) if type(y) in (list, tuple) else y


def _define(name, function):
    """A method that computes on the host's memory, with plain operands."""

    def method(self, *args, **kwargs):
        return _wrapped(function(self.host, *_unwrapped(args), **kwargs))

    setattr(DeviceArray, name, method)


def _define_operator(name):
    function, inplace = getattr(operator, name), getattr(operator, f"i{name.rstrip('_')}")
    short = name.rstrip("_")

    def forward(self, other):
        return self._operate(function, other)

    def reflected(self, other):
        return self._operate(lambda a, b: function(b, a), other)

    def augmented(self, other):
        return self._operate(inplace, other)

    for prefix, method in (("", forward), ("r", reflected), ("i", augmented)):
        setattr(DeviceArray, f"__{prefix}{short}__", method)


def _define_comparison(name):
    function = getattr(operator, name)
    setattr(DeviceArray, f"__{name}__", lambda self, other: self._operate(function, other))


for _name in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor",
):  # fmt: skip
    _define_operator(_name)
for _name in ("lt", "le", "eq", "ne", "gt", "ge"):
    _define_comparison(_name)
for _name in ("neg", "pos", "abs", "invert"):
    _define(f"__{_name}__", getattr(operator, _name))
for _name in (
    "sum", "mean", "max", "min", "prod", "var", "std", "reshape", "transpose", "ravel", "copy",
    "swapaxes", "astype", "squeeze", "dot", "cumsum", "argmax", "flatten", "clip", "conj",
    "conjugate", "trace", "diagonal", "repeat", "take", "any", "all", "sort", "fill",
):  # fmt: skip
    _define(_name, getattr(np.ndarray, _name))
