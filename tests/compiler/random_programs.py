"""Random scalar functions of three floats, as Python source: branches, loops, helpers, returns."""

import random

HEAD = """
import zyg.math as math


def bend(x, y):
    if x > y:
        return math.tanh(x) * y
    return x - 0.3 * y * y


def wave(x, n=2):
    for i in range(n):
        x = math.sin(x) + 0.1 * i
    return x


def pair(x, y):
    return x * y, math.cos(x)
"""
_UNARY = ("math.sin", "math.tanh", "math.cos", "math.atan", "abs", "wave", "-", "math.erf")
_COMPARE = ("<", ">", "<=", ">=", "!=")


class Writer:
    """Writes one function; `names` are the variables that have values where it is."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.fresh = 0

    def expression(self, names, depth):
        pick = self.random
        if depth == 0 or pick.random() < 0.2:
            constant = f"{pick.uniform(-2, 2):.3f}"
            return pick.choice([*names, *names, constant])
        x, y, z = (self.expression(names, depth - 1) for _ in range(3))
        forms = [
            f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"({x} / (1.5 + abs({y})))",
            f"{pick.choice(_UNARY)}({x})", f"bend({x}, {y})", f"max({x}, {y})", f"min({x}, {y})",
            f"({x} if {self.condition(names, depth - 1)} else {y})", f"({x}) ** 2",
            f"pair({x}, {y})[{pick.randrange(2)}]", f"math.exp(-({x}) ** 2)",
            f"math.hypot({x}, {z})",
            f"({x} and {y})", f"({x} or {z})", f"math.sqrt(0.5 + abs({x}))",
        ]  # fmt: skip
        return pick.choice(forms)

    def condition(self, names, depth):
        pick = self.random
        x, y, z = (self.expression(names, max(depth - 1, 0)) for _ in range(3))
        one, other = pick.choice(_COMPARE), pick.choice(_COMPARE)
        forms = [
            f"{x} {one} {y}", f"{x} {one} {y} {other} {z}", f"not {x} {one} {y}",
            f"({x} {one} {y} and {y} {other} {z})", f"({x} {one} {y} or {z} {other} 0.5)",
        ]  # fmt: skip
        return pick.choice(forms)

    def block(self, indent, names, depth, in_loop):
        names = list(names)
        for _ in range(self.random.randint(1, 3)):
            self.statement(indent, names, depth, in_loop)
        return names

    def statement(self, indent, names, depth, in_loop):
        pick, pad = self.random, "    " * indent
        form = pick.choice(["let", "let", "change", "swap", "if", "for", "while", "leave"])
        if form in ("if", "for", "while", "leave") and depth == 0:
            form = "let"
        if form == "let":
            name = f"v{self.fresh}"
            self.fresh += 1
            self.lines.append(f"{pad}{name} = {self.expression(names, 2)}")
            names.append(name)
        elif form == "change":
            name = pick.choice(names)
            self.lines.append(
                f"{pad}{name} {pick.choice('+-*')}= math.sin({self.expression(names, 1)})"
            )
        elif form == "swap":
            a, b = pick.choice(names), pick.choice(names)
            self.lines.append(f"{pad}{a}, {b} = {b}, math.sin({self.expression(names, 1)})")
        elif form == "if":
            self.lines.append(f"{pad}if {self.condition(names, 2)}:")
            self.block(indent + 1, names, depth - 1, in_loop)
            if pick.random() < 0.6:
                self.lines.append(f"{pad}else:")
                self.block(indent + 1, names, depth - 1, in_loop)
        elif form == "for":
            self.fresh += 1
            rounds = pick.choice(["3", "2, 7, 2", "9", "10, 0, -1"])
            self.loop(indent, f"for i{self.fresh} in range({rounds}):", names, depth)
        elif form == "while":
            self.fresh += 1
            n = f"n{self.fresh}"
            self.lines.append(f"{pad}{n} = 0")
            line = f"while {n} < 4 and {self.condition(names, 1)}:"
            self.loop(indent, line, names, depth, f"{n} += 1")
        else:
            self.lines.append(f"{pad}if {self.condition(names, 1)}:")
            ways = [f"return {self.expression(names, 2)}"] + ["break", "continue"] * in_loop
            self.lines.append(f"{pad}    {pick.choice(ways)}")

    def loop(self, indent, head, names, depth, first=None):
        pad = "    " * indent
        self.lines.append(pad + head)
        if first:
            self.lines.append(f"{pad}    {first}")
        name = self.random.choice(names)
        inside = self.block(indent + 1, names, depth - 1, True)
        value = self.expression(inside, 1)
        self.lines.append(f"{pad}    {name} = 0.5 * {name} + math.tanh({value})")
        if self.random.random() < 0.3:
            self.lines.append(f"{pad}else:")
            self.block(indent + 1, names, depth - 1, False)


def source(name, seed):
    """The text of a function of three floats."""
    writer = Writer(seed)
    writer.lines.append(f"def {name}(x, y, z):")
    names = writer.block(1, ["x", "y", "z"], 3, False)
    names = writer.block(1, names, 2, False)
    writer.lines.append(f"    return {writer.expression(names, 2)} + {writer.expression(names, 1)}")
    return "\n".join(writer.lines) + "\n"
