"""Sparse Jacobians and Hessians.

tokens                          what depends on what, function by function
patterns                        which elements of a result depend on which of an argument
derivatives                     `sparse_jacobian`, `sparse_hessian`
"""
