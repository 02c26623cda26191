"""From a program to a function that runs.

emit                            program -> Python text
branches                        branches as selections, where that is faster
names                           which function an operation is, by dtype and backend
plain                           what text needs to run as plain Python
native                          what text needs to run as machine code
vector_intrinsics               instructions that numba does not offer
vector_exponentials             exp and log, several numbers at once
vector_math                     the other functions, several numbers at once
machine                         text -> machine code, by numba
stored                          machine code on disk
compiled                        text -> a function that runs
"""
