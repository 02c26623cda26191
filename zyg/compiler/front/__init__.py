"""From the source of a function to its program.

An interpreter holds one object for each concern, from `control_flow` to `dispatch`. These call each
other through it, and know its class for types alone: they are one recursive group.

source                          the syntax tree of a function, and its lines
captures                        what a function takes from outside
depth                           room for the calls of a reader
places                          which memory the rounds of a loop use apart
parallel                        loops whose rounds do not depend on each other
structures                      what values are made of
mixed                           complex numbers; numbers of several kinds
closures                        functions that are values
heap                            what may change
growing                         lists of a length that is not known
joins                           where two ways meet
control_flow                    conditions, choices, loops, and what changes on their ways
sequences                       what loops go over
going                           loops, which may be left early
containers                      lists, dicts, sets
objects                         attributes, methods, what comes from outside
operators                       operators, truth, what is the same
iterators                       zip, map and their like
builtin                         functions of Python
liveness                        which variables are read again
expressions                     expressions, read
loops                           loops, read
statements                      statements, read
frame                           the variables of a function
domains                         what functions of the math module demand
extents                         what is known of ints: how large, which is not beyond which
scalars                         Python's numbers and NumPy's, of whole functions
outlines                        functions that call themselves
inlining                        functions, read where they are called
dispatch                        calls
interpreter                     functions of numbers: what reads them
numerals                        functions of those
complexes                       what functions make of complex numbers
views                           arrays: views of buffers, expressions not computed yet
elementwise                     elementwise expressions, broadcasting, assignment
conversions                     arrays of lists and numbers, and of other types
indexing                        subscripts that give views
picks                           subscripts by arrays of ints and by masks
shaping                         other shapes and orders, joined arrays
reductions                      sums, extrema and their like
products                        products of matrices
contractions                    einsum, tensordot
creation                        new arrays
arrays                          operators, subscripts, writes, attributes
calls                           NumPy's functions and the methods of arrays
several                         operations on numbers of several kinds
limits                          of which types functions are not compiled, and whose rules
narrow                          which functions know ints of fewer bits, and as what
words                           what texts of functions say beside NumPy
whole_values                    values and calls of whole functions
whole                           whole functions, of numbers, arrays and structures
"""
