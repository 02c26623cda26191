"""From a program to that of its derivatives.

dependence                      which numbers and which memory derivatives flow through
tangents                        one pass that makes values again, with sparse tangents
recompute                       which loads may be repeated at the end
checkpointing                   loops that are run again in parts
choices                         loops that choose a round
handing                         arrays that rounds hand on
frames                          blocks of the forward sweep, and their mirrors
calls                           what functions that are called keep, on stacks
augmented_primal                the forward sweep of reverse mode, with shadows
residuals                       tapes, and what is computed again
own_adjoints                    functions that bring their own adjoint
products                        products of matrices in reverse mode
threads                         the mirrors of loops in threads
reverse_pass                    the mirror of that sweep
reverse                         reverse mode: vjp, gradient
ruled                           functions that bring their own adjoint, in forward mode
buffers                         tangents on memory: tangent buffers beside buffers
joints                          directions in the middle of a program
forward                         forward mode: partial derivatives, pushforward, pullback
elements                        elements of buffers, one by one
costs                           which of two programs takes less
jacobians                       matrices of derivatives: loops over blocks of directions
"""
