"""Calls of the rules in `zyg/rules/products.py`."""

import numpy as np

from .calls import BATCHES, CUBE, POINT, PRODUCTS, A, B, V, W, array, call

CALLS = {
    np.matmul: [*PRODUCTS, *BATCHES, call(array(2, 3), [[1, 2], [3, 4], [5, 6]])],
    np.dot: [
        *PRODUCTS, *BATCHES[:4], call(CUBE, array(2, 4, 3)), call(V, array(2, 4, 3)), call(A, 1.5),
        call(1.5, 2.5),
    ],
    np.inner: [
        call(V, array(4, seed=1)), call(A, V), call(V, A), call(A, B), call(CUBE, A), call(A, 1.5),
        call(CUBE, CUBE),
    ],
    np.vdot: [call(V, array(4, seed=1)), call(A, B), call(A, array(12)), call(1.5, 2.5)],
    np.outer: [call(V, W), call(A, V), call(1.5, V)],
    np.tensordot: [
        call(A, array(4, 2), axes=1), call(A, B), call(A, B, 0),
        call(CUBE, array(4, 3, 2), axes=([1, 2], [1, 0])),
        call(CUBE, array(4, 3, 2), ([2, 1], [0, 1])), call(CUBE, CUBE, axes=([0, -1], [0, -1])),
        call(CUBE, A, axes=(1, 0)), call(array(3, 0), array(0, 2), 1),
        call(V, array(4, seed=1), 1), call(CUBE, CUBE, 3), call(POINT, A, 0),
    ],
    np.einsum: [
        call("ij,jk->ik", A, array(4, 2)), call("ij,jk", A, array(4, 2)), call("ij->ji", A),
        call("ij", A), call("ba", A), call("ij->", A), call("ij->j", A),
        call("ii->i", array(3, 3)), call("ii", array(3, 3)), call("iij->ij", array(3, 3, 2)),
        call("iii->i", array(3, 3, 3)), call("iijj->ij", array(2, 2, 3, 3)),
        call("...ij,...jk->...ik", CUBE, array(2, 4, 2)),
        call("...ij,...jk->...ik", CUBE, array(1, 4, 2)), call("...ij,...jk", A, array(2, 4, 2)),
        call("...i->...", CUBE), call("i...,i...->...", CUBE, array(2, 1, 4)),
        call("...,...", A, V), call("...", A), call("ij,kj->k", A, array(2, 4)), call("i,j", V, W),
        call("i,i->", V, array(4, seed=1)), call("ij,ij->ij", array(1, 4), array(3, 1)),
        call("i->", V), call("ij,jk,k->i", A, array(4, 2), array(2)),
        call("ij,jk,k->i", A, array(4, 2), array(2), optimize=True),
        call("i,ij,j", W, A, V, optimize="greedy"), call(" ij , jk -> ik ", A, array(4, 2)),
        call(",->", 1.5, 2.5), call("ij,jk->ik", array(3, 0), array(0, 2)),
        call("ii,i->i", array(3, 3), W), call("ij,jj->i", array(2, 3), array(3, 3)),
        call("i,i,i->i", V, V, V), call("ab...,b...->a...", CUBE, A),
        call("...ii->...i", array(2, 3, 3)),
    ],
}  # fmt: skip
