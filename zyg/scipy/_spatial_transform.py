"""scipy.spatial.transform for watched values, as ``spatial.transform``."""

from scipy.spatial import transform

from zyg.scipy._namespace import drop_in
from zyg.scipy._rotations import CLASSES

globals().update(CLASSES)
__getattr__, __dir__ = drop_in(transform, globals())
