"""NumPy's adjoints, by domain; importing this package registers them all."""

from zyg.rules import constants as constants
from zyg.rules import elementwise as elementwise
from zyg.rules import linalg as linalg
from zyg.rules import products as products
from zyg.rules import reductions as reductions
from zyg.rules import shapes as shapes
from zyg.rules import writes as writes
