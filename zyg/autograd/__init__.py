"""autograd's interface: programs that import autograd, and libraries built on it, run on zyg.

``import zyg.autograd as autograd``, ``import zyg.autograd.numpy as np``; for libraries that import
autograd themselves, ``zyg.autograd.install()`` before they do. Gradients are as autograd returns
them: bare, zeros where nothing depends on an argument, and by complex numbers the conjugates of
zyg's. Beyond autograd: writes into arrays are followed, ints count as reals, and functions of
NumPy's own take watched values. Where two elements tie, `np.maximum`, `max` and their kin take the
derivative of one, as all of zyg does; autograd divides it. What is not here raises zyg's error.

>>> import zyg.autograd.numpy as np
>>> from zyg.autograd import elementwise_grad, grad
>>> def wave(x):
...     return np.sin(x) ** 2
>>> grad(wave)(0.5)
np.float64(0.8414709848078965)
>>> elementwise_grad(elementwise_grad(wave))(np.array([0.0, 0.5])).round(3)
array([2.   , 1.081])

_absent                           what is not here
_conventions                      complex cotangents; numbers of NumPy's
_primitives                       functions with derivatives in autograd's form
tracer core extend                boxes; vector spaces; both for extensions
wrap_util differential_operators  the operators
builtins                          Python's containers
test_util util                    checks
misc                              structures as vectors, optimizers, fixed points
numpy scipy                       the libraries
_modules                          imports
"""

from __future__ import annotations

from zyg.autograd._absent import names_from as _names_from
from zyg.autograd._modules import install as install
from zyg.autograd.builtins import dict as dict
from zyg.autograd.builtins import isinstance as isinstance
from zyg.autograd.builtins import list as list
from zyg.autograd.builtins import tuple as tuple
from zyg.autograd.builtins import type as type
from zyg.autograd.differential_operators import checkpoint as checkpoint
from zyg.autograd.differential_operators import deriv as deriv
from zyg.autograd.differential_operators import elementwise_grad as elementwise_grad
from zyg.autograd.differential_operators import grad as grad
from zyg.autograd.differential_operators import grad_and_aux as grad_and_aux
from zyg.autograd.differential_operators import grad_named as grad_named
from zyg.autograd.differential_operators import hessian as hessian
from zyg.autograd.differential_operators import hessian_tensor_product as hessian_tensor_product
from zyg.autograd.differential_operators import hessian_vector_product as hessian_vector_product
from zyg.autograd.differential_operators import holomorphic_grad as holomorphic_grad
from zyg.autograd.differential_operators import jacobian as jacobian
from zyg.autograd.differential_operators import make_ggnvp as make_ggnvp
from zyg.autograd.differential_operators import make_hvp as make_hvp
from zyg.autograd.differential_operators import make_jvp as make_jvp
from zyg.autograd.differential_operators import make_vjp as make_vjp
from zyg.autograd.differential_operators import multigrad_dict as multigrad_dict
from zyg.autograd.differential_operators import tensor_jacobian_product as tensor_jacobian_product
from zyg.autograd.differential_operators import value_and_grad as value_and_grad
from zyg.autograd.differential_operators import vector_jacobian_product as vector_jacobian_product
from zyg.autograd.tracer import primitive as primitive

__getattr__ = _names_from("extend", "misc", "numpy", "scipy", "test_util", "util")
