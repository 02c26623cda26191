"""scipy.interpolate for watched values: ``from zyg.scipy import interpolate``.

>>> import numpy as np, zyg
>>> from zyg.scipy import interpolate
>>> t = np.arange(4.0)
>>> zyg.gradient(lambda x: interpolate.CubicSpline(t, t**3)(x), 1.5)
(6.75,)

"""

from typing import TYPE_CHECKING, Any

import scipy.interpolate

from zyg.scipy import _interpolate_fitpack as _interpolate_fitpack
from zyg.scipy import _interpolate_tables as _interpolate_tables
from zyg.scipy._interpolate_classes import CLASSES, FUNCTIONS, refuse_others
from zyg.scipy._namespace import drop_in

refuse_others(scipy.interpolate)
__all__ = [*CLASSES, *FUNCTIONS]

globals().update(CLASSES | FUNCTIONS)
if TYPE_CHECKING:
    from scipy.interpolate import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = drop_in(scipy.interpolate, globals())
