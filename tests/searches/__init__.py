"""Searches for what is wrong in silence: each is a command, and a share of it runs in the gate.

``python -m tests.searches.views --share 3/50 --minutes 20`` takes the cases 3, 53, 103, ... and
says what came of them; ``--only 1234`` runs one. A case has a number, from which it is made, so
that what a search printed can be run again.
"""
