"""From the source of a function to its program.

source                          the syntax tree of a function, and its lines
captures                        what a function takes from outside
joins                           where two branches meet
expressions                     expressions, read
statements                      statements, read
reader                          functions, and calls between them
kinds                           what is known of the arguments of a whole function
domains                         what functions of the math module demand
scalars                         Python's numbers and NumPy's, of whole functions
numerals                        functions of those
whole                           whole functions, of numbers, arrays and structures
"""
