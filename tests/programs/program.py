"""The collection of programs: functions of numbers, arrays and structures, with their arguments.

A module of this folder has the programs of one topic, each registered once, with one or more rows
of arguments. Its text is run a second time with the drop-in namespaces, for the tracer.
"""

import functools
import importlib
import importlib.util
import linecache
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOPICS = ("numbers", "arrays", "language", "functions", "memory", "choices", "interactions",
          "derivatives", "threads", "simulations")  # fmt: skip
_REGISTERED: dict[str, dict[str, "Program"]] = defaultdict(dict)  # by the module's name
_DROP_INS = {f"\nimport {name}\n": f"\nimport zyg.{name} as {name}\n" for name in ("math", "cmath")}
_DROP_INS["\nimport numpy as np\n"] = "\nimport zyg.numpy as np\n"


@dataclass(frozen=True, eq=False)
class Program:
    """A function, arguments for it, and the engines that it is not for, each with the reason."""

    topic: str
    name: str
    f: Callable[..., Any]
    args: tuple[Any, ...]
    raises: type | None
    without: Mapping[str, str]

    @property
    def python(self):
        """What Python is to give: plain math carries no derivative that is taken inside."""
        return self.traced.f if self.topic in ("interactions", "derivatives") else self.f

    @property
    def traced(self):
        """The same with the drop-in namespaces in the place of numpy and math."""
        return _REGISTERED[_with_drop_ins(self.topic)][self.name]


def program(*args, name=None, raises=None, **without):
    """A decorator that registers a function with arguments; several of them, several rows.

    Engines that are not to run it are keywords, with the reason; `differences` are those of the
    tracer, where it has a kink or a slope of its own; where it refuses a program, `traced` leaves
    it out; the IR and the text are not of what is `called_back`. What Python is to raise is
    `raises`.
    """

    def register(f):
        module = sys._getframe(1).f_globals["__name__"]
        found = _REGISTERED[module]
        own = name or f.__name__
        row = sum(of == own or of.startswith(f"{own} ") for of in found)
        title = f"{own} {row + 1}" if row else own
        found[title] = Program(
            module.rpartition(".")[2], title, f, args, raises, _without(**without)
        )
        return f

    return register


_SHORT = {
    "traced": ("traced", "reverse_mode", "forward_mode", "second_order"),
    "differences": ("reverse_mode", "second_order"),
    "called_back": ("ir", "text", "text_of_derivatives"),
}


def _without(**without):
    """The engines that do not run a program."""
    return {name: why for key, why in without.items() for name in _SHORT.get(key, (key,))}


@functools.cache
def _with_drop_ins(topic):
    text = Path(__file__).with_name(f"{topic}.py").read_text()
    for plain, own in _DROP_INS.items():
        text = text.replace(plain, own)
    spec = importlib.util.spec_from_loader(f"{__package__}.traced_{topic}", None)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # where dataclasses look
    name = f"traced_{topic}.py"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name  # to be read
    exec(compile(text, name, "exec"), module.__dict__)
    return module.__name__


def programs(*topics):
    """The programs of these topics, or of all, by topic and name."""
    for topic in topics or TOPICS:
        importlib.import_module(f"{__package__}.{topic}")
    return {
        f"{topic}: {name}": found
        for topic in topics or TOPICS
        for name, found in _REGISTERED[f"{__package__}.{topic}"].items()
    }
