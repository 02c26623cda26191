"""Functions given to SciPy: with plain values, and in an error."""

from zyg.errors import MissingRuleError
from zyg.functions.kit import Structure, is_watched, strip


def plain(x):
    """`x`, a function perhaps, with the plain values of what it holds."""
    held = Structure(x, is_watched)
    return held.rebuild([strip(v) for v in held.leaves])


def as_tuple(args):
    """The `args` of a SciPy function, of which one may come alone."""
    return args if isinstance(args, tuple) else (args,)


def refuse(name, option, why):
    raise MissingRuleError(
        f"{name} with {option} cannot be differentiated.",
        why,
        "leave it out, or pass zyg.stop_gradient of the watched argument.",
    )
