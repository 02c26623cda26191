"""scipy.linalg for watched values: ``from zyg.scipy import linalg``.

>>> import numpy as np, zyg
>>> from zyg.scipy import linalg
>>> zyg.gradient(lambda a: linalg.expm(a)[0, 1], np.zeros((2, 2)))[0]
array([[0., 1.],
       [0., 0.]])

"""

from typing import TYPE_CHECKING, Any

import scipy.linalg

from zyg.scipy import _linalg_factors as _linalg_factors
from zyg.scipy import _linalg_forms as _linalg_forms
from zyg.scipy import _linalg_formulas as _linalg_formulas
from zyg.scipy import _linalg_systems as _linalg_systems
from zyg.scipy import _matrix_functions as _matrix_functions
from zyg.scipy._namespace import drop_in
from zyg.scipy._own_code import along_own_code

if TYPE_CHECKING:
    from scipy.linalg import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = drop_in(scipy.linalg, globals())

along_own_code(scipy.linalg)
