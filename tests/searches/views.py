"""Views of one memory, written through one another: traced and compiled, against plain NumPy.

A case is some pairs of views, of which one is read and the other written; the array is an argument
or made inside, in one of several layouts. In every other case the bounds of slices are arguments of
one program, in the others they are written out, and each pair has its statements. Values,
exceptions and what is left in the argument are compared with plain NumPy; derivatives, of reverse
or of forward mode, with its complex steps, and those by complex arrays with its differences.
"""

import random
import warnings

import numpy as np

import zyg
import zyg.numpy as znp

from ..modules import function
from .search import Search, main

GIVEN, WRITTEN_OUT = 64, 16  # pairs of a case
RAISED = ValueError, IndexError, TypeError, AttributeError
CUT_OFF = "int-buffer"  # refused: a float whose derivative would be
STEP = 1e-40  # of complex steps
DIFFERENCE = 1e-6  # of complex arrays
# How the array is made; "float" is the type of the elements.
ORIGINS = {
    "argument": "b = x",
    "argument's slice": "b = x[:]",
    "copy": "b = x.copy()",
    "expression": "b = x * 1.0",
    "transposed": "b = np.zeros(x.shape[::-1], float).T\nb[...] = x",
    "gaps": "b = np.zeros((2, *x.shape, 2), float)[1, ..., 0]\nb[...] = x",
    "backwards": "b = np.zeros(x.shape, float)[::-1]\nb[...] = x",
    "unwatched": "b = np.ones(x.shape, float)",
    "unwatched, written": "b = np.zeros(x.shape, float)\nb[...] = 1.5",
}
FORMS = [
    "v = b{P}\nw = b{Q}\n@\nb{P} = b{Q}",
    "v = b{P}\nw = b{Q}\n@\nb{P} = x{Q}",
    "v = b{P}\nw = b{Q}\nb{P} {op}= w\n@\nb{P} {op}= x{Q}",
    "v = b{P}\nw = b{Q}\n@\nv {op}= w",
    "v = b{P}\nw = b{Q}\nv {op}= b{Q}\n@\nw {op}= v",
    "w = b{Q}\nv = b{P}\nv[...] = w\n@\nw[...] = 2.0 * v",
    "v = b{P}\nw = b{Q}\n@\nv[...] = 3.0 * w - v",
    "v = b{P}\nw = b{Q}\n@\nnp.{ufunc}(v, w, out=v)",
    "v = b{P}\nw = b{Q}\n@\nnp.{ufunc}(w, x{Q}, out=v)",
    "v = b{P}\nw = b{Q}\nnp.{ufunc}(b{Q}, 2.0, out=b{P})\n@\nnp.{ufunc}(v, x{Q}, out=b{P})",
    "v = b{P}\nw = b{Q}\n@\nnp.copyto(v, w)",
    "v = b{P}\nw = b{Q}\nnp.copyto(b{P}, x{Q})\n@\nnp.copyto(b{Q}, b{P})",
    "v = b{P}\nw = b{Q}\n@\nb{P}, b{Q} = b{Q}, b{P}",
    "v = b{P}\nw = b{Q}\n@\nb {op}= w",
    "v = b{P}\nw = b{Q}\n@\nb[...] = w * x",
    "v = b{P}\nw = b{Q}\n@\nv[...] = 2.0\nw {op}= x{Q}",
]
LOOKS = ["", "v.shape", "s += 0.5 * v.sum()", "s += w.sum()", "t = w[0]", "t = v[0]",
         "s += b.sum() + len(w)", "s += 0.25 * (v * v).sum()", "v += 0.5", "w *= 1.5"]  # fmt: skip
OPS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}
# Of views whose index is written out.
AXES = ["0", "1", "2", "-1", ":", "::-1", "1:", ":1", ":-1", "1:2", "::2", "1::-1", "2:", ":0",
        "-2:", "0:10", "5:", ":-5", "::-2"]  # fmt: skip
WHOLES = ["", ".T", "[...]", "[None]", "[..., None]", ".T[:1]", ".T[0]", ".T[..., 0]", "[::-1].T",
          "[0][..., 0]", "[1:].T", "[:, 0]", "[:, :1]", "[0, ..., None]", "[None, 0]"]  # fmt: skip


class Pair:
    """Two views of an array of a shape: their texts, and what the names in those are."""

    def __init__(self, type, shape, p, q, names=()):
        self.shape, self.p, self.q, self.names = shape, p, q, dict(names)
        rng = np.random.default_rng(len(p) + 7 * len(q) + sum(shape))
        self.x = rng.uniform(0.5, 1.5, shape)
        self.weights, self.along = rng.uniform(0.5, 1.5, (2, *shape))
        if type == "int":
            self.x = np.array(9 * self.x, int)
        elif type == "complex":
            turned = np.exp(1j * rng.uniform(-1.0, 1.0, (2, *shape)))
            self.x, self.along = self.x * turned[0], self.along * turned[1]

    def __repr__(self):
        return f"{self.shape}: P={self.p} Q={self.q} {self.names or ''}"


class Case:
    """Pairs of views, and one program for all of them."""

    def __init__(self, number):
        rng = random.Random(number)
        self.number, self.ndim = number, rng.choice([1, 2, 2])
        self.form, self.look = rng.choice(FORMS), rng.choice(LOOKS)
        self.origin = rng.choice([*ORIGINS])
        self.op = rng.choice("+-*/")
        self.written_out = number % 2 == 1
        more = random.Random(~number)
        self.ndim += more.random() < 0.2
        self.type = more.choice(["float", "float", "float", "complex", "int"])
        self.derived = more.choice([reverse, reverse, forward])
        make = self._written_out if self.written_out else self._bounds_given(rng)
        count = WRITTEN_OUT if self.written_out else GIVEN
        self.pairs = [self._fitting(rng, make) for _ in range(count)]

    def _fitting(self, rng, make):
        """Mostly a pair that fits, as most of all do not."""
        for _ in range(rng.choice([1, 1, 8, 8, 8, 8])):
            pair = make(rng)
            a = np.empty(pair.shape)
            try:
                p, q = (eval(f"a{text}", {"a": a, **pair.names}) for text in (pair.p, pair.q))
                if p.size and q.size and rng.random() < 0.98:
                    np.broadcast_to(q, np.shape(p))
                    break
            except (IndexError, ValueError, AttributeError):
                continue
        return pair

    def _shape(self, rng):
        return tuple(rng.choice([0, 1, 2, 2, 3, 3, 3]) for _ in range(self.ndim))

    def _written_out(self, rng):
        def text():
            if rng.random() < 0.25:
                return rng.choice(WHOLES)
            return f"[{', '.join(rng.choice(AXES) for _ in range(rng.randint(1, self.ndim)))}]"

        return Pair(self.type, self._shape(rng), text(), text())

    def _bounds_given(self, rng):
        """What makes pairs whose indices differ in numbers alone."""
        names = [f"k{j}" for j in range(12)]
        left = iter(names)

        def part():
            step = rng.choice([None, 1, 1, -1, 2, -2])
            return next(left) if step is None else f"{next(left)}:{next(left)}:{step}"

        p, q = (f"[{', '.join(part() for _ in range(self.ndim))}]" for _ in range(2))

        def make(rng):
            shape = self._shape(rng)
            values = [rng.choice([0, 1, 2, 3, *range(-4, 5)]) for _ in names]
            return Pair(self.type, shape, p, q, dict(zip(names, values, strict=True)))

        return make

    def body(self, pair):
        """The statements of a pair, which add to s."""
        text = self.form.replace("{op}", self.op).replace("{ufunc}", OPS[self.op])
        text = text.replace("{P}", pair.p).replace("{Q}", pair.q).replace("@", self.look)
        end = "s += (b * u).sum() + 0.3 * v.sum() + (w * w).sum()"
        real = "\ns = s.real + 0.5 * s.imag" * (self.type == "complex")
        return f"{ORIGINS[self.origin].replace('float', self.type)}\n{text}\n{end}{real}"

    def program(self, pairs):
        """A function of the arrays of pairs, and of the names in their indices."""
        lines, names, copied = [], [*pairs[0].names], len(pairs) > 1
        for k, pair in enumerate(pairs):
            lines += [f"x, u = xs[{k}], us[{k}]", *["x = x.copy()"] * copied, "s = 0.0"]
            lines += [*self.body(pair).split("\n"), f"s{k} = s"]
        sums = [f"s{k}" for k in range(len(pairs))]
        lines.append(f"return {' + '.join(sums)}, {', '.join(sums)},")
        inside = "\n".join(f"    {line}" for line in lines if line)
        return f"def f({', '.join(['xs', 'us', *names])}):\n{inside}\n"

    def __str__(self):
        program = self.program(self.pairs[:1])
        return f"{self.origin}, {self.derived.__name__}\n{program}\n" + "\n".join(
            map(str, self.pairs)
        )


def run(f, pairs, moved=0.0):
    """The results of a function, or what it raises; the arrays afterwards."""
    xs = tuple(p.x + moved * p.along if moved else p.x.copy() for p in pairs)
    try:
        found = f(xs, tuple(p.weights for p in pairs), **pairs[0].names)
    except RAISED as raised:
        return type(raised), xs
    return [*found], xs


def plain(text):
    """The function of a program, with NumPy itself."""
    names = {"np": np}
    exec(text, names)
    return names["f"]


def slope(case, text, pairs):
    """That of the first result along the directions of the pairs, by plain NumPy."""
    if case.type == "complex":
        ends = (run(plain(text), pairs, step)[0][0] for step in (DIFFERENCE, -DIFFERENCE))
        return np.subtract(*ends) / (2 * DIFFERENCE)
    f = plain(text.replace("float", "complex"))
    return np.imag(run(f, pairs, STEP * 1j)[0][0]) / STEP


def reverse(f, pairs):
    """The results again, and the slope of the first."""
    xs = tuple(p.x.copy() for p in pairs)
    us, names = tuple(p.weights for p in pairs), pairs[0].names.values()
    try:
        found, (by_xs, *_) = zyg.value_and_gradient(f, xs, us, *names)
    except RAISED as raised:
        return getattr(raised, "tag", None) or type(raised), None
    made = zip(pairs, by_xs or [None] * len(pairs), strict=True)
    return [*found], sum(0.0 if g is None else np.vdot(g, p.along).real for p, g in made)


def forward(f, pairs):
    """The same in forward mode."""
    xs, along = tuple(p.x.copy() for p in pairs), tuple(p.along for p in pairs)
    names = pairs[0].names.values()
    try:
        found, slopes = zyg.pushforward(
            f, (xs, tuple(p.weights for p in pairs), *names), (along, *[None] * (1 + len(names)))
        )
    except RAISED as raised:
        return getattr(raised, "tag", None) or type(raised), None
    return [*found], slopes[0]


def is_cast(raised):
    """Whether it is NumPy's error of a cast, which is a TypeError of its own."""
    return isinstance(raised, type) and issubclass(raised, TypeError) and raised is not TypeError


def agree(what, case, pairs, got, right, tolerance=1e-9):
    if isinstance(right, type) or isinstance(got, type):
        same = isinstance(right, type) and isinstance(got, type) and issubclass(got, right)
        # Of two faults, a cast and a shape, either may be named.
        same = same or (got is ValueError and is_cast(right))
    else:
        same = np.allclose(got, right, rtol=tolerance, atol=tolerance, equal_nan=True)
    if not same:
        raise AssertionError(f"{what}: {got}, not {right}\n{pairs}\n{case.program(pairs)}")


def compare(case, f, pairs, engine):
    """Compare an engine's function with plain NumPy on these pairs."""
    text = case.program(pairs)
    right, after = run(plain(text), pairs)
    if engine == "compiled":
        got, changed = run(f, pairs)
        agree("compiled", case, pairs, got, right)
        if not isinstance(right, type):
            arrays = (np.concatenate([x.ravel() for x in xs]) for xs in (changed, after))
            agree("left in the argument", case, pairs, *arrays)
    if case.type == "int" and case.derived is forward:
        return  # nothing moves
    got, found = case.derived(f, pairs)
    if got == CUT_OFF:
        return
    agree(f"{engine}, derived", case, pairs, got, right)
    if case.type != "int" and not isinstance(right, type) and np.all(np.isfinite(right)):
        tolerance = 1e-6 if case.type == "complex" else 1e-9
        expected = slope(case, text, pairs)
        agree(f"{engine}, slope", case, pairs, found, expected, tolerance)


def raises(case, pair):
    return isinstance(run(plain(case.program([pair])), [pair])[0], type)


def traced_function(text):
    names = {"np": znp}
    exec(text, names)
    return names["f"]


def compiled_function(text):
    return zyg.compile(function(f"import numpy as np\n\n\n{text}"))


def check(case):
    """All pairs, by every engine."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for pair in case.pairs:
            compare(case, traced_function(case.program([pair])), [pair], "traced")
        if not case.written_out:
            f = compiled_function(case.program(case.pairs[:1]))
            for pair in case.pairs:
                compare(case, f, [pair], "compiled")
        else:
            raising = [p for p in case.pairs if raises(case, p)]
            right = [p for p in case.pairs if p not in raising]
            for pair in raising[:2]:
                f = compiled_function(case.program([pair]))
                compare(case, f, [pair], "compiled")
            if right:
                f = compiled_function(case.program(right))
                compare(case, f, right, "compiled")
    return f"{len(case.pairs)} pairs, {'written out' if case.written_out else 'given'}"


SEARCH = Search(Case, check, gate=8)

if __name__ == "__main__":
    main(SEARCH, __doc__)
