"""What the slopes are where mathematics leaves a choice: kinks, ties, zeros, infinities.

Each row is a program, what it is called with and its gradient, by convention.
"""

import numpy as np

INF = np.inf
ZEROS, TIED = np.zeros(2), np.array([1.0, 2.0, 2.0])
W = np.array([1.0, 10.0, 100.0])
ROOT = 5.25**-0.5
TABLE = np.array([[1.0, 2.0, 2.0], [2.0, 1.0, 1.0]])

ROWS = [
    # Absolute values and lengths at zero: 0.
    ("abs(x0)", [0.0], [0.0]),
    ("abs(x0)", [-0.0], [0.0]),
    ("abs(x0)", [0j], [0j]),
    ("math.fabs(x0)", [0.0], [0.0]),
    ("np.sum(np.abs(x0))", [np.array([0.0, 2.0, -3.0])], [np.array([0.0, 1.0, -1.0])]),
    ("np.sum(np.abs(x0))", [np.array([0j, 3 + 4j])], [np.array([0j, 0.6 + 0.8j])]),
    ("np.sum(np.fabs(x0))", [np.array([0.0, -3.0])], [np.array([0.0, -1.0])]),
    ("np.linalg.norm(x0)", [ZEROS], [ZEROS]),
    ("np.sum(np.linalg.norm(x0, axis=1))", [np.array([[0.0, 0], [3, 4]])],
     [np.array([[0.0, 0], [0.6, 0.8]])]),
    ("np.linalg.norm(x0, 1)", [np.array([0.0, -2.0, 3.0])], [np.array([0.0, -1.0, 1.0])]),
    ("np.linalg.norm(x0, np.inf)", [np.array([3.0, -3.0, 1.0])], [np.array([1.0, 0.0, 0.0])]),
    ("np.std(x0)", [np.ones(3)], [np.zeros(3)]),
    ("np.hypot(x0, x1)", [0.0, 0.0], [0.0, 0.0]),
    ("math.hypot(x0, x1)", [0.0, 0.0], [0.0, 0.0]),
    ("np.sum(np.hypot(x0, x1))", [ZEROS, np.array([0.0, 2.0])], [ZEROS, np.array([0.0, 1.0])]),
    ("np.arctan2(x0, x1)", [0.0, 0.0], [0.0, 0.0]),
    ("math.atan2(x0, x1)", [0.0, 0.0], [0.0, 0.0]),
    ("np.sum(np.angle(x0))", [np.array([0j, 2j])], [np.array([0j, -0.5 + 0j])]),
    # Roots and powers.
    ("np.sqrt(x0)", [0.0], [INF]),
    ("math.sqrt(x0)", [0.0], [INF]),
    ("np.sum(np.sqrt(x0))", [np.array([0.0, 4.0])], [np.array([INF, 0.25])]),
    ("np.sqrt(x0 ** 2)", [0.0], [0.0]),
    ("np.sum(np.sqrt(x0 ** 2))", [np.array([0.0, -2.0])], [np.array([0.0, -1.0])]),
    ("np.sum(np.sqrt(x0 ** 2)).real", [np.array([0j, 1 + 1j])], [np.array([0j, 1 + 0j])]),
    ("x0 ** 0", [0.0], [0.0]),
    ("x0 ** 0.0", [0.0], [0.0]),
    ("np.sum(x0 ** 0)", [np.array([0.0, 2.0])], [ZEROS]),
    ("np.sum(np.power(x0, 0.0))", [np.array([0.0, 2.0])], [ZEROS]),
    ("0.0 ** x0", [2.0], [0.0]),
    ("np.sum(0.0 ** x0)", [np.array([1.0, 2.0])], [ZEROS]),
    ("np.sum(x0 ** x1)", [np.array([0.0]), np.array([2.0])], [np.zeros(1), np.zeros(1)]),
    ("np.power(x0, x1)", [-2.0, 2.0], [-4.0, 4 * np.log(2)]),
    ("np.power(x0, x1)", [-2.0, -1.0], [-0.25, -0.5 * np.log(2)]),
    ("np.power(x0, 2.0)", [-2.0], [-4.0]),
    # Extremes: the first of those alike along an axis; of two, the second of max, the first of min.
    ("np.max(x0)", [TIED], [np.array([0.0, 1.0, 0.0])]),
    ("np.min(x0)", [-TIED], [np.array([0.0, 1.0, 0.0])]),
    ("x0.max()", [TIED], [np.array([0.0, 1.0, 0.0])]),
    ("np.sum(np.max(x0, axis=0) * x1)", [TABLE, W],
     [np.array([[0.0, 10, 100], [1, 0, 0]]), np.full(3, 2.0)]),
    ("np.sum(np.min(x0, axis=1))", [TABLE], [np.array([[1.0, 0, 0], [0, 1, 0]])]),
    ("np.maximum.reduce(x0)", [TIED], [np.array([0.0, 1.0, 0.0])]),
    ("np.sum(np.sort(x0) * x1)", [np.array([2.0, 1.0, 1.0]), W],
     [np.array([100.0, 1.0, 10.0]), np.array([1.0, 1.0, 2.0])]),
    ("np.median(x0)", [np.array([4.0, 1.0, 3.0, 2.0])], [np.array([0.0, 0.0, 0.5, 0.5])]),
    ("np.maximum(x0, x1)", [1.0, 1.0], [0.0, 1.0]),
    ("np.minimum(x0, x1)", [1.0, 1.0], [1.0, 0.0]),
    ("np.sum(np.maximum(x0, 0.0))", [np.array([0.0, 1.0, -1.0])], [np.array([0.0, 1.0, 0.0])]),
    ("np.sum(np.maximum(x0, x0))", [np.array([0.0, 1.0])], [np.ones(2)]),
    ("np.sum(np.minimum(x0, x1))", [ZEROS, ZEROS], [np.ones(2), ZEROS]),
    ("np.sum(np.clip(x0, 0, 1))", [np.array([0.0, 0.5, 1.0, 2.0])],
     [np.array([1.0, 1.0, 1.0, 0.0])]),
    ("x0.clip(0, 1).sum()", [np.array([0.0, 0.5, 1.0, -2.0])], [np.array([1.0, 1.0, 1.0, 0.0])]),
    ("np.clip(x0, 0.0, 1.0)", [1.0], [1.0]),
    # Products with zeros.
    ("np.prod(x0)", [np.array([0.0, 2.0, 3.0])], [np.array([6.0, 0.0, 0.0])]),
    ("np.prod(x0)", [np.array([0.0, 0.0, 3.0])], [np.zeros(3)]),
    ("np.sum(np.cumprod(x0) * x1)", [np.array([2.0, 0.0, 3.0]), W],
     [np.array([1.0, 620.0, 0.0]), np.array([2.0, 0.0, 0.0])]),
    # On a branch cut: the slope of the side that the sign of the zero says, and that has the value.
    *((f"{f}(x0).imag", [z], [slope + 0j]) for fs, z, slope in [
        (("cmath.asin", "np.arcsin"), 2.5 + 0j, ROOT),
        (("cmath.asin", "np.arcsin"), complex(2.5, -0.0), -ROOT),
        (("cmath.acos", "np.arccos"), -2.5 + 0j, ROOT),
        (("cmath.acosh", "np.arccosh"), complex(-0.5, -0.0), 1 / 0.75**0.5),
    ] for f in fs),
    *((f"{f}(x0).real", [z], [slope * 1j]) for fs, z, slope in [
        (("cmath.asinh", "np.arcsinh"), 2.5j, ROOT),
        (("cmath.asinh", "np.arcsinh"), complex(-0.0, 2.5), -ROOT),
    ] for f in fs),
    ("cmath.acos(x0).imag", [2.5], [-ROOT]),
    # Steps, and what stands between them.
    ("np.sum(np.sinc(x0))", [ZEROS], [ZEROS]),
    *((f"np.sum(np.{f}(x0))", [np.array([0.0, 1.0, -0.5])], [np.zeros(3)])
      for f in ("floor", "ceil", "round", "rint", "sign", "trunc")),
    *((f"math.{f}(x0) + 0.0 * x0", [2.0], [0.0]) for f in ("floor", "ceil", "trunc")),
    ("np.sum(x0 // x1)", [np.array([5.5, -3.0]), np.array([2.0, 1.5])], [ZEROS, ZEROS]),
    ("np.sum(np.mod(x0, x1))", [np.array([5.5, -3.2]), np.array([2.0, 1.5])],
     [np.ones(2), np.array([-2.0, 3.0])]),
    ("x0 % x1", [6.0, 2.0], [1.0, -3.0]),
    # A cotangent of 0 stays 0 through what is infinite or not a number.
    ("np.sum(np.where(x0 > 0, np.sqrt(x0), 0.0))", [np.array([0.0, 4.0])], [np.array([0.0, 0.25])]),
    ("np.sum(np.where(x0 > 0, np.log(x0), x0))", [np.array([0.0, 2.0])], [np.array([1.0, 0.5])]),
    ("np.sum(np.where(x0 > 1, 1 / x0, 0.0))", [np.array([0.0, 2.0])], [np.array([0.0, -0.25])]),
    ("np.sum(np.where(x0 > 1, x0 * np.nan, x0))", [np.array([0.5, -1.0])], [np.array([1.0, 1.0])]),
    ("np.sum(np.where(x0 > 1, x0 * np.inf, x0))", [np.array([0.5, -1.0])], [np.array([1.0, 1.0])]),
]  # fmt: skip
# Second derivatives: along ones, of the gradient.
CURVED = [
    ("np.sum(np.sinc(x0))", [ZEROS], [np.full(2, -(np.pi**2) / 3)]),
    ("np.sinc(x0)", [0.0], [-(np.pi**2) / 3]),
    ("np.prod(x0)", [np.array([0.0, 0.0, 3.0])], [np.array([3.0, 3.0, 0.0])]),
    ("np.sum(np.abs(x0))", [np.array([0.0, 2.0])], [ZEROS]),
    ("np.sum(np.sqrt(x0 + 0j)).real", [np.array([0.0])], [np.array([-INF])]),
]
