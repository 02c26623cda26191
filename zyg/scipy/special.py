"""scipy.special for watched values: ``from zyg.scipy import special``.

>>> import numpy as np, zyg
>>> from zyg.scipy import special
>>> zyg.gradient(lambda x: special.logsumexp(x), np.array([0.0, 0.0]))
(array([0.5, 0.5]),)

"""

import scipy.special

from zyg.scipy import _special_functions as _special_functions
from zyg.scipy import _special_table as _special_table
from zyg.scipy._namespace import drop_in

__getattr__, __dir__ = drop_in(scipy.special, globals())
