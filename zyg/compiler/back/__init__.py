"""From a program to a function that runs.

emit                            program -> Python text
arena                           LLVM text of the memory of a call
types_in_text                   which types of LLVM's values have
trampolines                     calls of Python from machine code
module                          program -> a Python module, for people and to run without a compiler
wrapped                         the same, with the arguments and results of the function
branches                        branches as selections, where that is faster
plain                           what text needs to run as plain Python
target                          the processor
lanes                           LLVM text of operations on vectors
vector_exponentials             exp and log, several numbers at once
vector_elementary               the other functions, several numbers at once
printed                         program -> LLVM text of vectors
assembled                       LLVM text -> machine code
stored                          machine code on disk
symbols                         what machine code has of Python's and NumPy's
compiled                        text -> a function that runs
scalars                         LLVM text of operations on single numbers
regions                         LLVM text of loops and branches around those
elementary_text                 LLVM text of elementary functions
blas                            products of matrices
registers                       loops that run in vector registers
metadata                        what LLVM text says besides
hoisting                        checks that are made before a loop, or after it
lifetimes                       which buffers may go at the end of a block
apart                           which places of a buffer a loop keeps apart
words                           LLVM text of a function of words, that runs a program
threaded                        loops whose rounds run in several threads
whole_text                      program with memory -> LLVM text
objects                         LLVM text of a function of objects
entry                           program with memory -> a function that runs
"""
