"""Bridges: calls into what cannot be watched. Nothing here is imported by `import zyg`.

labels                          arrays with knowledge around them
differences                     Jacobians by differences, which have Jacobians again
foreign                         `foreign`: functions of others, with what is given of a derivative
partner                         calls into another differentiator: one mechanism for all
operands                        what in the arguments of such a call, and its result, are arrays
torch                           PyTorch as a partner, and calls of its functions
torch_modules                   its modules, whose parameters are data; `wrap`
torch_functions                 `function` and `Module`: programs as nodes of PyTorch's tape
jax                             JAX as a partner: `wrap` of functions and namespaces
jax_functions                   `function`: programs in callbacks of JAX's
numba                           functions that numba compiled
libraries packages              arrays of other libraries: what each does in its own way
words                           NumPy's functions in the words of the array API standard
reductions phrases              those that are said another way
guests                          arrays of other libraries, as the rules compute with them
batch_words batches vmap        what a function computes of every example at once
torch_tensors                   functions of PyTorch's, of watched tensors
astropy masked memmap pandas pint sparse xarray  units, masks, labels, places: one for each library
"""
