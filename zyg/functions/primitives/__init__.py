"""NumPy's functions with an adjoint of their own, by domain; importing this registers them.

elementwise                     functions of numbers
places                          places and comparisons, in loops for machine code
reductions scans                what is reduced or cumulated along axes; the methods of ufuncs
products linalg                 products of arrays; equations
decompositions eigenvalues      factors of matrices; eigenvalues of any square matrix
shapes fft                      arrays rearranged; Fourier transforms
factors elimination             factors, equations and determinants, for machine code
writes                          functions that make buffers, or write into them
constants                       functions that carry no derivative
"""

from zyg.base.marks import formulas
from zyg.functions.primitives import constants as constants
from zyg.functions.primitives import decompositions as decompositions
from zyg.functions.primitives import eigenvalues as eigenvalues
from zyg.functions.primitives import elementwise as elementwise
from zyg.functions.primitives import elimination as elimination
from zyg.functions.primitives import factors as factors
from zyg.functions.primitives import fft as fft
from zyg.functions.primitives import linalg as linalg
from zyg.functions.primitives import places as places
from zyg.functions.primitives import products as products
from zyg.functions.primitives import reductions as reductions
from zyg.functions.primitives import scans as scans
from zyg.functions.primitives import shapes as shapes
from zyg.functions.primitives import writes as writes

formulas(__name__)
