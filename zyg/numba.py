"""Functions that numba compiled, in zyg's gradients."""

from zyg.interop.numba import wrap as wrap
