"""Similar matrices: of scaled rows and columns; with zeros below what is next to the diagonal.

Source: G. Golub and C. Van Loan, Matrix Computations (2013), section 7.4.
"""

import numpy as np

from zyg.functions.kit import as_array, conj, dagger, is_complex, strip
from zyg.scipy._closures import plain
from zyg.scipy._theirs import linalg
from zyg.scipy._valued import unknown, written


@written(linalg.matrix_balance, "A", overwrite_a=False)
def matrix_balance(A, permute, scale, separate, overwrite_a):
    """The scales are powers of 2, and the order is of whole numbers: they stay as they are."""
    _, change = linalg.matrix_balance(plain(A), permute, scale)
    return np.linalg.inv(change) @ as_array(A) @ change, None


@written(linalg.hessenberg, "a", overwrite_a=False)
def hessenberg(a, calc_q, overwrite_a, check_finite):
    """By the reflections of LAPACK, each of which makes a real number of one column's part."""
    h = as_array(a)
    n = np.shape(h)[-1]
    if np.ndim(h) != 2:
        raise unknown(linalg.hessenberg, "a stack of matrices", "take one after the other")
    q = np.eye(n)
    last = n if is_complex(h) else n - 1  # of complex numbers, what is left alone becomes real
    for k in range(1, last if n > 2 else 0):
        reflection = np.eye(n) - np.pad(_reflector(h[k:, k - 1]), ((k, 0), (k, 0)))
        h, q = dagger(reflection) @ h @ reflection, q @ reflection
    h = np.triu(h, -1)
    return (h, q) if calc_q else h


def _reflector(x):
    """What the identity exceeds the reflection of x to its first axis by."""
    if not np.any(strip(x)[1:]) and not np.imag(strip(x)[0]):
        option = "a column that has its zeros already, and is not reflected"
        raise unknown(linalg.hessenberg, option, "add what moves it")
    length = np.sqrt(np.sum(np.real(x * conj(x))))
    end = np.where(np.real(strip(x)[0]) < 0, length, -length)
    v = np.concatenate([np.ones(1), x[1:] / (x[0] - end)])
    return (end - x[0]) / end * np.outer(v, conj(v))
