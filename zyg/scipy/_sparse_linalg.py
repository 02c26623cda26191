"""scipy.sparse.linalg for watched values, as ``sparse.linalg``."""

import scipy.sparse.linalg

from zyg.functions.kit import dropins
from zyg.scipy import _sparse_rules
from zyg.scipy._namespace import drop_in

__all__ = ["spsolve"]


class _Equal(dropins.DropIn):
    """A function that equals SciPy's, which asks whether it was given its own."""

    __slots__ = ()

    def __call__(self, *args, **kwargs):
        return self.inside(*args, **kwargs)


spsolve = _Equal(scipy.sparse.linalg.spsolve, _sparse_rules.spsolve)

__getattr__, __dir__ = drop_in(scipy.sparse.linalg, globals())
