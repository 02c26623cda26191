"""The classes of scipy.spatial.transform whose rotations may be watched.

An instance is one of SciPy's. Made of watched values, it keeps watched quaternions beside SciPy's,
and the methods give SciPy's values, with the derivatives of formulas of quaternions.
"""

import copy
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.spatial import transform

from zyg.errors import ConversionError
from zyg.functions.kit import (
    Structure,
    as_array,
    is_watched,
    plainly,
    stands_for,
    strip,
    watched_leaves,
    with_value,
)
from zyg.scipy import _rotation_formulas as formulas
from zyg.scipy._closures import moving, plain
from zyg.scipy._namespace import InPlaceOfSciPys
from zyg.scipy._valued import unknown, with_formula

_MODULE = "zyg.scipy.spatial.transform"


def _named(method, owner="Rotation"):
    """What errors call a method, or a class."""
    name = f"{owner}.{method}" if method else owner
    return SimpleNamespace(__module__="scipy.spatial.transform", __name__=name)


def _refuse(name, option, instead="leave it out"):
    raise unknown(_named(name), option, instead)


def _scipys(x):
    """A rotation as one of SciPy's own class, without derivatives."""
    return transform.Rotation(strip(_quaternions(x)), normalize=False)


def _known(x):
    """Plain values; SciPy's machine code takes no arrays that cannot be written to."""
    held = Structure(x, lambda v: is_watched(v) or isinstance(v, np.ndarray))
    return held.rebuild([*map(_writable, map(strip, held.leaves))], whole=False)


def _writable(v):
    return v.copy() if isinstance(v, np.ndarray) and not v.flags.writeable else v


def _quaternions(x):
    """The quaternions of a rotation, which may be watched."""
    if type(x) is Rotation:
        if is_watched(x.moving):
            return x.moving
        own: Any = getattr(x, "_quat", None)
        if is_watched(own):
            return own[0] if x._single else own
    return transform.Rotation.as_quat(x)


def made(theirs, name="", q=None):
    """A rotation of SciPy's as one of zyg's, whose quaternions move as q does."""
    y = theirs.as_quat()
    new = Rotation(y, normalize=False)
    if is_watched(q):
        new.move(with_formula(_named(name), y, lambda: formulas.aligned(q, y), q))
    return new


def _wide(x):
    return np.astype(as_array(x), float)


def _making(name, formula):
    """A function that makes rotations of numbers; the formula gets the shape of SciPy's, too."""

    def make(*args, **kwargs):
        theirs = getattr(transform.Rotation, name)(*_known(args), **_known(kwargs))
        if not moving((args, kwargs)):
            return made(theirs)
        shape = np.shape(theirs.as_quat())[:-1]
        return made(theirs, name, formula(shape, *args, **kwargs))

    make.__name__ = name
    return staticmethod(make)


def _giving(name, formula):
    """A method that gives numbers, by a formula of SciPy's and of quaternions."""

    def method(self, *args, **kwargs):
        q = _quaternions(self)
        given = q, args, kwargs
        y = getattr(transform.Rotation, name)(_scipys(self), *_known(args), **_known(kwargs))
        if not moving(given):
            return y
        return with_formula(_named(name), y, lambda: formula(y, q, *args, **kwargs), given)

    method.__name__ = name
    return method


def _turning(name, formula):
    """A method that gives rotations, by a formula of quaternions."""

    def method(self, *args, **kwargs):
        q = _quaternions(self)
        theirs = getattr(transform.Rotation, name)(_scipys(self), *_known(args), **_known(kwargs))
        if not moving((q, args, kwargs)):
            return made(theirs)
        return made(theirs, name, formula(q, *args, **kwargs))

    method.__name__ = name
    return method


def _constant(name):
    """A function that makes rotations of nothing that moves."""

    def make(*args, **kwargs):
        return made(getattr(transform.Rotation, name)(*args, **kwargs))

    return staticmethod(make)


# Formulas of what SciPy's functions are given


def _radians(angles, degrees):
    return _wide(angles) * (math.pi / 180 if degrees else 1.0)


def _of_matrix(shape, matrix, *, assume_valid=False):
    return formulas.of_matrix(_wide(matrix), assume_valid)


def _of_vector(shape, rotvec, degrees=False):
    return formulas.of_vector(_radians(rotvec, degrees))


def _of_parameters(shape, mrp):
    return formulas.of_parameters(_wide(mrp))


def _of_euler(shape, seq, angles, degrees=False):
    angles = np.reshape(_radians(angles, degrees), (*shape, len(seq)))
    axes = [np.eye(3)["xyz".index(name)] for name in seq.lower()]
    return formulas.turns(axes, angles, seq.isupper())


def _of_davenport(shape, axes, order, angles, degrees=False):
    axes = np.atleast_2d(_wide(axes))
    count = np.shape(axes)[-2]
    lengths = np.sqrt(np.sum(axes * axes, axis=-1, keepdims=True))
    angles = np.reshape(_radians(angles, degrees), (*shape, count))
    units = [(axes / lengths)[..., k, :] for k in range(count)]
    return formulas.turns(units, angles, order[0] == "i")


def _as_quaternions(y, q, canonical=False, *, scalar_first=False):
    return formulas.aligned(np.roll(q, 1, axis=-1) if scalar_first else q, y)


def _as_matrix(y, q):
    return formulas.matrix_of(q)


def _as_vector(y, q, degrees=False):
    return formulas.vector_of(_upright(q)) * (180 / math.pi if degrees else 1.0)


def _as_parameters(y, q):
    return formulas.parameters_of(np.where(strip(q)[..., 3:] < 0, -q, q))


def _as_euler(y, q, seq, degrees=False, *, suppress_warnings=False):
    angles, locked = formulas.angles_of(q, seq)
    if np.any(locked):
        why = "gimbal lock, in which two of the angles have no derivative"
        _refuse("as_euler", why, "use as_quat or as_matrix")
    turn = 360.0 if degrees else 2 * math.pi
    angles = angles * (180 / math.pi if degrees else 1.0)
    return angles + turn * np.round((y - strip(angles)) / turn)


def _as_davenport(y, q, axes, order, degrees=False, *, suppress_warnings=False):
    _refuse("as_davenport", "watched values", "use as_euler or as_matrix")


def _magnitude(y, q):
    """2 atan(n / |w|); its slope is 0 where it is."""
    return 2 * np.arctan2(np.linalg.norm(q[..., :3], axis=-1), abs(q[..., 3]))


def _applied(y, q, vectors, inverse=False):
    m = formulas.matrix_of(q)
    m = np.swapaxes(m, -1, -2) if inverse else m
    return np.reshape(np.sum(m * _wide(vectors)[..., None, :], axis=-1), np.shape(y))


def _power(q, n, modulus=None):
    return formulas.of_vector(formulas.vector_of(_upright(q)) * as_array(n))


def _upright(q):
    """The quaternions of the same rotations whose last number that is not 0 is positive."""
    sign = np.zeros(np.shape(q)[:-1])
    for k in (3, 0, 1, 2):
        sign = np.where(sign == 0, np.sign(strip(q)[..., k]), sign)
    return q * np.where(sign == 0, 1.0, sign)[..., None]


class Rotation(transform.Rotation, metaclass=InPlaceOfSciPys):  # type: ignore[misc]
    """scipy.spatial.transform.Rotation, of numbers that may be watched."""

    scipys = transform.Rotation
    moving = None  # or watched quaternions, where SciPy's are out of reach

    def __init__(self, quat, normalize=True, copy=True, scalar_first=False):
        known = _known(quat)
        copy = copy or bool(watched_leaves(quat))  # whose memory may be written to
        super().__init__(known, normalize=normalize, copy=copy, scalar_first=scalar_first)
        if moving(quat):
            q = _wide(quat)
            q = np.roll(q, -1, axis=-1) if scalar_first else q
            q = formulas.normalised(q) if normalize else q
            y = transform.Rotation.as_quat(self)
            self.move(with_formula(_named("from_quat"), y, lambda: q, q))

    def move(self, q):
        """Keep watched quaternions, where SciPy's own code meets them, if Python can reach that."""
        if hasattr(self, "_quat"):
            self._quat = q[None] if self._single else q
        else:
            self.moving = q

    @staticmethod
    def from_quat(quat, *, scalar_first=False):
        return Rotation(quat, scalar_first=scalar_first)

    from_matrix = _making("from_matrix", _of_matrix)
    from_rotvec = _making("from_rotvec", _of_vector)
    from_mrp = _making("from_mrp", _of_parameters)
    from_euler = _making("from_euler", _of_euler)
    from_davenport = _making("from_davenport", _of_davenport)
    as_quat = _giving("as_quat", _as_quaternions)
    as_matrix = _giving("as_matrix", _as_matrix)
    as_rotvec = _giving("as_rotvec", _as_vector)
    as_mrp = _giving("as_mrp", _as_parameters)
    as_euler = _giving("as_euler", _as_euler)
    as_davenport = _giving("as_davenport", _as_davenport)
    magnitude = _giving("magnitude", _magnitude)
    apply = _giving("apply", _applied)
    inv = _turning("inv", formulas.inverse)
    mean = _turning("mean", formulas.mean)
    __pow__ = _turning("__pow__", _power)
    identity, random = _constant("identity"), _constant("random")
    create_group = _constant("create_group")

    @staticmethod
    def concatenate(rotations):
        if isinstance(rotations, transform.Rotation):
            return copy.copy(made(rotations) if type(rotations) is not Rotation else rotations)
        rotations = [*rotations]
        if not all(isinstance(x, transform.Rotation) for x in rotations):
            return transform.Rotation.concatenate(rotations)  # raises
        theirs = transform.Rotation.concatenate([*map(_scipys, rotations)])
        parts = [np.reshape(_quaternions(x), (-1, 4)) for x in rotations]
        return made(theirs, "concatenate", np.concatenate(parts))

    @staticmethod
    def align_vectors(a, b, weights=None, return_sensitivity=False):
        given = (a, b, weights)
        y = transform.Rotation.align_vectors(*_known(given), return_sensitivity=return_sensitivity)
        if not moving(given):
            return made(y[0]), *y[1:]
        a, b = np.atleast_2d(_wide(a)), np.atleast_2d(_wide(b))
        w = np.ones(len(a)) if weights is None else _wide(weights)
        if return_sensitivity:
            _refuse("align_vectors", "return_sensitivity")
        if len(a) == 1 or np.any(np.isinf(strip(w))):
            why = "one pair of vectors, or infinite weights"
            _refuse("align_vectors", why, "give two pairs, with finite weights")
        q, rest = formulas.alignment(a, b, w)
        size = np.sqrt(np.sum(strip(w)[:, None] * (strip(a) ** 2 + strip(b) ** 2)))
        if abs(strip(rest) - y[1]) > 1e-6 * size:
            _refuse("align_vectors", "vectors that two rotations fit as well", "")
        return made(y[0], "align_vectors", q), with_value(rest, (y[1],))

    def __mul__(self, other):
        if not isinstance(other, transform.Rotation):
            return NotImplemented
        theirs, pair = _scipys(self) * _scipys(other), (_quaternions(self), _quaternions(other))
        if not moving(pair):
            return made(theirs)
        return made(theirs, "__mul__", formulas.normalised(formulas.product(*pair)))

    def __rmul__(self, other):
        return made(other) * self if isinstance(other, transform.Rotation) else NotImplemented

    def approx_equal(self, other, *args, **kwargs):
        return _scipys(self).approx_equal(_scipys(other), *args, **kwargs)

    def reduce(self, left=None, right=None, return_indices=False):
        known = [x for x in (self, left, right) if x is not None]
        if any(is_watched(_quaternions(x)) for x in known):
            _refuse("reduce", "watched values", "")
        y = transform.Rotation.reduce(*map(_or_none, (self, left, right)), return_indices)
        return (made(y[0]), *y[1:]) if return_indices else made(y)

    def __getitem__(self, indexer):
        theirs, q = _scipys(self)[plain(indexer)], _quaternions(self)
        return made(theirs, "__getitem__", q[plain(indexer)] if is_watched(q) else None)

    def __setitem__(self, indexer, value):
        known = [x for x in (self, value) if isinstance(x, transform.Rotation)]
        if any(is_watched(_quaternions(x)) for x in known):
            _refuse("__setitem__", "watched values", "use Rotation.concatenate")
        super().__setitem__(indexer, value)

    def __iter__(self):
        return (self[k] for k in range(len(self)))

    def __copy__(self):
        new = made(_scipys(self))
        if is_watched(q := _quaternions(self)):
            new.move(q)
        return new

    def __deepcopy__(self, memo):
        return copy.copy(self)

    def __reduce__(self):
        if is_watched(_quaternions(self)):
            raise ConversionError(
                "a rotation that a gradient watches cannot be pickled.",
                "the other process would hold plain numbers, and its derivative would be lost.",
                "pickle it outside of the gradient.",
            )
        return Rotation, (_quaternions(self), False)


def _or_none(x):
    return None if x is None else _scipys(x)


def _of_scipys(slerp):
    """The times and the rotations that SciPy has made an object of."""
    last = slerp.rotations[-1] * transform.Rotation.from_rotvec(slerp.rotvecs[-1])
    return slerp.times, Rotation.concatenate([*slerp.rotations, last])


class Slerp(transform.Slerp, metaclass=InPlaceOfSciPys):  # type: ignore[misc]
    """scipy.spatial.transform.Slerp, of times and rotations that may be watched."""

    scipys = transform.Slerp

    def __init__(self, times, rotations):
        theirs = _scipys(rotations) if isinstance(rotations, transform.Rotation) else rotations
        super().__init__(_known(times), theirs)
        self.given = times, rotations

    def __call__(self, times):
        known, rotations = self.given if hasattr(self, "given") else _of_scipys(self)
        theirs = transform.Slerp(_known(known), _scipys(rotations))(_known(times))
        if not moving((times, known, _quaternions(rotations))):
            return made(theirs)
        known, t = _wide(known), np.atleast_1d(_wide(times))
        after = np.searchsorted(strip(known), strip(t))
        k = np.clip(after - 1, 0, len(rotations) - 2)
        share = (t - known[k]) / (known[k + 1] - known[k])
        start = made(rotations)[k] if type(rotations) is not Rotation else rotations[k]
        end = made(rotations)[k + 1] if type(rotations) is not Rotation else rotations[k + 1]
        step = (start.inv() * end).as_rotvec() * share[:, None]
        return made(theirs, "Slerp", _quaternions(start * Rotation.from_rotvec(step)))


def _refusing(scipys):
    """A class without rules, which says so of watched values."""
    name = scipys.__name__

    def refuse(args, kwargs):
        held = [_quaternions(x) for x in (*args, *kwargs.values()) if type(x) is Rotation]
        if moving((args, kwargs, held)):
            raise unknown(_named("", name), "watched values", "")

    def make(self, *args, **kwargs):
        refuse(args, kwargs)
        plainly(scipys.__init__, (self, *args), kwargs)

    def making(named):
        def make_of(*args, **kwargs):
            refuse(args, kwargs)
            return plainly(getattr(scipys, named), args, kwargs)

        return staticmethod(make_of)

    about = {named: making(named) for named in dir(scipys) if named.startswith("from_")}
    about |= {"scipys": scipys, "__init__": make, "__doc__": scipys.__doc__}
    return InPlaceOfSciPys(name, (scipys,), about | {"__qualname__": name})


_RULELESS = "RotationSpline", "RigidTransform"
CLASSES = {
    "Rotation": Rotation,
    "Slerp": Slerp,
    **{k: _refusing(getattr(transform, k)) for k in _RULELESS},
}
for _class in CLASSES.values():
    _class.__module__ = _MODULE
    stands_for(_class.scipys)(_class)
