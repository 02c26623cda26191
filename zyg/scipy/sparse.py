"""scipy.sparse for watched values: ``from zyg.scipy import sparse``.

The COO, CSR and CSC classes of this module are SciPy's, and take watched arrays in products and
in systems (``linalg.spsolve``, ``splu``, ``cg``, ``gmres`` and kin); so does `matmul` with any
sparse matrix of SciPy's. Made of watched elements, ``csr_array((data, columns, starts), shape)``,
``diags``, ``kron``, ``bmat`` and their like are matrices for sums, products (``A @ x``, ``A @ B``)
and parts (``A[1:, :2]``, ``A.diagonal()``), and for what is in ``linalg``: systems, least squares
(``lsqr``, ``lsmr``), some eigenvalues and singular values (``eigsh``, ``eigs``, ``svds``,
``lobpcg``), functions (``expm_multiply``, ``norm`` and kin).

>>> import numpy as np, zyg
>>> from zyg.scipy import sparse
>>> def f(data, x):
...     a = sparse.coo_array((data, ([0, 1], [1, 0])), shape=(2, 2))
...     return (a @ x)[0]
>>> zyg.gradient(f, np.array([2.0, 3.0]), np.array([5.0, 7.0]))
(array([7., 0.]), array([0., 2.]))

"""

from typing import TYPE_CHECKING, Any

import scipy.sparse

from zyg.scipy import _sparse_linalg as linalg
from zyg.scipy._namespace import drop_in
from zyg.scipy._sparse_builders import FUNCTIONS
from zyg.scipy._sparse_rules import CLASSES, matmul

_made = CLASSES | {k: f for k, f in FUNCTIONS.items() if hasattr(scipy.sparse, k)}
__all__ = ["linalg", "matmul", *_made]

globals().update(_made)
if TYPE_CHECKING:
    from scipy.sparse import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = drop_in(scipy.sparse, globals())
