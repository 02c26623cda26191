"""Adopted namespaces: what was changed in each, and who asked for it."""

from __future__ import annotations

import linecache
import os
import sys
import threading
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, BuiltinImporter
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from zyg.adoption.originals import drop_in, learn, original
from zyg.adoption.places import Place, Walk
from zyg.adoption.rewriting import rewritten, source_of
from zyg.base.adoptable import REFUSED, note_adopted, note_rewritten, running

Names = dict[str, Any]

lock = threading.RLock()  # nothing is imported under it
_asked: list[Target] = []
_spaces: dict[int, Space] = {}


class Target:
    """What somebody asked for: a module and all that is in it, or all modules of a folder."""

    def __init__(
        self, name: str, names: Names | None = None, folder: str = "", growing: bool = False
    ) -> None:
        self.name, self.names, self._folder = name, names, folder
        self.growing = growing  # a script, in which names come while it runs

    def covers(self, name: str, file: str) -> bool:
        if name == self.name or name.startswith(self.name + "."):
            return True
        inside = bool(self._folder) and file.startswith(self._folder + os.sep)
        return inside and "-packages" + os.sep not in file and name.partition(".")[0] not in REFUSED


class Space:
    """A namespace that is adopted: where drop-ins come while a gradient runs."""

    def __init__(self, names: Names) -> None:
        self.names, self.name = names, str(names.get("__name__"))
        self.growing = self.grown = False
        self.on, self._places, self._seen = False, list[Place](), list[Any]()
        self._holders, self._sizes = list[Any](), list[int]()
        self._cells: dict[str, dict[CodeType, CodeType]] = {}
        self._own = {id(place.before) for place in self._walk(original)}  # drop-ins of its own
        self.read()

    def read(self) -> None:
        """Read the module's source, as it is when it has been loaded."""
        self._codes = rewritten(source_of(self.names), str(self.names.get("__file__")))
        note_rewritten(self._codes)

    def _code(self, code: CodeType) -> CodeType:
        """What runs instead of a function's code; a cell of a notebook has a text of its own."""
        found, file = self._codes.get(code), code.co_filename
        if found is not None or not self.growing or file == self.names.get("__file__"):
            return found or code
        if file not in self._cells:
            self._cells[file] = rewritten("".join(linecache.getlines(file)), file)
            note_rewritten(self._cells[file])
        return self._cells[file].get(code, code)

    def _walk(self, instead: Callable[[Any], Any]) -> list[Place]:
        return Walk(self.names, is_covered, instead).places()

    def _drop_in(self, value: Any) -> Any:
        return self._code(value) if type(value) is CodeType else drop_in(value)

    def look(self) -> None:
        """Find the places where originals are."""
        found = self._walk(self._drop_in)
        self._places = self._places + found if self.on else found
        sized = (place.holder for place in self._places if isinstance(place.holder, (dict, list)))
        self._holders = [*{id(holder): holder for holder in sized}.values()]
        self._sizes = [*map(len, self._holders)]
        if self.on:
            for place in found:
                place.change()

    def turn(self, on: bool) -> None:
        """Put drop-ins in the places of originals, or back.

        That may be done again, if it was interrupted: each place is looked at. Where one is found
        with something else, as in a list that was sorted, all that there is now is looked for.
        """
        if on:
            if self.growing or self.grown:
                self._look_again()
            self.on = True
            if not self._change():
                self.look()
        else:
            if not self._change(back=True):
                self._put_back_all()
            self.on = False

    def _change(self, back: bool = False) -> bool:
        """Change all known places; whether they are all places that there are."""
        known = True
        for _, kind, holder, key, before, now in reversed(self._places) if back else self._places:
            if back:
                before, now = now, before
            there = kind.get(holder, key)
            if there is before:
                kind.put(holder, key, now)
            elif there is not now:
                known = False
        return known and [*map(len, self._holders)] == self._sizes

    def _put_back_all(self) -> None:
        """Put originals in the place of all drop-ins, wherever they are by now."""
        for place in self._walk(original):
            if id(place.before) not in self._own:
                place.change()

    def _look_again(self) -> None:
        """Look at what has come since, if something may have."""
        seen = [id(v) if type(v) in _BINDINGS else name for name, v in list(self.names.items())]
        if seen != self._seen:
            self._seen = seen
            self.read()
            self.look()
        self.grown = False

    def release(self) -> None:
        """Put back what was there; originals for what was imported while a gradient ran."""
        self.turn(False)
        self._put_back_all()

    def adopted(self) -> list[str]:
        """The module's names that have drop-ins, or lead to some."""
        return sorted({place.name for place in self._places})


_BINDINGS = {FunctionType, BuiltinFunctionType, ModuleType, type}


class _State:
    on = False  # whether drop-ins are in their places


def turn() -> None:
    """Have drop-ins where they belong while gradients run, and originals while none does."""
    if running:
        learn()
    with lock:
        on = bool(running)
        if _State.on != on:
            _State.on = True  # until all are back in their places
            for space in list(_spaces.values()):
                space.turn(on)
            _State.on = on


def ask(targets: list[Target]) -> None:
    """Adopt what targets cover, for as long as they are asked for."""
    turn()  # a gradient may have begun before anything was adopted
    _asked.extend(targets)
    given = [target.names for target in targets if target.names is not None]
    loaded = [m for m in list(sys.modules.values()) if isinstance(m, ModuleType)]
    _adopt([*given, *map(names_of, loaded)], targets)


def adopt_loaded(modules: list[ModuleType]) -> None:
    """Adopt those of these modules, just loaded, that are asked for."""
    namespaces = [*map(names_of, modules)]
    for names in namespaces:
        if id(names) in _spaces:  # loaded again
            _spaces[id(names)].read()
    _adopt(namespaces, _asked)


def _adopt(namespaces: list[Names], targets: list[Target]) -> None:
    wanted = [n for n in namespaces if any(_is_of(t, n) for t in targets) and is_python(n)]
    for names in wanted:
        if id(names) not in _spaces:
            _spaces[id(names)] = Space(names)
            note_adopted(names, True)
    for names in wanted:
        space = _spaces[id(names)]
        space.growing |= any(target.growing and target.names is names for target in targets)
        space.look()
        space.turn(_State.on)


def drop(targets: list[Target]) -> None:
    """Ask for these no longer: what nobody else asks for is released."""
    _asked[:] = [target for target in _asked if target not in targets]
    released = [s for s in _spaces.values() if not any(_is_of(t, s.names) for t in _asked)]
    for space in released:
        space.release()
    for space in released:
        note_adopted(space.names, False)
        del _spaces[id(space.names)]
    if released:
        for space in _spaces.values():  # what they shared with others
            space.look()


def imports_original(names: Names) -> bool:
    """Whether an import of an original into this namespace, just now, is to give the drop-in."""
    space = _spaces.get(id(names))
    if space is not None:
        space.grown = True
    return _State.on


def asked() -> list[Target]:
    return list(_asked)


def is_covered(name: str, file: str = "") -> bool:
    return any(target.covers(name, file) for target in asked())


def spaces_of(targets: list[Target]) -> list[Space]:
    """The adopted namespaces that these cover, by name."""
    spaces = [s for s in list(_spaces.values()) if any(_is_of(t, s.names) for t in targets)]
    return sorted(spaces, key=lambda space: space.name)


def _is_of(target: Target, names: Names) -> bool:
    file = str(names.get("__file__") or "")
    return names is target.names or target.covers(str(names.get("__name__")), file)


def names_of(module: ModuleType) -> Names:
    """A module's namespace; vars may load a lazy module first."""
    names: Names = object.__getattribute__(module, "__dict__")
    return names


def is_python(names: Names) -> bool:
    """Whether a module is written in Python, and not compiled.

    What is typed in, or given to Python as text, has the loader of what is built in.
    """
    loader, file = names.get("__loader__"), str(names.get("__file__") or "")
    built_in = loader is BuiltinImporter and names.get("__name__") != "__main__"
    return not built_in and not file.endswith(tuple(EXTENSION_SUFFIXES))
