"""What whole functions do with derivatives: zyg's verbs, and rules, called in them.

inner                           functions that are derived where a function says so
ruled                           functions that bring their own adjoint
closed                          texts of machine code that do
derived                         functions that verbs make: of gradients, and of many examples
verbs                           the verbs
reading                         from the source of a function that may call them to its program
"""
