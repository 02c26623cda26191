"""From a program to that of its derivatives.

forward                         forward mode, with sparse tangents
"""
