"""Trees of scipy.spatial, whose points may be watched, and the points that they are asked for.

A tree is SciPy's, of the plain points: which ones are near does not change with them, but by jumps.
How far they are has the derivative of the distance.
"""

from typing import Any

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import is_watched, listed, stands_for, strip, with_value
from zyg.scipy._closures import moving, plain
from zyg.scipy._namespace import InPlaceOfSciPys
from zyg.scipy._theirs import spatial


class _Tree:
    scipys: Any

    def __init__(self, data, *args, **kwargs):
        if moving((args, kwargs)):
            self._refuse("__init__", "options")
        self._tree = self.scipys(plain(data), *plain(args), **plain(kwargs))
        data = listed(data)
        self.data = data if is_watched(data) else self._tree.data

    @classmethod
    def of(cls, x):
        """A tree of SciPy's as one of this class."""
        made = cls.__new__(cls)
        made._tree, made.data = x, x.data
        return made

    def __getattr__(self, name):
        if "_tree" not in self.__dict__:  # in the midst of being copied
            raise AttributeError(name)
        if name in ("maxes", "mins", "tree") and moving(self.data):
            self._refuse(name, "points; take it of the data itself")
        own = getattr(self._tree, name)
        return _constant(own) if callable(own) else own

    def query(self, x, k=1, eps=0.0, p=2.0, distance_upper_bound=np.inf, workers=1):
        """As SciPy's: distances, and places in the data."""
        if moving(p):
            self._refuse("query", "orders of a norm")
        given = plain((x, k, eps, p, distance_upper_bound, workers))
        far, places = self._tree.query(*given)
        x = listed(x)
        if not moving((x, self.data)):
            return far, places
        known = places < self._tree.n
        x = x if np.ndim(places) < np.ndim(x) else np.expand_dims(x, -2)
        gap = self.data[np.where(known, places, 0)] - x
        if (period := self._tree.boxsize) is not None:
            length = np.where(period > 0, period, np.inf)
            gap = gap - np.where(period > 0, period, 0.0) * np.round(strip(gap) / length)
        distance = np.linalg.norm(gap, ord=strip(p), axis=-1)
        return with_value(np.where(known, distance, np.inf), (far,)), places

    def sparse_distance_matrix(self, other, *args, **kwargs):
        if moving((self.data, getattr(other, "data", None))):
            self._refuse("sparse_distance_matrix", "points; query gives distances")
        return self._tree.sparse_distance_matrix(_own(other), *args, **kwargs)

    def count_neighbors(self, other, r, p=2.0, weights=None, cumulative=True):
        if moving(weights):
            self._refuse("count_neighbors", "weights")
        given = plain((r, p, weights, cumulative))
        return self._tree.count_neighbors(_own(other), *given)

    def _refuse(self, method, what):
        name = f"scipy.spatial.{self.scipys.__name__}.{method}"
        raise unknown_call(name, f"there is no rule for watched {what}")


def _own(x):
    return x._tree if isinstance(x, _Tree) else plain(x)


def _constant(method):
    """A method of a tree whose result, places and counts, is constant."""
    return lambda *args, **kwargs: method(
        *map(_own, args), **{name: _own(x) for name, x in kwargs.items()}
    )


def _in_place_of(scipys):
    about = {"scipys": scipys, "__doc__": scipys.__doc__, "__module__": "zyg.scipy.spatial"}
    made = InPlaceOfSciPys(scipys.__name__, (_Tree,), about | {"__qualname__": scipys.__name__})
    return stands_for(scipys)(made)


CLASSES = {name: _in_place_of(getattr(spatial, name)) for name in ("KDTree", "cKDTree")}
