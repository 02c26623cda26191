"""JAX, both ways: its functions in zyg's gradients, and programs in its own.

Needs ``pip install -e '.[jax]'``.
"""

from zyg.interop.jax import wrap as wrap
from zyg.interop.jax_functions import function as function
