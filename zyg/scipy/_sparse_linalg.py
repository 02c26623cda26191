"""scipy.sparse.linalg for watched values, as ``sparse.linalg``."""

import scipy.sparse.linalg

from zyg.scipy._namespace import drop_in
from zyg.scipy._sparse_solvers import (
    ITERATIVE,
    factorized,
    spilu,
    splu,
    spsolve,
    spsolve_triangular,
)

__all__ = ["factorized", "spilu", "splu", "spsolve", "spsolve_triangular", *ITERATIVE]

globals().update(ITERATIVE)
__getattr__, __dir__ = drop_in(scipy.sparse.linalg, globals())
