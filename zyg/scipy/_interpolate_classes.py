"""Classes of scipy.interpolate whose data and points may be watched.

An instance is one of SciPy's. Where nothing is watched, SciPy's own code computes. Made of watched
data, an instance keeps watched coefficients, and methods without a formula here refuse them.
"""

import copy
import functools
import inspect

from zyg.base.structure import Structure
from zyg.errors import unknown_call
from zyg.functions.kit import is_watched, strip, watched_leaves


class InPlaceOfSciPys(type):
    """Of a class that stands for one of SciPy's, whose instances count as its own."""

    scipys: type

    def __instancecheck__(cls, x):
        stands = "scipys" in vars(cls) and isinstance(x, cls.scipys)
        return stands or super().__instancecheck__(x)

    def __subclasscheck__(cls, other):
        stands = "scipys" in vars(cls) and issubclass(other, cls.scipys)
        return stands or super().__subclasscheck__(other)


class Watching:
    """What the classes share: how an instance is made of watched data, and when it is."""

    scipys: type
    kept: tuple[str, ...] = ()  # the attributes that hold data

    def __init__(self, *args, **kwargs):
        values = Structure((args, kwargs), is_watched)
        plain, options = values.rebuild([*map(strip, values.leaves)], whole=False)
        super().__init__(*plain, **options)  # raises where SciPy does
        if values.leaves:
            bound = _parameters(self.scipys).bind(*args, **kwargs)
            bound.apply_defaults()
            self.take(**bound.arguments)

    def take(self, **data):
        """Keep what is made of the watched data."""
        raise unknown_call(_full(self), "there is no rule for watched data")

    def watches(self, *args):
        """Whether something of the data, or of the arguments of a call, is watched."""
        return bool(watched_leaves([args, *(getattr(self, name) for name in self.kept)]))

    def with_kept(self, *values):
        """The same with other data."""
        made = copy.copy(self)
        for name, value in zip(self.kept, values, strict=True):
            setattr(made, name, value)
        return made


@functools.cache
def _parameters(cls):
    signature = inspect.signature(cls.__init__)
    return signature.replace(parameters=[*signature.parameters.values()][1:])


def _full(x):
    return f"scipy.interpolate.{x.scipys.__name__}"


def refusing(name):
    """A method of SciPy's that has no rule."""

    def method(self, *args, **kwargs):
        if self.watches(args, kwargs):
            raise unknown_call(f"{_full(self)}.{name}", "there is no rule for watched values")
        return getattr(self.scipys, name)(self, *args, **kwargs)

    return method


def attribute(name):
    """An attribute that SciPy keeps as an array of NumPy's: here it may be watched."""
    return property(lambda self: getattr(self, name), lambda self, v: setattr(self, name, v))


CLASSES: dict[str, type] = {}


def in_place_of(scipys, base, **own):
    """Make the class that stands for one of SciPy's."""
    name = scipys.__name__
    about = {
        "scipys": scipys,
        "__doc__": f"scipy.interpolate.{name}, of data and points that may be watched.",
        "__module__": "zyg.scipy.interpolate",
        "__qualname__": name,
    }
    CLASSES[name] = InPlaceOfSciPys(name, (base, scipys), about | own)


def for_watched(x):
    """An instance of SciPy's own class as one that takes watched points."""
    made = copy.copy(x)
    made.__class__ = CLASSES[type(x).__name__]
    return made
