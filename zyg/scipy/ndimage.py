"""scipy.ndimage for watched values: ``from zyg.scipy import ndimage``.

All that computes with an image has rules: filters, morphology of grey images, splines (by places,
shifts, matrices and angles, too), Fourier filters, statistics of regions. At a place between two
pieces of a spline, the derivative is that of the piece that SciPy computes with; of equal
neighbours, the first counts. Labels, places and what is true or false are constant.

>>> import numpy as np, zyg
>>> from zyg.scipy import ndimage
>>> zyg.gradient(lambda x: ndimage.correlate1d(x, [1.0, 2.0, 4.0])[1], np.ones(3))[0]
array([1., 2., 4.])

"""

from typing import TYPE_CHECKING, Any

import scipy.ndimage

from zyg.scipy import _ndimage_labels as _ndimage_labels
from zyg.scipy import _ndimage_orders as _ndimage_orders
from zyg.scipy import _ndimage_splines as _ndimage_splines
from zyg.scipy._namespace import drop_in

if TYPE_CHECKING:
    from scipy.ndimage import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = drop_in(scipy.ndimage, globals())
