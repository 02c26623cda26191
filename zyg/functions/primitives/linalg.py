"""Linear algebra with inverses: equations, least squares, determinants, powers.

Sources: M. Giles, "An extended collection of matrix derivative results" (2008); G. Golub, V.
Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose
variables separate" (1973), which holds while the rank does not change.

A matrix that is singular: `inv`, `solve` raise NumPy's LinAlgError; `det` is differentiated from
its cofactors; the pullback of `slogdet`, whose slope is infinite, raises LinAlgError, unless its
cotangent is 0.
"""

import numpy as np

from zyg.errors import MissingRuleError
from zyg.functions.kit import (
    adjoint,
    composed,
    computes,
    conj,
    dagger,
    is_complex,
    is_watched,
    like,
    nondifferentiable,
    of_triangle,
    raised,
    slopes_hold,
    strip,
    unbroadcast,
    with_value,
)

nondifferentiable(np.linalg.matrix_rank)


# Inverses


@adjoint(np.linalg.inv)
def inv(a):
    return with_inv_pullback(np.linalg.inv(a))


def with_inv_pullback(y):
    def inv_pullback(y_bar):
        h = dagger(y)
        return (-np.matmul(np.matmul(h, y_bar), h),)

    return y, inv_pullback


@adjoint(np.linalg.solve, linear=(1,))
def solve(a, b):
    return with_solve_pullback(np.linalg.solve(a, b), a, b)


def with_solve_pullback(x, a, b):
    vector = np.ndim(b) == 1

    def columns(v):
        return v[..., None] if vector else v

    def solve_pullback(x_bar):
        columns_bar = np.linalg.solve(dagger(a), columns(x_bar))

        def a_bar():
            rows = dagger(columns(x))
            product = -columns_bar * rows if vector else equation_cotangent(columns_bar, rows)
            return unbroadcast(product, np.shape(a))

        def b_bar():
            return unbroadcast(columns_bar[..., 0] if vector else columns_bar, np.shape(b))

        return a_bar, b_bar

    return x, solve_pullback


def equation_cotangent(b_bar, rows):
    """That of a, where a x = b and the rows are dagger(x)."""
    return -np.matmul(b_bar, rows)


@composed(np.linalg.tensorinv)
def tensorinv(a, ind=2):
    if ind <= 0 or not np.ndim(a):
        raised(np.linalg.tensorinv, a, ind)
    shape = np.shape(a)
    rows = np.prod(shape[ind:], dtype=int)
    return np.reshape(np.linalg.inv(np.reshape(a, (rows, -1))), shape[ind:] + shape[:ind])


@composed(np.linalg.tensorsolve)
def tensorsolve(a, b, axes=None):
    order = list(range(np.ndim(a)))
    for k in axes or ():
        order.remove(k)
        order.append(k)
    a = np.transpose(a, order)
    shape = np.shape(a)[-(np.ndim(a) - np.ndim(b)) :]
    rows = np.prod(shape, dtype=int)
    if np.size(a) != rows**2:
        np.linalg.tensorsolve(strip(a), strip(b))  # raises
    return np.reshape(np.linalg.solve(np.reshape(a, (rows, rows)), np.ravel(b)), shape)


@composed(np.linalg.matrix_power)
def matrix_power(a, n):
    is_square = np.ndim(a) > 1 and np.shape(a)[-2] == np.shape(a)[-1]
    if not is_square or not isinstance(n, (int, np.integer)):
        raised(np.linalg.matrix_power, a, n)
    if n == 0:
        power = np.zeros_like(strip(a))
        for k in range(np.shape(a)[-1]):
            power[..., k, k] = 1
        return power
    square, n = np.linalg.inv(a) if n < 0 else a, abs(n)
    if n < 4:
        twice = np.matmul(square, square) if n > 1 else square
        return np.matmul(twice, square) if n == 3 else twice
    while n % 2 == 0:
        square, n = np.matmul(square, square), n // 2
    power = square
    while n > 1:
        square, n = np.matmul(square, square), n // 2
        if n % 2:
            power = np.matmul(power, square)
    slopes_hold(np.all(np.isfinite(strip(power))))
    return power


@composed(np.linalg.pinv)
def pinv(a, rcond=None, hermitian=False, **rtol):
    """The rule for a rank that stays, or by singular values where some are cut off.

    rtol=None is not rtol left out, for which NumPy has a value of its own.
    """
    rcond, rtol = strip(rcond), {k: strip(v) for k, v in rtol.items()}
    y = _pinv(a, rcond, hermitian, rtol)
    if not np.size(a):
        return y
    plain = np.linalg.svd(strip(a), False, hermitian, hermitian)  # eigvalsh raises of infinities
    plain = plain.S if hermitian else plain
    least = rtol.get("rtol", 1e-15) if rcond is None else rcond
    if least is None:
        least = max(np.shape(a)[-2:]) * np.finfo(plain.dtype).eps
    keep = plain > np.expand_dims(least, -1) * np.max(plain, axis=-1, keepdims=True, initial=0.0)
    if not cuts(plain, keep):
        return y
    u, s, vh = np.linalg.svd(a, full_matrices=False, hermitian=hermitian)
    inverse = np.where(keep, 1 / np.where(keep, s, 1.0), 0.0)
    return with_value(np.matmul(dagger(vh) * inverse[..., None, :], dagger(u)), (strip(y),))


def cuts(s, keep):
    """Whether a singular value that is not kept is more than rounding of those that are."""
    least = np.min(np.where(keep, s, np.inf), axis=-1)
    most = np.max(np.where(keep, 0.0, s), axis=-1)
    return np.any(most > np.sqrt(np.finfo(s.dtype).eps) * least)


@adjoint
def _pinv(a, rcond, hermitian, rtol):
    """dy = -y da y + y y^H da^H (1 - a y) + (1 - y a) da^H y^H y, where nothing else is cut off.

    For second derivatives, what is cut off is e = a - a y a, which is 0 and may move: to first
    order in it, dy has y y^H y da e^H + e^H da y y^H y as well.
    """
    return with_pinv_pullback(np.linalg.pinv(a, rcond, hermitian, **rtol), a, hermitian)


def with_pinv_pullback(y, a, hermitian=False):
    def pinv_pullback(y_bar):
        whole = a
        if hermitian:
            low = np.tril(a, -1)
            whole = low + dagger(low) + np.real(a) * np.eye(np.shape(a)[-1], dtype=strip(y).dtype)
        h, d = dagger(y), dagger(y_bar)
        left = np.matmul(np.matmul(d, y), h)
        right = np.matmul(h, np.matmul(y, d))
        a_bar = left - np.matmul(whole, np.matmul(y, left))
        a_bar = a_bar + right - np.matmul(np.matmul(right, y), whole)
        a_bar = a_bar - np.matmul(np.matmul(h, y_bar), h)
        if is_watched(a) or is_watched(y_bar):
            e, cube = whole - np.matmul(np.matmul(whole, y), whole), np.matmul(np.matmul(h, y), h)
            a_bar = a_bar + np.matmul(np.matmul(e, y_bar), cube)
            a_bar = a_bar + np.matmul(np.matmul(cube, y_bar), e)
        return (of_triangle(a_bar) if hermitian else a_bar), None, None, None

    return y, pinv_pullback


def least_squares_of_rank(a, b, s, rank):
    """The solution for b, where singular values beyond a rank are cut off."""
    least = np.mean(s[rank - 1 : rank + 1]) / s[0] if rank else 1.0
    return np.matmul(np.linalg.pinv(a, least), b)


@composed(np.linalg.lstsq)
def lstsq(a, b, rcond=None):
    x, residuals, rank, s = _lstsq(a, b, strip(rcond))
    rank = strip(rank)
    if rank < min(np.shape(a)):
        x = with_value(least_squares_of_rank(a, b, strip(s), rank), (strip(x),))
    return x, residuals, rank, s


@computes
@adjoint
def _lstsq(a, b, rcond):
    """x = y b, where y is the pseudoinverse of a, of full rank."""
    return with_lstsq_pullback(np.linalg.lstsq(a, b, rcond), a, b)


def with_lstsq_pullback(made, a, b):
    x, residuals, *_ = made

    def columns(v):
        return np.reshape(v, (-1, 1)) if np.ndim(b) == 1 else v

    def lstsq_pullback(bars):
        x_bar, residuals_bar, _, s_bar = bars
        y, x_bar, xs = np.linalg.pinv(a), columns(x_bar), columns(x)
        h = dagger(y)
        b_bar = np.matmul(h, x_bar)
        rest = columns(b) - np.matmul(a, xs)
        a_bar = np.matmul(rest, dagger(np.matmul(y, b_bar))) - np.matmul(b_bar, dagger(xs))
        a_bar = a_bar + np.matmul(np.matmul(h, xs), dagger(x_bar - np.matmul(dagger(a), b_bar)))
        if np.size(residuals):  # their sum of squares does not move with x
            moved = 2 * rest * residuals_bar
            a_bar, b_bar = a_bar - np.matmul(moved, dagger(xs)), b_bar + moved
        if is_watched(s_bar) or np.any(s_bar):
            u, _, vh = np.linalg.svd(a, full_matrices=False)
            a_bar = a_bar + np.matmul(u * s_bar, vh)
        return a_bar, np.reshape(b_bar, np.shape(b)), None

    return made, lstsq_pullback


# Determinants


@adjoint(np.linalg.det)
def det(a):
    return with_det_pullback(np.linalg.det(a), a)


def with_det_pullback(y, a):
    def det_pullback(y_bar):
        inverse = _accurate_inverse(a)
        if inverse is None:
            return (scaled(y_bar, dagger(adjugate(a))),)
        return (scaled(y_bar * conj(y), dagger(inverse)),)

    return y, det_pullback


@adjoint(np.linalg.slogdet)
def slogdet(a):
    return with_slogdet_pullback(np.linalg.slogdet(a), a)


def with_slogdet_pullback(made, a):
    sign = made[0]  # CuPy's has no names

    def slogdet_pullback(bars):
        sign_bar, of_log = bars
        if is_complex(sign):  # d sign = i sign im(trace(a^-1 da))
            of_log = of_log + 1j * np.imag(sign_bar * conj(sign))
        safe, one = a, type(sign) is np.float64 and sign != 0  # of one matrix, that is regular
        if not one and not is_watched(of_log) and like(sign) is None:
            idle = np.asarray((strip(sign) == 0) & (of_log == 0))[..., None, None]
            safe = np.where(idle, np.eye(np.shape(a)[-1]), a) if np.any(idle) else a
        return (scaled(of_log, dagger(np.linalg.inv(safe))),)

    return made, slogdet_pullback


def scaled(factors, matrices):
    return np.reshape(factors, (*np.shape(factors), 1, 1)) * matrices


def _accurate_inverse(a):
    """The inverse, where it gives the derivatives of det to half of the digits; else None."""
    try:
        inverse = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return None
    plain, other = strip(a), strip(inverse)
    return inverse if is_accurate(plain, other) else None


def is_accurate(a, inverse):
    """Whether a matrix times its inverse is the unit matrix to half of the digits."""
    sizes = [np.max(np.sum(np.abs(x), -2), -1, initial=0.0) for x in (a, inverse)]
    return not np.any(sizes[0] * sizes[1] > np.finfo(inverse.dtype).eps ** -0.5)


@adjoint
def adjugate(a):
    """The cofactors, transposed, of matrices of any rank: of a = u s v^H, det(u v^H) v p u^H,
    where p[i] is the product of all singular values but s[i].
    """

    def adjugate_pullback(y_bar):
        return (adjugate_slope(dagger(a), y_bar),)

    return (adjugate(a) if is_watched(a) else plain_adjugate(a)), adjugate_pullback


def plain_adjugate(a):
    (u, s, vh), factor = _with_determinant(a)
    product, rest, zeros = _without_zeros(s)
    others = np.where(zeros == (s == 0), product / rest, 0.0)
    return factor * np.matmul(dagger(vh) * others[..., None, :], dagger(u))


@adjoint
def adjugate_slope(a, a_dot):
    """The derivative of the adjugate along a_dot. With d = u^H a_dot v, and p[i, j] the product of
    all singular values but s[i] and s[j], it is that of the adjugate of diag(s) along d, whose
    entries are sum_k p[i, k] d[k, k] on the diagonal and -p[i, j] d[i, j] off it.
    """

    def adjugate_slope_pullback(y_bar):
        def a_bar():
            raise MissingRuleError(
                "the third derivative of np.linalg.det at a singular matrix has no rule.",
                "its first two are exact there; from the third on the rule needs the inverse.",
                "differentiate at a matrix that is not singular, or write the determinant out.",
            )

        return a_bar, lambda: adjugate_slope(dagger(a), y_bar)

    if is_watched(a):
        return adjugate_slope(a, a_dot), adjugate_slope_pullback
    (u, s, vh), factor = _with_determinant(a)
    product, rest, zeros = _without_zeros(s)
    zero = s == 0
    pairs = product[..., None] / (rest[..., :, None] * rest[..., None, :])
    even = zeros[..., None] == zero[..., :, None].astype(int) + zero[..., None, :]
    pairs = np.where(even & ~np.eye(s.shape[-1], dtype=bool), pairs, 0.0)
    d = np.matmul(np.matmul(dagger(u), a_dot), dagger(vh))
    on = np.matmul(pairs, np.diagonal(d, axis1=-2, axis2=-1)[..., None])
    inner = on * np.eye(s.shape[-1], dtype=s.dtype) - pairs * d
    y = factor * np.matmul(np.matmul(dagger(vh), inner), dagger(u))
    return y, adjugate_slope_pullback


def _with_determinant(a):
    known = np.all(np.isfinite(a), axis=(-2, -1), keepdims=True)  # of others LAPACK's may not end
    u, s, vh = np.linalg.svd(np.where(known, a, 0))
    sign = scaled(np.linalg.det(u) * np.linalg.det(vh), 1)
    return (u, s, vh), np.where(known, sign, np.nan)


def _without_zeros(s):
    """The product of the values that are not 0; the values, 1 for each 0; how many are 0."""
    rest = np.where(s == 0, 1, s)
    product = np.prod(rest, axis=-1, keepdims=True)
    return product, rest, np.sum(s == 0, axis=-1, keepdims=True)


# The names of the array API


@composed(np.linalg.diagonal)
def diagonal(x, /, *, offset=0):
    return np.diagonal(x, offset, axis1=-2, axis2=-1)


@composed(np.linalg.trace)
def trace(x, /, *, offset=0, dtype=None):
    return np.trace(x, offset, axis1=-2, axis2=-1, dtype=dtype)


@composed(np.linalg.matrix_transpose)
def matrix_transpose(x, /):
    return np.matrix_transpose(x)


@composed(np.linalg.matmul)
def matmul(x1, x2, /):
    return np.matmul(x1, x2)


@composed(np.linalg.tensordot)
def tensordot(x1, x2, /, *, axes=2):
    return np.tensordot(x1, x2, axes=axes)


@composed(np.linalg.vecdot)
def vecdot(x1, x2, /, *, axis=-1):
    return np.vecdot(x1, x2, axis=axis)  # type: ignore[call-overload]


@composed(np.linalg.outer)
def outer(x1, x2, /):
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        np.linalg.outer(strip(x1), strip(x2))  # raises
    return np.outer(x1, x2)


@composed(np.linalg.cross)
def cross(x1, x2, /, *, axis=-1):
    if np.shape(x1)[axis] != 3 or np.shape(x2)[axis] != 3:
        np.linalg.cross(strip(x1), strip(x2), axis=axis)  # raises
    return np.cross(x1, x2, axis=axis)
