"""Kernels on the CPU: a scalar function's program as one loop over arrays.

geometry                        in which order a loop runs through which axes
arrays                          operands as a loop takes them, results as it writes them
loops                           the text of a loop around a function's statements
threads                         a loop in several threads
plans                           one loop for operands of these layouts
launch                          a program over arrays: its plan, found or made, and run
scalar                          a scalar function with its programs and their derivatives
dtypes                          what a kernel computes in, and the dtypes of its results
"""
