"""Actors: objects in processes of their own, whose methods are called from afar.

The calls of an actor are noted on a strand in its process, in the order in which it runs them; its
state stays watched between them. On the way back the callers send the cotangents of the results.
Who calls keeps a log, by which another process is made the same where an actor's own has ended.

failures                        what a gradient through actors raises
states                          what an actor was before a gradient; digests of results
passes                          the way back through the strand
host                            in the actor's process: its strand, and what callers ask for
sessions                        in the caller's: gradients that have an actor, and their logs
calls                           the entries of calls, and what they wait for
on_dask                         actors of Dask's
"""
