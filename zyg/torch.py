"""PyTorch, both ways: its functions and modules in zyg's gradients, and programs in its own.

Needs ``pip install -e '.[torch]'``.
"""

from zyg.interop.torch_functions import Module as Module
from zyg.interop.torch_functions import function as function
from zyg.interop.torch_modules import wrap as wrap
