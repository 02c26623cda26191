"""SciPy for watched values: ``from zyg.scipy import special, stats, linalg, optimize``.

The functions of these modules take watched and plain values alike. Whatever has no rule here is
SciPy's own, and refuses watched values. The functions of ``scipy.special`` that are ufuncs work by
their plain names too.

>>> import zyg
>>> from zyg.scipy import special
>>> zyg.gradient(lambda x: special.erf(x), 0.0)
(1.1283791670955126,)

"""

try:
    import scipy as _scipy
except ImportError as error:
    raise ImportError(
        "zyg.scipy differentiates the functions of SciPy, which is not installed: "
        "pip install 'zyg[scipy]'"
    ) from error

__version__ = _scipy.__version__
