"""The library of array functions: NumPy's, each with its derivative, known once, for every engine.

kit         what functions of several domains share
primitives  functions with an adjoint of their own
composed    functions written in NumPy's of those
"""

from zyg.base.marks import formulas

formulas(__name__)
