"""Calls of the rules in `functions/primitives/products.py`."""

import numpy as np

from .calls import BATCHES, CUBE, EMPTY, POINT, PRODUCTS, A, B, V, W, array, call

CALLS = {
    np.matmul: [*PRODUCTS, *BATCHES, call(array(2, 3), [[1, 2], [3, 4], [5, 6]])],
    np.dot: [
        *PRODUCTS, *BATCHES[:4], call(CUBE, array(2, 4, 3)), call(V, array(2, 4, 3)), call(A, 1.5),
        call(1.5, 2.5), call(1.5, A),
    ],
    np.inner: [
        call(V, array(4, seed=1)), call(A, V), call(V, A), call(A, B), call(CUBE, A), call(A, 1.5),
        call(CUBE, CUBE), call(1.5, A), call(1.5, 2.5),
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
        call("...ii->...i", array(2, 3, 3)), call(A, [0, 1], array(4, 2), [1, 2], [0, 2]),
        call(A, [1, 0]), call(array(3, 3), [30, 30], []), call(A, [2, 1], array(4, 2), [1, 26]),
        call(CUBE, [..., 0, 1], V, [1], [..., 0]), call("ij,jk,kl", A, array(4, 2), array(2, 3)),
        call("ij,jk,kl", A, array(4, 2), array(2, 3), optimize=["einsum_path", (0, 1), (0, 1)]),
    ],
    np.vecdot: [
        call(V, array(4, seed=1)), call(CUBE, V), call(array(5, 3), array(2, 3, 5), axis=1),
        call(CUBE, CUBE, axis=0), call(array(0, 3), W), call(array(3, 0), array(1, 0)),
    ],
    np.kron: [
        call(A, array(2, 3)), call(V, W), call(A, 1.5), call(1.5, A), call(CUBE, V), call(V, CUBE),
        call(EMPTY, A), call(array(2, 1), array(1, 1, 2)),
    ],
    np.cross: [
        call(W, array(3, seed=1)), call(array(2, 3), W), call(array(4, 1, 3), array(2, 3)),
        call(array(3, 2), array(3, 2, seed=1), axis=0), call(array(3, 2), array(2, 3), axisa=0),
        call(array(2, 3), array(3, 2), -1, 0, 0), call(array(0, 3), W),
    ],
    np.convolve: [
        *(call(array(n), array(m, seed=1), mode) for mode in ("full", "same", "valid")
          for n, m in ((5, 3), (3, 5), (6, 4), (4, 6), (4, 4), (1, 3), (3, 1), (2, 5))),
        call(V, W), call(V, 1.5), call(1.5, 2.5),
    ],
    np.correlate: [
        *(call(array(n), array(m, seed=1), mode) for mode in ("full", "same", "valid")
          for n, m in ((5, 3), (3, 5), (6, 4), (4, 6), (4, 4), (1, 3), (3, 1), (2, 5))),
        call(V, W),
    ],
    np.linalg.multi_dot: [
        call([A, V]), call([A, array(4, 2), array(2, 5)]), call((W, A, V)),
        call([W, A, array(4, 2)]), call([A, array(4, 2), array(2)]),
        call([array(2, 5), array(5, 1), array(1, 4), array(4, 3)]),
        call([array(3), array(3, 2), array(2, 4), array(4, 2), array(2)]),
        call([array(3, 0), array(0, 2), array(2, 2)]),
    ],
}  # fmt: skip

if hasattr(np, "matvec"):  # they came with NumPy 2.2
    CALLS |= {
        np.matvec: [
            call(A, V), call(CUBE, V), call(A, array(2, 4)), call(array(2, 1, 3, 4), array(3, 4)),
            call(array(0, 3, 4), V), call(array(3, 0), array(0)),
        ],
        np.vecmat: [
            call(W, A), call(array(5, 3), A), call(W, CUBE), call(array(2, 1, 3), array(3, 3, 4)),
            call(W, array(0, 3, 4)), call(array(0), array(0, 2)),
        ],
    }  # fmt: skip
