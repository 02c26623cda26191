"""Actors: objects in processes of their own, whose methods are called from afar.

The calls of an actor are noted on a strand in its process, in the order in which it runs them; its
state stays watched between them. On the way back the callers send the cotangents of the results.

failures                        what a gradient through actors raises
host                            in the actor's process: its strand, and the way back through it
calls                           in the caller's: the entries of its calls, and what it waits for
on_dask                         actors of Dask's
"""
