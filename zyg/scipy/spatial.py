"""scipy.spatial for watched values: ``from zyg.scipy import spatial``.

Its `distance` has `cdist`, `pdist`, `squareform` and the metrics of real vectors; its `transform`
has `Rotation` and `Slerp`, of numbers that may be watched; so may be the points of `KDTree`. Made
by these classes, where a gradient runs or none, objects take watched values.

>>> import numpy as np, zyg
>>> from zyg.scipy import spatial
>>> def f(x):
...     return spatial.distance.cdist(x, [[0.0, 0.0]])[0, 0]
>>> zyg.gradient(f, np.array([[3.0, 4.0]]))
(array([[0.6, 0.8]]),)

"""

from typing import TYPE_CHECKING, Any

import scipy.spatial

from zyg.scipy import _spatial_distance as distance  # noqa: F401 - one of its names
from zyg.scipy import _spatial_transform as transform  # noqa: F401 - one of its names
from zyg.scipy._namespace import drop_in
from zyg.scipy._spatial_trees import CLASSES

globals().update(CLASSES)

if TYPE_CHECKING:
    from scipy.spatial import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = drop_in(scipy.spatial, globals())
