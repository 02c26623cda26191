"""What a function holds that is watched: found, taken out, and put in again."""

from zyg.errors import MissingRuleError
from zyg.rules.kit import Structure, is_watched, strip


def plain(x):
    """`x`, a function perhaps, with the plain values of what it holds."""
    held = Structure(x, is_watched)
    return held.rebuild([strip(v) for v in held.leaves])


class _Hole:
    """The place of a watched value."""


def opened(function, args=()):
    """(make, values): ``make(values)`` is the function ``x -> function(x, *args)`` again, for
    any values in place of the watched ones that it and args hold. `make` itself holds none.
    """
    held = Structure((function, args), is_watched)
    holes = [_Hole() for _ in held.leaves]  # not those of a function inside of this one
    own = {id(hole) for hole in holes}
    emptied = Structure(held.rebuild(holes), lambda x: id(x) in own)

    def make(values):
        f, rest = emptied.rebuild(list(values))
        return lambda *x: f(*x, *rest)

    return make, held.leaves


def as_tuple(args):
    """The `args` of a SciPy function, of which one may come alone."""
    return args if isinstance(args, tuple) else (args,)


def refuse(name, option, why):
    raise MissingRuleError(
        f"{name} with {option} cannot be differentiated.",
        why,
        "leave it out, or pass zyg.stop_gradient of what is watched.",
    )
