"""scipy.sparse.linalg for watched values, as ``sparse.linalg``."""

import scipy.sparse.linalg

from zyg.functions.kit import dropins, of_buffers, watched_leaves
from zyg.scipy._namespace import drop_in
from zyg.scipy._sparse_eigenvalues import EIGENVALUES
from zyg.scipy._sparse_functions import FUNCTIONS
from zyg.scipy._sparse_least_squares import LEAST_SQUARES
from zyg.scipy._sparse_solvers import SOLVERS, factorized, spilu, splu


class _Solver(dropins.DropIn):
    """A function that equals SciPy's, which asks whether it was given its own."""

    __slots__ = ()

    def __call__(self, *args, **kwargs):
        y = of_buffers(self.original, watched_leaves((args, kwargs)), args, kwargs)
        return self.inside(*args, **kwargs) if y is NotImplemented else y


_written = (*SOLVERS, *EIGENVALUES, *LEAST_SQUARES, *FUNCTIONS)
_theirs = [(getattr(scipy.sparse.linalg, f.__name__, None), f) for f in _written]
_solvers = {f.__name__: _Solver(original, f) for original, f in _theirs if original}
__all__ = ["factorized", "spilu", "splu", *_solvers]

globals().update(_solvers)
__getattr__, __dir__ = drop_in(scipy.sparse.linalg, globals())
