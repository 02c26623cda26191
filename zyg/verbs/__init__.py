"""The verbs: what users call on functions.

gradients                       `gradient`, `pullback` and what goes with them
grad                            `grad` and `value_and_grad`, functions that return gradients
asynchronous                    the same, to be awaited
pushforward                     forward mode
effects                         whether a call might keep a value of its own
taken_apart                     a call as the values in it, run with others in their places
checkpoints                     less memory: run again on the way back
matrices                        what matrices of derivatives are made of
jacobians                       `jacobian`, `hessian` and all that is made of both modes
forwarddiff                     a Jacobian taken in forward mode on the way
held                            a function that runs again, with all that it held at its call
implicit                        solutions of equations
vectors                         structures as vectors
structures                      `map`, `dot` and `norm` of structures
"""
