"""Functions read as source: program, derivative, machine code. Knows no tracer.

atoms                           values, and numbers that are known
ir                              what a function is here: operations on those, regions
splice                          programs put into others
libraries                       where the libraries are that NumPy brings, and its loops
routines                        what libraries do with the memory of a program
numbers                         numbers that record what is done with them
builder                         a builder, which appends operations to blocks
aliases                         which memory may be the same, and what is written
rewriter                        walks over programs; those that make one again
loops                           how many rounds there are, what these hand on, what moves
polynomials                     ints as sums of products
collapsed                       nests of loops as one loop
simplified                      a program without what regions carry for nothing
scratch                         memory that each round of a loop may have for itself
functions                       what functions of NumPy, math and SciPy mean as operations
ints                            ints of the operands' types, wrapped around as NumPy's are
layouts                         the order of axes in memory
kinds                           what is known of the arguments of a whole function
draws                           random numbers of a generator among the arguments
front                           source -> program
callbacks                       functions that stay in Python, as programs
autodiff                        program -> the program of its derivatives
inside                          derivatives in the source of a function
back                            program -> text -> machine code
"""
