"""scipy.sparse.linalg for watched values, as ``sparse.linalg``."""

import scipy.sparse.linalg

from zyg.scipy._namespace import drop_in
from zyg.scipy._sparse_rules import spsolve

__all__ = ["spsolve"]

__getattr__, __dir__ = drop_in(scipy.sparse.linalg, globals())
