"""Programs that are no single call: operators, subscripts, attributes, builtins, chains of calls.

`ROWS` are texts with leaves; each of `TEXTS` is there with each of `ARGUMENTS`. `SPECIAL` are those
at ties, zeros and kinks, which are run whole in the gate.
"""

import numpy as np

from .calls import array

TEXTS = [
    text.strip()
    for text in """
    x0.T|len(x0)|x0.size|x0.ndim|x0.shape|x0.dtype == np.float64|float(x0)|int(x0)|bool(x0)|x0[0]
    x0[-1]|x0[1:]|x0[::-1]|x0[..., 0]|x0[None]|x0[x0 > 0]|x0[[0, -1]]|abs(x0)|-x0|+x0|~x0|x0.real
    x0.imag|x0 @ x0|x0 @ x0.T|np.linalg.det(x0 @ x0.T + np.eye(len(x0)))
    np.linalg.inv(x0 @ x0.T + np.eye(len(x0)))
    np.add.reduce(x0)|np.multiply.accumulate(x0)|np.add.accumulate(x0, None)
    np.maximum.reduce(x0)|np.add.outer(x0, x0)|max(x0)|np.logaddexp.reduce(x0)
    np.logaddexp.reduce(x0, axis=None)|np.maximum.accumulate(x0)|np.minimum.accumulate(x0)
    np.minimum.reduce(x0)|np.multiply.reduce(x0)|np.hypot.reduce(x0)|np.fmax.reduce(x0)
    min(x0)|sum(x0)|sorted(x0)|list(x0)|x0 ** 2|x0 ** -1|x0 ** 0.5|2 ** x0|2.0 ** x0|x0 / 0|x0 // 0
    x0 % 0|x0 // 2|x0 % 2|divmod(x0, 2)|x0 & 1|x0 << 1|x0 and 1.0|not x0|x0 if x0 else 2.0
    round(x0)|round(x0, 1)|math.trunc(x0)|math.floor(x0)|hash(x0) == 0|np.zeros_like(x0)
    np.ones_like(x0)|np.full_like(x0, 2)
    np.array([x0, x0])|np.asarray(x0)|np.cumsum(x0)[-1]|np.split(x0, 2)[0]|x0.astype(int)
    x0.astype(np.float32)|x0.astype(bool)|x0.astype(complex)|np.sum(x0, where=x0 > 0)
    """.replace("\n", "|").split("|")
    if text.strip()
]
TIE = array(4)
TIE[1] = TIE[3]
ARGUMENTS = [
    TIE, array(3, 4), array(2, 2, 3), np.zeros((0, 3)), np.array(1.3),
    np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0]), np.array([1.0, np.inf, 1.0]),
    np.array([-np.inf, -np.inf]), np.arange(6.0).reshape(2, 3).T - 2.3,
    0.7, -2, 3, True, 0, 0.3 + 0.4j,
    *(kind(1.5) for kind in (np.float64, np.float32, np.int64, np.bool_, np.complex128)),
]  # fmt: skip

X, T = np.array([0.0, 1.0, -2.0, 3.0]), np.array([[1.0, 2.0, 2.0], [2.0, 1.0, 1.0]])
TIES, STEPS = np.array([2.0, 2.0, 1.0]), np.array([0.0, 1.0, -1.0])
KNOTS, HEIGHTS = np.array([0.0, 1.0, 2.0]), np.array([3.0, 1.0, 2.0])
SPECIAL = [
    ("np.sum(np.where(x0 > 0, np.log(np.where(x0 > 0, x0, 1.0)), 0 * x0))", [X]),
    ("np.sum(np.sort(x0) * np.arange(3.0))", [TIES]),
    ("np.sum(np.sort(x0)[::-1] * np.array([1, 10, 100.0]))", [TIES]),
    ("np.sum(x0[np.argsort(x0)] * np.arange(4.0))", [X]),
    ("np.sum(np.cumprod(x0))", [X]),
    ("np.prod(x0)", [X]),
    ("np.median(x0)", [X]),
    ("np.sum(np.median(x0, keepdims=True) * x0)", [T]),
    ("max(x0, x1)", [1.0, 1.0]),
    ("min(x0, x1)", [1.0, 1.0]),
    ("x1 * x0", [True, 2.0]),
    ("np.sum(x1[x0])", [np.array([True, False, True, True]), X]),
    ("np.sum(x0 * 0.5 * x0)", [np.array([1, 2, 3])]),
    ("np.abs(x0) ** 2", [1 + 2j]),
    ("x0[np.triu_indices(3)]", [array(3, 3)]),
    ("x0[np.tril_indices(3, -1, 4)]", [array(3, 4)]),
    ("x0[np.diag_indices(3)]", [array(3, 3)]),
    ("np.mgrid[0:3, -1:1:5j] * x0", [2.0]),
    ("np.mgrid[: len(x0)] * x0", [array(3)]),
    ("x0[np.ogrid[0:3, 1:4:2][1]] * np.ogrid[:2, 1:2:0.5][1]", [array(4)]),
    ("x0[np.triu_indices_from(x0, 1)] * 2", [array(3, 4)]),
    ("x0[np.tril_indices_from(x0)] * 2", [array(3, 4)]),
    ("x0[np.diag_indices_from(x0)] * 2", [array(3, 3)]),
    ("np.array_split(x0, 3)", [array(5)]),
    ("np.array_split(x0, [-1, 7, 2])", [array(5)]),
    ("np.split(x0, 2, axis=-1)[1]", [array(3, 4)]),
    ("np.hsplit(x0, [1, 3])", [array(2, 4)]),
    ("np.sum(1 / x0)", [np.array([0.0])]),
    ("np.sum(np.log(x0))", [np.array([0.0, 1.0])]),
    ("np.sum(x0 * x1)", [X, X]),
    ("np.sum(np.max(x0, axis=1) * np.array([1.0, 10]))", [T]),
    ("np.max(x0, axis=(0, 1))", [T]),
    ("np.max(x0.T)", [T]),
    ("np.ptp(x0)", [T]),
    ("np.nanmax(x0)", [TIES]),
    ("np.sum(np.maximum.accumulate(x0) * np.array([1, 10, 100.0]))", [TIES]),
    ("np.sum(np.minimum.accumulate(x0) * np.array([1, 10, 100.0]))", [TIES]),
    ("np.sum(np.fmax(x0, 1.0))", [TIES]),
    ("np.sum(np.fmin(x0, 1.0))", [TIES]),
    ("np.sum(np.clip(x0, x1, x2))", [STEPS, 0.0, 1.0]),
    ("np.sum(np.clip(x0, x1, None))", [np.array([0.0, 1, 0.5]), np.array([0.0, 2, 0])]),
    ("np.sum(np.interp(x0, x1, x2))", [np.array([0.0, 0.5, 1.0, 2.0, 3.0]), KNOTS, HEIGHTS]),
    ("np.sum(np.interp(x0, x1, x2))",
     [np.array([2.0, 1.5]), np.array([0.0, 1.0, 2.0, 2.0]), np.array([3.0, 1.0, 2.0, 5.0])]),
    ("np.sum(np.interp(x0, x1, x2))",
     [np.array([1.0, 0.5]), np.array([0.0, 1.0, 1.0, 2.0]), np.array([3.0, 1.0, 2.0, 5.0])]),
    ("np.sum(np.sign(x0) * x0)", [STEPS]),
    ("np.sum(np.heaviside(x0, 0.5) * x0)", [STEPS]),
    ("np.sum(np.copysign(x0, -1.0))", [STEPS]),
    ("np.sum(np.logaddexp(x0, x0))", [STEPS]),
    ("np.sum(np.logaddexp(x0, 1.0))", [np.array([-np.inf, 1])]),
    ("np.sum(x0 ** x1)", [np.array([-2.0, 3]), np.array([2.0, 2])]),
    ("np.sum(x0 ** np.array([2, 3]))", [np.array([-2.0, 0.0])]),
    ("np.sum(x0 ** -2)", [np.array([-2.0, 3.0])]),
    ("np.sum((x0 - x0.mean(0)).T @ (x0 - x0.mean(0)))", [T]),
    ("np.sum((x0 * x0).real)", [np.array([1 + 2j, 0.5j])]),
    ("np.linalg.det(x0)", [np.array([[0.0, 1], [0, 0]])]),
    ("np.sum(np.sinc(x0))", [np.array([1e-09, 1e-06, 0.0, 1.0])]),
    ("np.sum(np.take(x0, c0, axis=1) ** 3 * np.arange(4.0).reshape(2, 2))".replace(
        "c0", "np.array([[1, 0], [0, 0]])"), [T]),
    ("np.sum(np.kron(x0[0], x0) * np.arange(18.0).reshape(2, 9))", [T]),
    ("np.sum(np.rot90(x0.reshape(1, 2, 3)) * np.arange(6.0).reshape(2, 1, 3))", [T]),
    ("x0[0] * np.searchsorted(x0, np.nan)", [np.array([1.0, 2.0])]),
    ("np.sum(np.where(x0 < 9, x0, np.linalg.norm(x0 / 0.0)))", [np.array([1.0, -1.0])]),
    ("np.sum(np.where(x0 < 9, x0, np.linalg.norm(x0 / 0.0, axis=1)))", [np.eye(2)]),
    ("np.sum(np.power(x0, x1))", [np.array([2.0, np.inf]), np.zeros(2)]),
    *((text, [np.array([1 + 2j, 0.5j, -1.0])]) for text in (
        "np.var(x0)", "x0.std()", "np.linalg.norm(x0)", "np.vdot(x0, 2j * x0)",
        "np.correlate(x0, x0)", "np.shape([x0, x0])", "np.reciprocal(x0)",
    )),
    ("np.bincount(np.array([0, 2]), np.array([1, 2])) * x0", [0.25]),
    ("len(np.meshgrid(*3 * [np.ones(2)])) * x0", [0.25]), ("np.isnan(x0) is np.False_", [0.25]),
    # At extents that NumPy treats apart.
    ("np.polyval(x0, 0.5)", [np.zeros(0)]),
    ("np.average(x0, weights=x1)", [np.ones(2), np.array([1.0, -1.0])]),
    ("np.average(x0, 0, weights=x1)", [np.ones((2, 2)), np.array([[1.0, 2.0], [-1.0, 3.0]])]),
    ("np.average(x0, 0, weights=x1)", [np.ones((2, 2)), np.array([1.0, -1.0])]),
    ("np.cov(x0)", [np.array([[1.0, 2.0, 4.0]])]),
    ("np.einsum('ii', x0)", [np.ones((1, 3))]),
    ("np.einsum('ii', x0)", [np.ones((0, 1))]),
    ("np.einsum('ii,i->i', x0, x1)", [np.ones((1, 3)), np.ones(3)]),
    ("x0[x1]", [np.ones((3, 0)), np.array([5])]),
    ("x0[:, x1]", [np.ones((0, 3)), np.array([5])]),
    ("np.bincount(x1, x0, 6)", [np.zeros(0), np.zeros(0, int)]),
    ("np.bincount(x1, x0)", [np.ones(3), np.array([0, 1])]),
    ("np.quantile(x0, x1)", [np.array(np.inf), 0.43]),
    ("np.max(x0, keepdims=True)", [np.array(2.0)]),
    ("np.var(x0, keepdims=True)", [np.array(2.0)]),
    ("np.linalg.solve(x0, x1)", [np.zeros((0, 3, 3)), np.zeros((0, 2))]),
    ("np.linalg.det(x0)", [np.zeros((0, 3, 2))]),
    ("np.atleast_1d(x0, x1)", [1.0, np.array([1, 2])]),
    ("np.sum(1 / x0)", [np.array([0j, 1 + 1j])]),  # a pole
    ("np.sum(x0 / x1)", [np.array([2j, 1 + 1j]), np.array([0j, 1j])]),
    ("np.dot(x0 + np.zeros(2), 2.0, out=np.zeros(2))", [np.ones(2)]),
    ("np.concatenate([x0, x1], out=np.zeros(4))", [np.ones(2), np.zeros(2)]),
    ("np.dot(x0, 2.0)", [np.ones((2, 3), order="F")]),
    ("np.inner(2.0, x0)", [np.arange(6.0).reshape(2, 3)]),
    ("x0 ** 0.5", [np.array([-np.inf, -0.0, 4.0], np.float32)]),
    ("np.linalg.solve(x0, x1)", [np.array([[3.0, 1], [0, 2]]), np.ones((2, 3), order="F")]),
]  # fmt: skip
# Where NumPy is apart, of what is traced.
EDGES = [
    ("np.quantile(np.array([True, False, True]), x0, method='lower')", [0.5]),
    ("np.linalg.tensorinv(x0)", [np.array(2.0)]),
    ("np.linalg.matrix_power(x0, 0)", [np.ones((2, 2), order="F")]),
    ("np.linalg.norm(x0, 2)", [np.where(np.eye(4, 3, -1) > 0, np.inf, 1.0)]),
    ("np.cov(x0, x1)", [np.array(1.0), np.array(2.0)]),
    ("np.cov(x0, x1, False)", [np.array(1.0), np.array(2.0)]),
    ("np.average(x0, 0, weights=x1)", [np.array(1.0), np.array(2.0)]),
    ("np.average(x0, axis=-1)", [np.zeros((0, 3))]),
    ("np.histogram(x0, np.zeros(0), None, True, x1)", [np.ones(3), np.ones(3)]),
    ("np.polydiv(x0, [2, 1])", [np.zeros(0)]),
    ("np.cov(x0, aweights=x1)", [np.ones((2, 3)) * [1, 2, 4], np.array([1, 2 + 1j, 1])]),
    ("np.apply_over_axes(np.sum, x0, 0)", [np.array(1.0)]),
    ("np.apply_over_axes(np.cumsum, x0, 0)", [np.array(1.0)]),
    ("np.median(x0, keepdims=True)", [np.array(2.0)]),
    ("np.broadcast_arrays(x0, x1)", [np.ones(1), np.ones((1, 1))]),
    ("x0 / 0", [np.array([1j, 1 + 1j, 0j])]),
    ("np.histogram(x0, np.array([0, 1j, 2]), density=True)", [np.array([0.5, 1.5])]),
]
ROWS = [*SPECIAL, *EDGES, *((text, [x]) for text in TEXTS for x in ARGUMENTS)]
