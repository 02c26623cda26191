"""Bridges: calls into what cannot be watched. Nothing here is imported by `import zyg`.

differences                     Jacobians by differences, which have Jacobians again
foreign                         `foreign`: functions of others, with what is given of a derivative
"""
