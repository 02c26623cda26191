"""From a program to a function that runs.

python_text                     program -> Python text
metadata                        what LLVM text says besides
c_abi                           types of values in LLVM's text, and the entry of C
branches                        branches as selections, where that is faster
python_runtime                  what text needs to run as plain Python
target                          the processor
simd                            LLVM text of operations on vectors
vector_exponentials             exp and log, several numbers at once
vector_elementary               the other functions, several numbers at once
llvm_simd                       program -> LLVM text of vectors
elf                             object code in memory, without LLVM
stored                          machine code on disk
llvm_scalar                     LLVM text of operations on single numbers
regions                         LLVM text of loops and branches around those
elementary_text                 LLVM text of elementary functions
object_code                     LLVM text -> machine code
compiled                        text -> a function that runs
arena                           LLVM text of the memory of a call
lapack                          equations, factors, determinants
inner_loops                     Fourier transforms, sorting
python_module                   program -> a Python module, for people and to run without a compiler
python_signature                the same, with the arguments and results of the function
blas                            products of matrices
extrema                         loops that find the largest or the least
vectorize                       loops that run in vector registers
alias_scopes                    which places of a buffer a loop keeps apart
gathering                       loops that add to neighbours, each place once
distribution                    loops whose rounds may come in any order
interchanged                    nests of loops that only add, the other way round
sums                            sums of many terms, and extrema, in eight lanes
hoisting                        checks that are made before a loop, or after it
lifetimes                       which buffers may go at the end of a block
lanes_of_rounds                 loops whose rounds run eight at a time
lane_rows                       what those use again and again, far from lane to lane
lane_vectors                    LLVM text of what they do with numbers and memory
lane_regions                    the same of branches and loops in them
lanes_text                      the same of the loops themselves
threaded                        loops whose rounds run in several threads
object_layout                   where CPython and NumPy keep what machine code reads
narrow_ints                     ints of fewer bits, as ints of 64
first_code                      code that is there at once, and final code
symbols                         what machine code has of Python's and NumPy's
python_objects                  LLVM text that reads and makes objects
object_kinds                    the same of objects of kinds
python_calls                    what machine code calls where it calls Python
direct_calls                    LLVM text of such calls that makes objects itself
trampolines                     the same of all such calls
copies                          copies of memory that nothing writes to any more
first_writes                    zeros that need not be written
looks                           lists of what machine code looks at of objects
asking                          whether machine code may run, looked at in machine code
memory_text                     LLVM text of buffers
calls_text                      the same of calls of functions
pieces                          long programs as functions of bounded length
llvm_functions                  program with memory -> LLVM text
cpython_abi                     LLVM text of a function of objects
native_function                 program with memory -> a function that runs
"""
