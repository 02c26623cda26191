"""`adopt`: modules in whose namespaces NumPy, math and SciPy are zyg's.

wrapped                         compiled and memoised functions, on watched values
originals                       which values have a drop-in, and the modules that hold those
places                          where a module's namespace holds such values
rewriting                       calls of classes, which have no drop-ins
copies                          functions of SciPy's, as they would be if it were adopted
spaces                          adopted namespaces, and what is adopted now
imports                         what adopted modules import, and modules of theirs imported later
targets                         what may be adopted, and what is refused
verbs                           `adopt`, `adopted`
"""
