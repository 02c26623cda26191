"""Functions of numbers: the table, and what is elementwise but not in a table of partials."""

import numpy as np

from zyg._registry import adjoint, scalar_rule
from zyg.scalar_rules import table

for _function, _partials in table.items():
    scalar_rule(_function, *_partials)


@adjoint(np.conjugate)
def conjugate(x):
    def conjugate_pullback(y_bar):
        return (np.conjugate(y_bar),)

    return np.conjugate(x), conjugate_pullback
