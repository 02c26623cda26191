"""Products of arrays. For complex operands y = a b has a_bar = y_bar conj(b)."""

import functools
import string

import numpy as np

from zyg._entries import unbroadcast
from zyg._registry import adjoint, composed
from zyg.errors import MissingRuleError
from zyg.rules._helpers import as_array, conj


def _matmul_pullback(a, b):
    """The pullback of a @ b, and of np.dot(a, b) for at most two dimensions each."""
    a, b = as_array(a), as_array(b)

    def a_bar_of(y_bar):
        if np.ndim(b) == 1:
            return y_bar * conj(b) if np.ndim(a) == 1 else y_bar[..., None] * conj(b)
        if np.ndim(a) == 1:
            return unbroadcast(np.matmul(conj(b), y_bar[..., None])[..., 0], np.shape(a))
        return unbroadcast(np.matmul(y_bar, conj(b).swapaxes(-1, -2)), np.shape(a))

    def b_bar_of(y_bar):
        if np.ndim(a) == 1:
            if np.ndim(b) == 1:
                return y_bar * conj(a)
            return unbroadcast(conj(a)[:, None] * y_bar[..., None, :], np.shape(b))
        if np.ndim(b) == 1:
            return unbroadcast(np.matmul(y_bar[..., None, :], conj(a))[..., 0, :], np.shape(b))
        return unbroadcast(np.matmul(conj(a).swapaxes(-1, -2), y_bar), np.shape(b))

    def matmul_pullback(y_bar):
        return lambda: a_bar_of(y_bar), lambda: b_bar_of(y_bar)

    return matmul_pullback


@adjoint(np.matmul)
def matmul(a, b):
    return np.matmul(a, b), _matmul_pullback(a, b)


def _contraction(y, a, b, axes_a, axes_b):
    """y, which sums the products of a and b over these axes, and its pullback."""
    ndim_a, ndim_b = np.ndim(a), np.ndim(b)
    axes_a, axes_b = [k % ndim_a for k in axes_a], [k % ndim_b for k in axes_b]
    free_a = [k for k in range(ndim_a) if k not in axes_a]
    free_b = [k for k in range(ndim_b) if k not in axes_b]
    places = list(range(len(free_a) + len(free_b)))  # of the free axes in the result

    def contraction_pullback(y_bar):
        def a_bar():
            # What is left of b are its summed axes, in b's order.
            c = np.tensordot(y_bar, conj(b), (places[len(free_a) :], free_b))
            order = free_a + [axes_a[k] for k in np.argsort(axes_b)]
            return np.transpose(c, np.argsort(order))

        def b_bar():
            c = np.tensordot(conj(a), y_bar, (free_a, places[: len(free_a)]))
            order = [axes_b[k] for k in np.argsort(axes_a)] + free_b
            return np.transpose(c, np.argsort(order))

        return a_bar, b_bar

    return y, contraction_pullback


@adjoint(np.tensordot)
def tensordot(a, b, axes=2):
    if np.ndim(axes) == 0:
        axes_a, axes_b = range(np.ndim(a) - axes, np.ndim(a)), range(axes)
    else:
        axes_a, axes_b = (np.atleast_1d(k).tolist() for k in axes)
    return _contraction(np.tensordot(a, b, axes), a, b, axes_a, axes_b)


@adjoint(np.dot)
def dot(a, b):
    if 0 < np.ndim(a) <= 2 and 0 < np.ndim(b) <= 2:
        return np.dot(a, b), _matmul_pullback(a, b)
    scalar = not (np.ndim(a) and np.ndim(b))
    axes = ([], []) if scalar else ([-1], [-2 if np.ndim(b) > 1 else 0])
    return _contraction(np.dot(a, b), a, b, *axes)


@adjoint(np.inner)
def inner(a, b):
    scalar = not (np.ndim(a) and np.ndim(b))
    return _contraction(np.inner(a, b), a, b, *(([], []) if scalar else ([-1], [-1])))


@composed(np.outer)
def outer(a, b):
    return np.reshape(a, (-1, 1)) * np.reshape(b, (1, -1))


@adjoint(np.vdot)
def vdot(a, b):
    def vdot_pullback(y_bar):
        return (
            lambda: np.reshape(conj(y_bar) * np.ravel(b), np.shape(a)),
            lambda: np.reshape(y_bar * np.ravel(a), np.shape(b)),
        )

    return np.vdot(a, b), vdot_pullback


# einsum: the cotangent of one operand is an einsum of the result's cotangent and the others


@functools.lru_cache(maxsize=1024)
def _parsed(subscripts, ndims):
    """The letters of each operand and of the result, with `...` written out as capital letters."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ndims):
        raise ValueError(f"einsum: {len(terms)} terms in {subscripts!r} for {len(ndims)} operands")
    free = [c for c in string.ascii_uppercase[::-1] if c not in subscripts]
    widths = [n - len(t) + 3 for t, n in zip(terms, ndims, strict=True) if "..." in t]
    common = "".join(free[: max(widths, default=0)])[::-1]

    def written_out(term, ndim):
        width = ndim - len(term) + 3
        return term.replace("...", common[len(common) - width :] if width else "")

    letters = tuple(written_out(t, n) for t, n in zip(terms, ndims, strict=True))
    if not arrow:
        once = sorted(c for c in set(inputs) - set(",.") if inputs.count(c) == 1)
        output = ("..." if common else "") + "".join(once)
    return letters, output.replace("...", common)


def _operand_cotangent(k, letters, output, operands, y_bar):
    """The cotangent of operand k: its letters summed back from the result and the others."""
    mine, shape = letters[k], np.shape(operands[k])
    terms = [output, *(t for j, t in enumerate(letters) if j != k)]
    values = [y_bar, *(conj(x) for j, x in enumerate(operands) if j != k)]
    size = dict(zip(mine, shape, strict=True))
    present = set("".join(terms))
    spare = (c for c in string.ascii_letters if c not in present | set(mine))
    target = ""
    for place, c in enumerate(mine):
        if c in mine[:place]:  # a diagonal: zero off it
            other = next(spare)
            terms.append(c + other)
            values.append(np.eye(size[c]))
            target += other
        else:
            if c not in present:  # summed away within the operand itself
                terms.append(c)
                values.append(np.ones(size[c]))
            target += c
    c = np.einsum(",".join(terms) + "->" + target, *values)
    return unbroadcast(c, shape)


@adjoint(np.einsum)
def einsum(subscripts, *operands, optimize=False):
    if not isinstance(subscripts, str):
        raise MissingRuleError(
            "np.einsum with lists of numbers for subscripts has no rule.",
            "the rule reads the subscripts as a string.",
            "write them as a string: np.einsum('ij,jk->ik', a, b).",
        )
    letters, output = _parsed(subscripts, tuple(map(np.ndim, operands)))

    def einsum_pullback(y_bar):
        return (
            None,
            *(
                functools.partial(_operand_cotangent, k, letters, output, operands, y_bar)
                for k in range(len(operands))
            ),
        )

    return np.einsum(subscripts, *operands, optimize=optimize), einsum_pullback
