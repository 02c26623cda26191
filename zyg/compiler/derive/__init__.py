"""From a program to that of its derivatives.

moving                          which memory may hold tangents
tangents                        one pass that makes values again, with sparse tangents
activity                        which numbers and which memory cotangents flow through
stable                          which loads may be repeated at the end
sums                            loops that only add
segments                        loops that are run again in parts
calls                           what functions that are called keep, on stacks
sweep                           the forward sweep of reverse mode, with shadows
kept                            tapes, and what is computed again
products                        products of matrices in reverse mode
threads                         the mirrors of loops in threads
reverse                         reverse mode: vjp, gradient
ruled                           functions that bring their own adjoint, in forward mode
buffers                         tangents on memory: tangent buffers beside buffers
joints                          directions in the middle of a program
forward                         forward mode: partial derivatives, pushforward, pullback
elements                        elements of buffers, one by one
costs                           which of two programs takes less
jacobians                       matrices of derivatives: loops over blocks of directions
"""
