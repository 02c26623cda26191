"""Calls that run elsewhere: in pools of threads and of processes.

recipes                         a call as data: what is shipped, and what it needs
executors                       `wrap_executor`
"""
