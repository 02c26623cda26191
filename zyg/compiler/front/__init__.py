"""From the source of a function to its program.

source                          the syntax tree of a function, and its lines
captures                        what a function takes from outside
joins                           where two branches meet
expressions                     expressions, read
statements                      statements, read
reader                          functions, and calls between them
"""
