"""scipy.signal for watched values: ``from zyg.scipy import signal``.

What filters, resamples, transforms and weighs data has rules; what finds places is constant.

>>> import numpy as np, zyg
>>> from zyg.scipy import signal
>>> zyg.gradient(lambda x: signal.convolve(x, np.array([1.0, 2.0]))[1], np.ones(3))[0]
array([2., 1., 0.])

"""

from typing import TYPE_CHECKING, Any

import scipy.signal

from zyg.scipy import _signal_filters as _signal_filters
from zyg.scipy import _signal_formulas as _signal_formulas
from zyg.scipy import _signal_splines as _signal_splines
from zyg.scipy import _signal_systems as _signal_systems
from zyg.scipy._namespace import drop_in
from zyg.scipy._own_code import along_own_code

if TYPE_CHECKING:
    from scipy.signal import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = drop_in(scipy.signal, globals())

along_own_code(scipy.signal)
