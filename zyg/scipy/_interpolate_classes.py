"""Classes of scipy.interpolate whose data and points may be watched.

An instance is one of SciPy's. Where nothing is watched, SciPy's own code computes. Made of watched
data, an instance keeps watched coefficients, and methods without a formula here refuse them.
"""

from typing import Any

from zyg.errors import ZygError, unknown_call
from zyg.functions.kit import (
    as_array,
    composed,
    dropins,
    is_watched,
    plainly,
    stands_for,
    watched_leaves,
)
from zyg.scipy._closures import plain
from zyg.scipy._namespace import InPlaceOfSciPys, apart
from zyg.scipy._valued import arguments_of, with_formula


class Watching:
    """What the classes share: how an instance is made of watched data, and when it is."""

    scipys: Any
    extrapolate: Any
    kept: tuple[str, ...] = ()  # the attributes that hold data
    take: Any  # called with watched data by name, of which it keeps what is to be watched

    def __init__(self, *args, **kwargs):
        if plainly(super().__init__, args, kwargs) is NotImplemented:
            known, options = plain((args, kwargs))
            super().__init__(*known, **options)  # raises where SciPy does
            self.take(**arguments_of(self.scipys, args, kwargs))

    @classmethod
    def construct_fast(cls, *args, **kwargs):
        """An instance of data at which SciPy does not look."""
        made = super().construct_fast(*plain(args), **plain(kwargs))  # type: ignore[misc]  # SciPy's has it
        given = arguments_of(cls.scipys.construct_fast, args, kwargs)
        if watched_leaves(given) and not cls.kept:
            made.take()
        made.keep(*(as_array(given[name]) for name in cls.kept))
        return made

    def watches(self):
        """Whether something of the data is watched."""
        held = [getattr(self, name) for name in self.kept]
        return any(is_watched(v) for x in held for v in (x if type(x) is tuple else (x,)))

    def by_scipy(self, name, *args, **kwargs):
        """What SciPy's method gives, if nothing is watched; else NotImplemented."""
        if self.watches():
            return NotImplemented
        return plainly(getattr(self.scipys, name), (self, *args), kwargs)

    def keep(self, *values):
        for name, value in zip(self.kept, values, strict=True):
            setattr(self, name, value)

    def follow(self, function, formula, given):
        """Keep what SciPy made of the data, with the derivatives of a formula."""
        known = tuple(getattr(self, name) for name in self.kept)
        self.keep(*with_formula(function, known, formula, given))

    def without_period(self):
        """The same, as an integral is, which goes on outside."""
        self.extrapolate = self.extrapolate if self.extrapolate != "periodic" else False
        return self

    def with_kept(self, *values):
        """The same with other data."""
        made = apart(self)
        made.keep(*values)
        return made


def refusing(name):
    """A method of SciPy's that has no rule."""

    def method(self, *args, **kwargs):
        if (y := self.by_scipy(name, *args, **kwargs)) is NotImplemented:
            full = f"{_name(self.scipys)}.{name}"
            raise unknown_call(full, "there is no rule for watched values")
        return y

    return method


def attribute(name):
    """Of an attribute by which SciPy gives an array of NumPy's, what it keeps: it may be watched.

    That is of the object, under a hidden name, or of the one that computes for it.
    """

    def place(self):
        return (self._delegate_to, name) if hasattr(self, "_delegate_to") else (self, f"_{name}")

    def put(self, value):
        owner, hidden = place(self)
        setattr(owner, hidden, value)

    return property(lambda self: getattr(*place(self)), put)


CLASSES: dict[str, Any] = {}


def in_place_of(scipys, base, **own):
    """Make the class that stands for one of SciPy's."""
    name = scipys.__name__
    about = {
        "scipys": scipys,
        "__doc__": f"scipy.interpolate.{name}, of data and points that may be watched.",
        "__module__": "zyg.scipy.interpolate",
        "__qualname__": name,
    }
    made = InPlaceOfSciPys(name, (base, scipys), about | own)
    CLASSES[name] = stands_for(scipys)(made)


class Refusing(Watching):
    """A class without rules, which says so."""

    __call__ = refusing("__call__")
    ev = refusing("ev")

    def take(self, **data):
        raise unknown_call(_name(self.scipys), "there is no rule for watched data")


def refuse_others(module):
    """Make such classes for those of a module that nothing stands for."""
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, type) and name not in CLASSES:
            in_place_of(value, Refusing)


FUNCTIONS: dict[str, Any] = {}


class Making(dropins.DropIn):
    """Of a function that makes splines, which are zyg's where no gradient runs, too."""

    __slots__ = ()

    def __call__(self, *args, **kwargs):
        return self.inside(*args, **kwargs)


def making_splines(original):
    """A decorator: what gives the knots and coefficients of a spline of watched data, by name."""

    def register(written):
        def make(*args, **kwargs):
            made = plainly(original, args, kwargs)
            if made is not NotImplemented:
                return CLASSES["BSpline"].of(made)
            if written is None:
                raise unknown_call(_name(original), "there is no rule for watched data")
            made = CLASSES["BSpline"].of(original(*plain(args), **plain(kwargs)))
            given = arguments_of(original, args, kwargs)
            made.follow(original, lambda: written(**given), given)
            return made

        composed(original)(make)
        FUNCTIONS[original.__name__] = Making(original, make)

    return register


def _name(x):
    return f"scipy.interpolate.{x.__name__}"


def on_watched(original):
    """A decorator: a function of SciPy's on watched values, whose arguments come by name."""

    def register(written):
        def by_name(*args, **kwargs):
            own = any(isinstance(x, Watching) and x.watches() for x in (*args, *kwargs.values()))
            y = NotImplemented if own else plainly(original, args, kwargs)
            if y is not NotImplemented:
                return y
            try:
                return written(**arguments_of(original, args, kwargs))
            except (ZygError, MemoryError, RecursionError, Warning):
                raise
            except Exception as error:
                original(*plain(args), **plain(kwargs))  # raises where SciPy does
                why = f"at these values its formula raises {type(error).__name__}: {error}"
                raise unknown_call(_name(original), why) from error

        composed(original)(by_name)
        FUNCTIONS[original.__name__] = dropins.drop_in(original, by_name)
        return written

    return register
