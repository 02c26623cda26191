"""Functions that carry no derivative: they answer from the plain values."""

import numpy as np

from zyg.functions.kit import nondifferentiable

nondifferentiable(
    # questions about shape and type
    np.shape, np.size, np.ndim, np.result_type, np.can_cast, np.min_scalar_type, np.common_type,
    np.iscomplexobj, np.isrealobj, np.isnat, np.may_share_memory, np.shares_memory,
    # questions about values
    np.isfinite, np.isinf, np.isnan, np.isneginf, np.isposinf, np.isclose, np.allclose,
    np.iscomplex, np.isreal, np.signbit, np.array_equal, np.array_equiv, np.isin, np.spacing,
    # comparison and logic
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    np.logical_and, np.logical_or, np.logical_not, np.logical_xor, np.any, np.all,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift,
    np.bitwise_count, np.gcd, np.lcm, np.packbits, np.unpackbits,
    # places
    np.argmax, np.argmin, np.nanargmax, np.nanargmin, np.argsort, np.argpartition, np.argwhere,
    np.nonzero, np.flatnonzero, np.count_nonzero, np.searchsorted, np.digitize, np.lexsort,
    np.ravel_multi_index, np.unravel_index, np.diag_indices_from, np.tril_indices_from,
    np.triu_indices_from, np.diag_indices, np.tril_indices, np.triu_indices, np.einsum_path,
    # text and files
    np.array_repr, np.array_str, np.array2string, np.save, np.savez, np.savez_compressed,
    np.savetxt,
)  # fmt: skip
