"""The heart: programs watched as they run, their tapes, and the way back. In reading order:

endings                         what an exception has ended, and kept from being undone
strand                          watched values, and the tape of one task at one level
questions                       what a program may ask of them
steps                           how views are got from arrays
views                           NumPy's memory: a view is a place of its base
indices                         what can be told from an index
ways                            views that are slices, transposes, reshapes
handouts                        plain arrays of the memory of what holds nothing watched
cotangents                      what a cotangent must look like to fit what it belongs to
kept                            plain arrays that a pullback keeps, guarded from writes
protection                      the memory of arguments, guarded from writes
entries                         how an entry is written down, and what it adds to which slots
overwritten                     plain operands that were written although an entry needs them
reverse                         the reverse pass over one strand
exchange                        values that go from task to task
tangents                        the slots of forward mode
pushes                          tangents that are made in place of an entry
results                         results of rules, and the memory of their arrays
adjoint_channels                cotangents on their way from task to task
adjoint_tasks                   the reverse pass of a concurrent program
objects                         object arrays of watched numbers, beside watched operands
sequences                       lists that hold watched values, given for arrays
elementwise                     functions with partial derivatives
adjoints                        functions with a rule that returns ``y, pullback``
indexing                        parts of arrays, read and written
inplace                         writes in NumPy's other spellings
bind                            the one interception point
shortcuts                       short ways past it, of the commonest functions
duals                           forward mode: tangents instead of entries
running                         while the function runs; the exceptions that leave it
trace                           one call of a function, its arguments watched
"""
