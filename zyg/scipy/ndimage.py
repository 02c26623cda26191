"""scipy.ndimage for watched values: ``from zyg.scipy import ndimage``.

Correlations along an axis, Gaussian filters and edges have rules.

>>> import numpy as np, zyg
>>> from zyg.scipy import ndimage
>>> zyg.gradient(lambda x: ndimage.correlate1d(x, [1.0, 2.0, 4.0])[1], np.ones(3))[0]
array([1., 2., 4.])

"""

from typing import TYPE_CHECKING, Any

import scipy.ndimage

from zyg.scipy import _ndimage_rules as _ndimage_rules
from zyg.scipy._namespace import drop_in

if TYPE_CHECKING:
    from scipy.ndimage import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = drop_in(scipy.ndimage, globals())
