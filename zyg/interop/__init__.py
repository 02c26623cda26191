"""Bridges: calls into what cannot be watched. Nothing here is imported by `import zyg`.

differences                     Jacobians by differences, which have Jacobians again
foreign                         `foreign`: functions of others, with what is given of a derivative
labels                          arrays with knowledge around them
masked pandas pint sparse xarray  labels, units, masks, places: a file for each library
"""
