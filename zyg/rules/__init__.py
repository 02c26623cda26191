"""NumPy's adjoints, by domain; importing this package registers them all.

kit                             what rules of several domains share
elementwise                     functions of numbers
reductions scans norms          what is reduced or cumulated along axes; the methods of ufuncs
products linalg decompositions  products of arrays; equations; factors of matrices
shapes assembly padding         arrays rearranged, put together, put in the middle of others
writes                          functions that make buffers, or write into them
sorting statistics              order; averages, covariances, histograms
calculus polynomials fft        differences and interpolation; polynomials; Fourier transforms
functional                      functions that call a function of the user's
constants                       functions that carry no derivative
"""

from zyg.base.marks import formulas
from zyg.rules import assembly as assembly
from zyg.rules import calculus as calculus
from zyg.rules import constants as constants
from zyg.rules import decompositions as decompositions
from zyg.rules import elementwise as elementwise
from zyg.rules import fft as fft
from zyg.rules import functional as functional
from zyg.rules import linalg as linalg
from zyg.rules import norms as norms
from zyg.rules import padding as padding
from zyg.rules import polynomials as polynomials
from zyg.rules import products as products
from zyg.rules import reductions as reductions
from zyg.rules import scans as scans
from zyg.rules import shapes as shapes
from zyg.rules import sorting as sorting
from zyg.rules import statistics as statistics
from zyg.rules import writes as writes

formulas(__name__)
