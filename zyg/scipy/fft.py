"""scipy.fft for watched values: ``from zyg.scipy import fft``.

>>> import numpy as np, zyg
>>> from zyg.scipy import fft
>>> zyg.gradient(lambda x: fft.dct(x)[0], np.ones(3))[0]
array([2., 2., 2.])

"""

from typing import TYPE_CHECKING, Any

import scipy.fft

from zyg.scipy import _fft_rules as _fft_rules
from zyg.scipy._namespace import drop_in

if TYPE_CHECKING:
    from scipy.fft import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = drop_in(scipy.fft, globals())
