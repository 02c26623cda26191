"""Functions, and other arguments, given to SciPy: with plain values, and in an error."""

import itertools

import numpy as np

from zyg.errors import MissingRuleError
from zyg.functions.kit import Searched, holds_nothing_watched, is_watched, strip, watched_leaves


def plain(x):
    """`x`, a function perhaps, with the plain values of what it holds."""
    held = Searched(x, is_watched)
    return held.rebuild([strip(v) for v in held.leaves])


def moving(x):
    """The values in a structure that carry a derivative, of which a buffer may hold none."""
    return [v for v in watched_leaves(x) if not holds_nothing_watched(v)]


def as_tuple(args):
    """The `args` of a SciPy function, of which one may come alone."""
    return args if isinstance(args, tuple) else (args,)


def refuse(name, option, why, instead="leave it out"):
    raise MissingRuleError(
        f"{name} with {option} cannot be differentiated.",
        why,
        f"{instead}, or pass zyg.stop_gradient of the watched argument.",
    )


def joined(parts):
    """Numbers and arrays in one vector."""
    return np.concatenate([np.ravel(p) for p in parts])


def parted(vector, like):
    """The parts that `joined` made a vector of."""
    ends = [*itertools.accumulate(map(np.size, like), initial=0)]
    pairs = zip(ends, ends[1:], like, strict=False)
    return [np.reshape(vector[a:b], np.shape(v))[()] for a, b, v in pairs]
