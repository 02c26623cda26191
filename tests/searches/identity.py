"""Which names are one object: random programs, where `is`, memory and values are as in Python.

A program binds, copies, looks at and writes into arrays, lists, dicts and objects, by many names.
It asks after its statements which of them are one, and returns some. It runs in Python, compiled,
and traced, where its gradient is that of differences.
"""

import copy
import itertools
import random
import warnings

import numpy as np

import zyg
from tests.calls.compare import Wrong
from tests.calls.slopes import by_differences
from tests.modules import imported
from tests.searches.search import Search, in_machine_code, main
from zyg.core.strand import strip
from zyg.errors import CompileError

HEAD = """\
{imports}


class Box:
    def __init__(self, p):
        self.p = p


class Pair:
    def __init__(self, p, q):
        self.p, self.q = p, q

    def swapped(self):
        self.p, self.q = self.q, self.p
        return self


def same(t):
    return t


def doubled(t):
    return t * 2.0


def both(t, u):
    return u, t


def written(t, u=0.25):
    t[0] = u
    return t


def kept(t, into):
    into.append(t)
    return into


def either(t, u, c):
    if c > 0:
        return t
    return u


"""
PLAIN, TRACED = "import numpy as np", "import zyg.numpy as np"
ARRAYS = ("a", "b", "x", "y", "z")
VIEWS = ("v", "w")  # of other shapes
UNFIT = (ValueError, TypeError, LookupError, NameError, AttributeError, SyntaxError, RuntimeError)


class Program:
    """A random program, of statements that run."""

    def __init__(self, number):
        self.number, self.rng = number, random.Random(number)
        self.lines, self.probes, self.asks = [], 0, self.rng.random() < 0.4
        self.scope = {"a": np.array([0.53, -1.27, 2.1]), "b": np.array([1.55, 0.79, -0.57]), "k": 2}
        exec(HEAD.format(imports=PLAIN), self.scope)
        self.start = dict(self.scope)
        self.say("x = a * 1.0")
        self.say(self.rng.choice(["y = x", "y = a", "y = x + b", "y = np.copy(b)"]))
        self.say("z = y")
        for how in ("o = Box({})", "L = [{}, {}]", "d = {{'p': {}, 'q': {}}}"):
            while not self.say(how.format(self.array(), self.array())):
                pass
        for _ in range(self.rng.randint(3, 8)):
            for _ in range(20):
                if self.say(self.statement()):
                    break
            if self.rng.random() < 0.6:
                self.probe()
        self.probe()
        names = self.rng.sample([*self.places(), "L", "o", "d"], self.rng.randint(1, 4))
        names += self.rng.sample(names, self.rng.randint(0, 1))
        self.returned = f"({', '.join(names)},)"

    def say(self, text):
        """Add a statement, if it runs and leaves arrays of the shapes that are counted on."""
        saved = copy.deepcopy({k: v for k, v in self.scope.items() if k in KEPT})
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                exec(text, self.scope)
            alive = [eval(p, self.scope) for p in self.places()]
            good = all(np.shape(v) == (3,) and np.all(np.abs(v) < 100) for v in alive)
        except UNFIT:
            good = False
        if good:
            self.lines += text.split("\n")
        else:
            self.scope.update(saved)
        return good

    def probe(self):
        """Which of two or three places are one, and what is in one of them."""
        places = self.places() + [v for v in VIEWS if v in self.scope]
        one, other, third = (self.rng.choice(places) for _ in range(3))
        text = f"np.sum({third} * {third})"
        if self.asks:
            lists = [n for n in ("L", "M", "o", "q", "d", "e") if n in self.scope]
            text = f"{one} is {other}, {other} is {third}, {text}"
            text = f"{text}, {self.rng.choice('Lod')} is {self.rng.choice(lists)}"
        self.lines.append(f"p{self.probes} = ({text},)")
        self.probes += 1

    def places(self):
        """Where arrays of three elements are."""
        found = [n for n in ARRAYS if n in self.scope]
        found += [f"L[{k}]" for k in range(len(self.scope.get("L", ())))]
        found += [f"M[{k}]" for k in range(len(self.scope.get("M", ())))]
        found += [f"d['{k}']" for k in self.scope.get("d", ())]
        found += [f"e['{k}']" for k in self.scope.get("e", ())]
        for n in "oq":
            found += [f"{n}.{k}" for k in vars(self.scope[n])] if n in self.scope else []
        return found

    def place(self):
        return self.rng.choice(self.places())

    def target(self):
        """What is assigned to."""
        return self.rng.choice([*"xyz", *"xyz", *self.places()[2:], "d['r']", "o.s"])

    def array(self, depth=0):
        """An expression: an array of three elements, new or one that is there."""
        rng, x, y = self.rng, self.place(), self.place()
        ways = [
            x, x, f"{x} * 2.0", f"{x} + {y}", f"{x} - {y} * 0.5", f"-{x}", f"+{x}", f"np.sin({x})",
            f"{x}[:]", f"{x}[::-1]", f"{x}[...]", f"{x}.copy()", f"np.copy({x})", f"{x}.T",
            f"np.asarray({x})", f"np.array({x})", f"np.ravel({x})", f"{x}.ravel()", f"{x}.real",
            f"{x}.flatten()", f"{x}.reshape(-1)", f"{x}.reshape(3)", f"{x}.reshape(1, 3)[0]",
            f"{x}.reshape(3, 1)[:, 0]", f"np.where({x} > {y}, {x}, {y})", f"np.maximum({x}, {y})",
            f"np.atleast_1d({x})", f"np.ascontiguousarray({x})", f"abs({x})", f"np.abs({x})",
            f"np.add({x}, {y}, out={self.place()})", f"np.multiply({x}, 0.5)", f"same({x})",
            f"doubled({x})", f"both({x}, {y})[{rng.randint(0, 1)}]", f"written({x})",
            f"written({x}, u={y}[1])", f"written({x} * 1.0)", f"(lambda t: t)({x})",
            f"(lambda t: t * 0.5)({x})", f"(lambda t={x}: t)()", f"(lambda: {x} + 1.0)()",
            f"(lambda: {x})()", f"either({x}, {y}, {x}[1])", f"either({x}, {y}, k)",
            f"({x} if {x}[0] > {y}[0] else {y})", f"({x} if k else {y})",
            f"({x} if {x}[0] > 0.1 else {y} * 2.0)", f"({x}, {y})[{rng.randint(0, 1)}]",
            f"[{x}, {y}][{rng.randint(0, 1)}]", f"dict(p={x}, q={y})['q']", f"Box({x}).p",
            f"Pair({x}, {y}).swapped().p", f"kept({x}, [])[0]", f"[t for t in ({x}, {y})][1]",
            f"[t * 2.0 for t in ({x}, {y})][0]", f"max({x}, {y}, key=lambda t: t[0])",
            f"sum([{x}, {y}])", f"np.broadcast_to({x}, (3,)) * 1.0",
            f"np.stack([{x}, {y}])[0]", f"np.concatenate([{x}[:2], {y}[2:]])", f"{x}.astype(float)",
            f"np.zeros_like({x}) + {y}", f"np.full(3, {x}[0])", f"np.squeeze({x})",
            f"np.negative({x}, out={self.place()})", f"np.clip({x}, -1.0, 1.0)", f"{x} * {x}[0]",
            f"np.outer({x}, {y})[0]", f"np.diag({x})[1]", f"np.flip({x})", f"np.roll({x}, 1)",
            f"np.asarray({x}, dtype=float)", f"np.real({x})",
        ]  # fmt: skip
        if depth < 2 and rng.random() < 0.4:
            inner = self.array(depth + 1)
            ways = [
                f"({self.rng.choice('xyz')} := {inner})", f"doubled({inner})", f"same({inner})",
                f"({inner}) + {x}", f"({inner}) * ({inner})", f"(lambda t: t)({inner})",
                f"written({inner})", f"both({inner}, {x})[1]", f"Box({inner}).p", f"[{inner}][0]",
                f"dict(p={inner})['p']", f"(lambda: {inner})()", f"({inner} if k else {x})",
                f"({inner} if {x}[0] > 0.1 else {x})", f"np.asarray({inner})", f"({inner})[:]",
                f"kept({inner}, [{x}])[1]", f"(lambda t={inner}: t)()", f"({x} := {inner})",
            ]  # fmt: skip
        return rng.choice(ways)

    def slot(self):
        """What is written of an array."""
        return self.rng.choice(["[0]", "[1]", "[-1]", "[:]", "[...]", "[1:]", "[::2]", "[::-1]"])

    def write(self):
        rng, x, y = self.rng, self.place(), self.place()
        return rng.choice([
            f"{x}[{rng.randint(-1, 2)}] = {y}[{rng.randint(0, 2)}] * 0.5",
            f"{x}{self.slot()} = 0.5", f"{x}[:] = {self.array()}", f"{x}[1:] = {y}[:-1]",
            f"{x}[{x} > 0.5] = 0.25", f"{x}[[0, 2]] = {y}[1:]", f"{x} += {self.array()}",
            f"{x} *= {y}", f"{x} -= 0.5", f"{x} += {y}[0]", f"{x}{self.slot()} *= 0.5",
            f"{x}[1:] += {y}[:-1]", f"np.copyto({x}, {y})", f"np.add({x}, {y}, out={x})",
            f"np.sin({x}, out={y})", f"written({x})", f"{x}.fill(0.5)", f"{x}.sort()",
            f"{x}, {x}[0] = {y}, 0.75",
        ])  # fmt: skip

    def bind(self):
        rng, x, y = self.rng, self.target(), self.target()
        e = self.array
        return rng.choice([
            f"{x} = {e()}", f"{x} = {e()}", f"{x} = {y} = {e()}", f"{x} = {y} = {e()}",
            f"{x} = {y} = {self.target()} = {e()}", f"{x}, {y} = {e()}, {e()}",
            f"{x}, {y} = {self.place()}, {self.place()}", f"({x}, {y}) = both({e()}, {e()})",
            f"[{x}, {y}] = [{e()}] * 2", f"{x} = (z := {e()})", f"d['r'] = {e()}", f"o.s = {e()}",
            "L.append(" + e() + ")", "L[0], L[1] = L[1], L[0]", "L[-1] = " + e(),
            f"{x}, *r = {e()}, {e()}, {e()}\n{y} = r[1]", f"d.update(p={e()})",
            f"{x} = d.get('p')", f"{x} = d.setdefault('r', {e()})", f"L.insert(0, {e()})",
            f"{x} = L.pop()\nL.append({x})", "L = [" + e() + ", " + e() + "]",
            "d = {'p': " + e() + "}", "d = dict(p=" + e() + ", q=" + e() + ")", f"o = Box({e()})",
            "M = L", "M = L[:]", "M = L.copy()", "M = list(L)", "L += [" + e() + "]", "M = L * 2",
            "M = [*L]", "e = d", "e = d.copy()", "e = dict(d)", "e = {**d}", "q = o",
            "q = Box(o.p)", "M = [t * 0.5 for t in L]", "M = [t for t in L]", "L.reverse()",
            "M = L[1:]", "q = Pair(" + e() + ", " + e() + ")", "q = Pair(o.p, o.p).swapped()",
            "M = sorted(L,"
            " key=lambda t: t[0])", "L.extend(L[:1])", f"M = kept({e()}, L)", "M, L = L, [" + e()
            + "]", f"v = {e()}[1:]", f"v = {x}[:, None]", f"w = {x}[:2]", f"v = np.diag({e()})",
            f"v = w = {e()}[1:] * 2.0", f"v = {x}.reshape(1, 3)", f"v = {x}[1]", "w = v",
        ])  # fmt: skip

    def compound(self):
        rng, x, y, e = self.rng, self.target(), self.target(), self.array

        def part():
            text = rng.choice([self.write, self.bind])()
            return text.replace("\n", "\n    ")

        test = rng.choice([f"{self.place()}[0] > 0.1", f"{self.place()}[1] > {self.place()}[2]",
                           "k > 1", "a[0] > b[0]"])  # fmt: skip
        rounds = rng.choice(["range(k)", "range(3)", "range(len(a))", "range(12)", "(0, 1)"])
        return rng.choice([
            f"if {test}:\n    {part()}",
            f"if {test}:\n    {part()}\nelse:\n    {part()}",
            f"if {test}:\n    {x} = {self.place()}\nelse:\n    {x} = {e()}",
            f"for i in {rounds}:\n    {part()}",
            f"for i in {rounds}:\n    {x}[i % 3] *= 0.5",
            f"for i in {rounds}:\n    {x} = {x} * 0.5",
            f"for i in {rounds}:\n    {x} = {e()}\n    {y} = {x}",
            f"for i in {rounds}:\n    {x}, {y} = {y}, {x}",
            f"for i in {rounds}:\n    {x} = {y}\n    {y} = {e()}",
            f"for i in {rounds}:\n    if {test}:\n        break\n    {part()}",
            f"i = 0\nwhile i < k:\n    {part()}\n    i += 1",
            f"for t in L:\n    t[0] = 0.5\n    {x} = t", "for t in L:\n    t *= 0.5",
            f"for t in (x, y, z):\n    {x} = t", "for t, u in zip(L, (x, y)):\n    t[1] = u[0]",
            "for c, t in d.items():\n    t += 0.25", f"for t in d.values():\n    {x} = t",
            f"def g(t={e()}):\n    return t\n{x} = g()\n{y} = g()",
            f"def g():\n    return {self.place()}\n{x} = {e()}\n{y} = g()",
            f"g = lambda: x\nx = {e()}\n{y} = g()", f"g = lambda t=x: t\nx = {e()}\n{y} = g()",
            f"def g(t):\n    t[0] = 0.5\n    return t\n{x} = g({e()})",
            f"g = (lambda t: lambda: t)({e()})\n{x} = g()\n{y} = g()",
            f"{x} = {e()}\nfor {rng.choice('xyz')} in ({self.place()}, {e()}):\n    pass",
            f"M = []\nfor i in range({rng.randint(1, 3)}):\n    M.append({e()})",
            f"M = []\nfor i in range(k):\n    M.append({self.place()})",
            f"match k:\n    case 2:\n        {part()}\n    case _:\n        {part()}",
        ])  # fmt: skip

    def statement(self):
        return self.rng.choice([self.write, self.bind, self.bind, self.compound])()

    def text(self, imports):
        """The module; `loss` is a number that depends on all that `f` returns."""
        log = ", ".join(f"p{k}" for k in range(self.probes))
        body = "\n    ".join([*self.lines, f"return {self.returned}, ({log},)"])
        weighed = " + ".join(
            f"np.sum(np.cos({p} + {0.3 * k:.1f}))" for k, p in enumerate(self.places())
        )
        last = "\n    ".join([*(x for x in self.lines if not _is_probe(x)), f"return {weighed}"])
        head = HEAD.format(imports=imports)
        return f"{head}def f(a, b, k):\n    {body}\n\n\ndef loss(a, b, k):\n    {last}\n"

    def __str__(self):
        text = self.text(PLAIN)
        return text[text.index("def f(") : text.index("\n\ndef loss")]


KEPT = (*ARRAYS, *VIEWS, "o", "q", "L", "M", "d", "e", "k")


def _is_probe(line):
    return line[:1] == "p" and line[1:2].isdigit()


def flat(x):
    """The arrays, numbers and containers in a result."""
    yield x
    inside = x if isinstance(x, (tuple, list)) else x.values() if isinstance(x, dict) else ()
    if type(x).__name__ in ("Box", "Pair"):
        inside = vars(x).values()
    for part in inside:
        yield from flat(part)


def picture(result, args):
    """What came of a call, the arguments after it, and which are one, or share memory."""
    returned, log = result
    things = [x for x in [*args, *flat(returned)] if not isinstance(x, (int, tuple))]
    arrays = [x for x in things if not isinstance(x, (list, dict)) and not hasattr(x, "__dict__")]
    arrays = [x for x in arrays if getattr(x, "ndim", 0)]
    plain = [strip(x) for x in arrays]
    pairs = itertools.combinations(range(len(things)), 2)
    return {
        "kinds": [type(x).__name__ for x in flat(returned) if not getattr(x, "ndim", 0)],
        "values": [np.asarray(x).tolist() for x in plain],
        "log": [tuple(x if type(x) is bool else float(strip(x)) for x in row) for row in log],
        "is": [(j, k) for j, k in pairs if things[j] is things[k]],
        "shares": [np.shares_memory(x, y) for x, y in itertools.combinations(plain, 2)],
    }


RAISED = (ValueError, TypeError, ArithmeticError, LookupError, NameError, AttributeError)


def starts(program):
    return [program.start[n].copy() for n in "ab"]


def outcome(f, program, args=None):
    """What a call gives, or the class of what it raises."""
    args = starts(program) if args is None else [*args.values()]
    try:
        with np.errstate(all="ignore"):
            return picture(f(*args, program.start["k"]), args)
    except RAISED as error:
        if isinstance(error, CompileError):
            raise
        return type(error).__name__


def close(x, y):
    """Equal, but for the rounding of floats."""
    if isinstance(x, dict):
        return x.keys() == y.keys() and all(close(x[k], y[k]) for k in x)
    if isinstance(x, (list, tuple)):
        return len(x) == len(y) and all(map(close, x, y))
    if isinstance(x, float) and isinstance(y, float):
        return bool(np.isclose(x, y, rtol=1e-12, atol=1e-12, equal_nan=True))
    return type(x) is type(y) and x == y


def same_outcome(want, got, engine, program):
    if isinstance(want, str) or isinstance(got, str):
        assert want == got, f"{engine}: {got}, Python: {want}\n{program}"
        return
    for part in want:
        assert close(want[part], got[part]), (
            f"{engine}: {part} is\n{got[part]}, in Python\n{want[part]}\n{program}"
        )


def traced_outcome(f, program):
    """The same in a gradient, with watched arguments."""
    found = []

    def run(a, b):
        found.append(outcome(f, program, {"a": a, "b": b}))
        return np.sum(a)

    zyg.gradient(run, *starts(program))
    return found[0]


def gradients(loss, program):
    """By `a` and `b`, zeros where nothing depends on one; or the class of what is raised."""
    args = starts(program)
    try:
        found = zyg.gradient(loss, *args, program.start["k"])[:2]
    except RAISED as error:
        if isinstance(error, CompileError):
            raise
        return type(error).__name__
    return [np.zeros(3) if g is None else g for g in found]


def check_gradients(program, plain, traced):
    """That of machine code is the tracer's, and both that of differences."""
    want, got = gradients(traced.loss, program), gradients(zyg.compile(plain.loss), program)
    assert isinstance(want, str) == isinstance(got, str), f"{got}, traced: {want}\n{program}"
    if isinstance(want, str):
        return "raises"
    for one, other in zip(want, got, strict=True):
        assert np.allclose(one, other, rtol=1e-9, atol=1e-9), (
            f"compiled {got}, traced {want}\n{program.text(PLAIN)}"
        )

    def value(a, b):
        return plain.loss(a, b, program.start["k"])

    along = [*np.random.default_rng(program.number).standard_normal((2, 3))]
    try:
        said = by_differences(value, starts(program), lambda w: [g * w[0] for g in got], along)
    except Wrong as error:
        raise AssertionError(f"slope {error}\n{program.text(PLAIN)}") from None
    return f"gradient: {said}"


def refusal(error):
    """What was refused, and why, without the names of the program."""
    what, *rest = str(error).split("\n")
    why = next((line.strip() for line in rest if line.startswith("  why:")), "")
    return f"refused: {what} {why}"


def check(program):
    plain, traced = (imported(program.text(x)) for x in (PLAIN, TRACED))
    want = outcome(plain.f, program)
    same_outcome(want, traced_outcome(traced.f, program), "traced", program)
    try:
        found = in_machine_code(lambda: outcome(zyg.compile(plain.f), program))
        same_outcome(want, found, "compiled", program)
        said = "native"
        if program.number % 4 == 0:
            said += f", {in_machine_code(lambda: check_gradients(program, plain, traced))}"
    except CompileError as error:
        said = refusal(error)
    return said


SEARCH = Search(Program, check, gate=24)
if __name__ == "__main__":
    main(SEARCH, __doc__)
