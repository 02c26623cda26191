"""Calls of the rules in `functions/composed/polynomials.py`."""

import numpy as np

from .calls import EMPTY, A, V, array, call

P, Q = array(4, seed=5), array(3, seed=6)
X = np.array([-1.1, -0.6, 0.2, 1.3])
SEPARATE = np.array([1.0, -0.9, -2.6, 1.2])  # the roots -1.5, 0.4 and 2
PAIR = np.array([1.0, 0.3, 2.2, 0.7])  # a real root and a complex pair

CALLS = {
    np.polyval: [
        call(P, 1.3), call(P, V), call(P, A), call(P[:1], V), call(P, EMPTY),
        call(P, [1, 2]), call(P[:0], V), call(array(3, 4), V),
    ],
    np.polyadd: [call(P, Q), call(Q, P), call(1.5, P), call(P, [1, 2])],
    np.polysub: [call(P, Q), call(Q, P), call(1.5, P), call(P, [1, 2])],
    np.polymul: [call(P, Q), call(Q, P), call(1.5, P), call(P, [1, 2])],
    np.polydiv: [call(P, Q), call(Q, P), call(P, P[:1]), call(P, [2, 1]), call(P, array(4))],
    np.polyder: [call(P), call(P, 2), call(P, 0), call(P, m=4), call(P[:1])],
    np.polyint: [call(P), call(P, 2), call(P, 0), call(P, k=1), call(P, 2, [1, 2]), call(P, 2, 3)],
    np.poly: [call(V), call(V[:1]), call([1.5, 2.5]), call(np.zeros(0))],
    np.roots: [
        call(SEPARATE), call(PAIR), call([1.0, 0.3]), call(P[:1]),
    ],
    np.polyfit: [call(X, array(4), 1), call(X, array(4, 2), 1, w=np.abs(array(4, seed=1)))],
}  # fmt: skip
