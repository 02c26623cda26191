"""Kernels: a scalar function, read as source, differentiated and compiled into one loop.

ir                              what a scalar function is: values, operations, regions
record source                   numbers that record what is done with them; Python's text
captures functions              what a function takes from outside; what it may call
read                            source -> program
forward                         program -> the program of its derivatives
emit                            program -> Python text
"""
