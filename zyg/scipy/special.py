"""scipy.special for watched values: ``from zyg.scipy import special``.

>>> import numpy as np, zyg
>>> from zyg.scipy import special
>>> zyg.gradient(lambda x: special.logsumexp(x), np.array([0.0, 0.0]))
(array([0.5, 0.5]),)

"""

from typing import TYPE_CHECKING, Any

import scipy.special

from zyg.scipy import _special_functions as _special_functions
from zyg.scipy import _special_noncentral as _special_noncentral
from zyg.scipy import _special_polynomials as _special_polynomials
from zyg.scipy import _special_probabilities as _special_probabilities
from zyg.scipy import _special_solutions as _special_solutions
from zyg.scipy import _special_table as _special_table
from zyg.scipy._namespace import drop_in

if TYPE_CHECKING:
    from scipy.special import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = drop_in(scipy.special, globals())
