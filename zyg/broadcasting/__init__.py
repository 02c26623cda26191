"""`broadcast`, `partials`, `elementwise`, `fuse`: where watched values meet kernels.

operands                        arrays, numbers and structures of those, for a kernel
fallback                        a scalar function called for each element
calls                           a call of a kernel as one operation of the tracer
sites                           calls like one before, found at once
verbs                           what users call
vectorized                      ufuncs of numba.vectorize, by `broadcast`
"""
