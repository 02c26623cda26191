"""Functions that call a function of the user's on parts of an array."""

import numpy as np

from zyg.functions.kit import as_array, composed, normal_axes, normal_axis, strip


@composed(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    arr = as_array(arr)
    axis = normal_axis(axis, np.ndim(arr))
    moved = np.moveaxis(arr, axis, -1)
    shape = np.shape(moved)[:-1]
    if 0 in shape:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made = [func1d(moved[(*place, ...)], *args, **kwargs) for place in np.ndindex(shape)]
    y = np.stack([*map(as_array, made)])
    y = np.astype(y, strip(as_array(made[0])).dtype, copy=False)
    inner = y.ndim - 1
    y = np.reshape(y, (*shape, *np.shape(y)[1:]))
    places = range(len(shape), len(shape) + inner)
    return np.moveaxis(y, [*places], [*range(axis, axis + inner)])


@composed(np.apply_over_axes)
def apply_over_axes(func, a, axes):
    y, axes = a, np.atleast_1d(axes).tolist()
    for axis in normal_axes(axes, np.ndim(a)) if np.ndim(a) else axes:
        made = func(y, axis)
        y = made if np.ndim(made) == np.ndim(y) else np.expand_dims(made, axis)
        if np.ndim(y) != np.ndim(a):
            raise ValueError("function is not returning an array of the correct shape")
    return y


@composed(np.piecewise)
def piecewise(x, condlist, funclist, *args, **kw):
    x, plain = as_array(x), as_array(strip(x))
    conditions = [*map(strip, condlist)] if isinstance(condlist, (list, tuple)) else strip(condlist)
    np.piecewise(plain, conditions, [0] * len(funclist))  # raises where NumPy does
    if plain.dtype.kind not in "fc":
        return np.piecewise(plain, conditions, funclist, *args, **kw)
    single = np.isscalar(conditions) or not (
        plain.ndim == 0 or isinstance(conditions[0], (list, np.ndarray))
    )
    masks = np.asarray([conditions] if single else conditions, bool)
    if len(masks) < len(funclist):
        masks = np.concatenate([masks, ~np.any(masks, axis=0, keepdims=True)])
    y = np.zeros_like(x)
    for mask, function in zip(masks, funclist, strict=True):
        if not callable(function):
            y[mask] = function
        elif mask.any():
            y[mask] = function(x[mask], *args, **kw)
    return y
