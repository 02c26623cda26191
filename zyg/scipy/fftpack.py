"""scipy.fftpack for watched values: ``from zyg.scipy import fftpack``.

The Fourier transforms of complex numbers and the cosine and sine transforms have rules.

>>> import numpy as np, zyg
>>> from zyg.scipy import fftpack
>>> zyg.gradient(lambda x: fftpack.fft(x)[0].real, np.ones(3))[0]
array([1., 1., 1.])

"""

from typing import TYPE_CHECKING, Any

import scipy.fftpack

from zyg.scipy import _fft_rules as _fft_rules
from zyg.scipy._namespace import drop_in

if TYPE_CHECKING:
    from scipy.fftpack import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = drop_in(scipy.fftpack, globals())
