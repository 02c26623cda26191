"""Programs of several processes: messages between the ranks of MPI, and their cotangents.

failures                        what a gradient over ranks raises
link                            how ranks speak of the gradient, and wait for each other
cargo                           what a message holds, and the cotangents of that
log                             functions of zyg.checkpoint, which run again without messages
session                         one gradient over ranks: channels, and how ranks agree
messages                        from one rank to another
moves                           from all ranks to all: bytes, and sums
collectives                     the same with their entries
requests                        what is under way
buffers                         memory that a call names
communicator                    what stands for a communicator: calls that send objects
arrays                          the calls that send memory
verbs                           `wrap`, and `value_and_gradient` over ranks
"""
