"""The library of functions: NumPy's, each with its derivative, known once, for every engine.

slopes      formulas of the table that take more than a line
operations  the table: all that is known of each function of numbers
kit         what functions of several domains share
primitives  functions of arrays with an adjoint of their own
composed    functions written in NumPy's of those
"""

from zyg.base.marks import formulas

formulas(__name__)
