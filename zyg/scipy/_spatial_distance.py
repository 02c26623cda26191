"""scipy.spatial.distance for watched values, as ``spatial.distance``."""

from scipy.spatial import distance

from zyg.scipy import _distances as _distances
from zyg.scipy._namespace import drop_in

__getattr__, __dir__ = drop_in(distance, globals())
