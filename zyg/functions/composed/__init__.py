"""NumPy's functions written once in NumPy of primitives, by domain; importing it registers them.

shapes                arrays rearranged, joined and split
norms                 the norms of vectors and matrices
assembly padding      arrays put together, put in the middle of others
sorting statistics    order; averages, covariances, histograms
calculus polynomials  differences and interpolation; polynomials
functional            functions that call a function of the user's
"""

from zyg.base.marks import formulas
from zyg.functions.composed import assembly as assembly
from zyg.functions.composed import calculus as calculus
from zyg.functions.composed import functional as functional
from zyg.functions.composed import norms as norms
from zyg.functions.composed import padding as padding
from zyg.functions.composed import polynomials as polynomials
from zyg.functions.composed import shapes as shapes
from zyg.functions.composed import sorting as sorting
from zyg.functions.composed import statistics as statistics

formulas(__name__)
