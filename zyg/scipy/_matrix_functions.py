"""Functions of matrices, and matrices made of arrays.

N. Higham, "Functions of matrices" (2008), theorem 3.6: f([[A, E], [0, A]]) holds the derivative of
f at A along E; and the transpose of the derivative at A is that at A^H.
"""

import numpy as np

from zyg.errors import MissingRuleError, unknown_call
from zyg.functions.kit import as_array, composed, dagger, strip
from zyg.functions.primitives.decompositions import regular
from zyg.scipy._linalg_systems import solve_sylvester
from zyg.scipy._namespace import rule_for
from zyg.scipy._theirs import linalg


def _matrix_function(function):
    def of_matrix(A, *parameters):
        y = rule(A, *parameters)

        def of_matrix_pullback(y_bar):
            h, n = dagger(A), np.shape(A)[-1]
            if any(t % 1 for t in map(strip, parameters)):
                h = regular(function.__name__, h, y_bar, y_bar)
            above = np.concatenate([h, y_bar], axis=-1)
            below = np.concatenate([np.zeros_like(strip(h)), h], axis=-1)
            both = np.concatenate([above, below], axis=-2)
            nothing = (_refuse_exponent,) * len(parameters)
            return (rule(both, *parameters)[..., :n, n:], *nothing)

        return y, of_matrix_pullback

    of_matrix.__name__ = function.__name__
    rule = rule_for(function)(of_matrix)


def _refuse_exponent():
    raise MissingRuleError(
        "scipy.linalg.fractional_matrix_power cannot be differentiated with respect to t.",
        "its rule covers only the matrix.",
        "write expm(t * logm(A)), or pass zyg.stop_gradient(t).",
    )


for _function in (
    linalg.expm, linalg.cosm, linalg.sinm, linalg.tanm, linalg.coshm, linalg.sinhm, linalg.tanhm,
    linalg.fractional_matrix_power,
):  # fmt: skip
    _matrix_function(_function)


@rule_for(linalg.sqrtm)
def sqrtm(A):
    y = sqrtm(A)

    def sqrtm_pullback(y_bar):
        h = regular("sqrtm", dagger(y), y_bar, y_bar)
        return (solve_sylvester(h, h, y_bar),)

    return y, sqrtm_pullback


@rule_for(linalg.logm)
def logm(A, **options):
    """Square roots to the neighbourhood of 1, there int_0^1 B^-1 E B^-1 dt with B = 1 + t (A - 1):
    Higham 2008, section 11.8, for the derivative.
    """
    if not options.get("disp", True):  # which newer versions of SciPy lack
        raise unknown_call("scipy.linalg.logm", "its rule does not know disp=False")
    y = logm(A, **options)

    def logm_pullback(y_bar):
        h, e, one = regular("logm", dagger(A), y_bar, y_bar), y_bar, np.eye(len(A))
        while np.linalg.norm(strip(h) - one, 1) > 0.25:
            h = sqrtm(h)
            e = 2 * solve_sylvester(h, h, e)
        total = 0.0
        for t, weight in zip(*np.polynomial.legendre.leggauss(8), strict=True):
            b = np.linalg.inv(one + 0.5 * (1 + t) * (h - one))
            total = total + 0.5 * weight * np.matmul(np.matmul(b, e), b)
        return (total,)

    return y, logm_pullback


# Matrices made of arrays


@rule_for(linalg.block_diag)
def block_diag(*arrs):
    shapes = [np.shape(a) for a in arrs]

    def block_diag_pullback(y_bar):
        parts, row, column = [], 0, 0
        for shape in shapes:
            rows, columns = (1,) * (2 - len(shape)) + shape
            part = y_bar[row : row + rows, column : column + columns]
            parts.append(np.reshape(part, shape))
            row, column = row + rows, column + columns
        return tuple(parts)

    return block_diag(*arrs), block_diag_pullback


@composed(linalg.circulant)
def circulant(c):
    c = np.atleast_1d(as_array(c))
    if linalg.circulant(strip(c)).ndim == 2:  # where SciPy takes any c for one vector
        c = np.ravel(c)
    n = np.shape(c)[-1]
    return c[..., (np.arange(n)[:, None] - np.arange(n)) % n]
