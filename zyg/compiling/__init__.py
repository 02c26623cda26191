"""`compile`: whole functions as machine code, with derivatives of any order.

operands                        arguments as a program takes them, results as it leaves them
ints                            those that are computed with
guards                          machine code, while what it was made with is as it was
fingerprint                     all that a function can take from outside, as a digest
index                           from a function to machine code on disk
memory_limit                    machine code of derivatives, in no more memory than is allowed
operations                      a program that runs, and the programs of its derivatives
forms                           programs that verbs run for arguments of some kinds
fallback                        a function that is not compiled: in Python, with the drop-ins
staying                         which functions may stay in Python
python_callbacks                functions that compiled ones call back
specialize                      a function, read for arguments of these kinds
calls                           a call as one operation of the tracer
taped                           calls on a tape, by machine code that takes objects
inspection                      what a compiled function does, in words and as text
functions                       compiled functions
fast_path                       gradients of compiled functions, without the tracer
matrices                        Jacobians and Hessians, each as one program
verbs                           what users call
"""
