"""Calls that run elsewhere: in pools of threads and of processes.

recipes                         a call as data, its adjoint, its tangent
shipping                        how a call is pickled
arrivals                        values that come from a cluster, all at once that are ready
sums                            sums of cotangents on a cluster, in a tree of one shape
shared                          large values that go to a cluster once
departures                      what a reverse pass asks of a cluster, which departs together
batches                         several tasks of a cluster as one of its own
executors                       `wrap_executor`
"""
