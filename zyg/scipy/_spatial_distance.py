"""scipy.spatial.distance for watched values, as ``spatial.distance``."""

from scipy.spatial import distance

from zyg.scipy import _distances as _distances
from zyg.scipy._namespace import drop_in
from zyg.scipy._own_code import along_own_code

__getattr__, __dir__ = drop_in(distance, globals())
along_own_code(distance)
