"""Adopted namespaces: what was changed in each, and who asked for it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, BuiltinImporter
from types import CodeType, ModuleType
from typing import Any

from zyg.adoption.originals import drop_in, original
from zyg.adoption.places import Place, Walk
from zyg.adoption.rewriting import rewritten
from zyg.base.adoptable import REFUSED, note_adopted, note_rewritten

Names = dict[str, Any]

lock = threading.RLock()  # nothing is imported under it
_asked: list[Target] = []
_spaces: dict[int, Space] = {}


class Target:
    """What somebody asked for: a module and all that is in it, or all modules of a folder."""

    def __init__(self, name: str, names: Names | None = None, folder: str = "") -> None:
        self.name, self.names, self._folder = name, names, folder

    def covers(self, name: str, file: str) -> bool:
        if name == self.name or name.startswith(self.name + "."):
            return True
        inside = bool(self._folder) and file.startswith(self._folder + os.sep)
        return inside and "-packages" + os.sep not in file and name.partition(".")[0] not in REFUSED


class Space:
    """A namespace that is adopted."""

    def __init__(self, names: Names) -> None:
        self.names, self.name = names, str(names.get("__name__"))
        self._changed: list[Place] = []
        self._own = self._places(original)  # drop-ins that it uses by itself
        self.read()

    def read(self) -> None:
        """Read the module's source, as it is when it has been loaded."""
        self._codes = rewritten(self.names)
        note_rewritten(self._codes)

    def _places(self, instead: Callable[[Any], Any]) -> list[Place]:
        return Walk(self.names, is_covered, instead).places()

    def adopt(self) -> None:
        """Put drop-ins where there are originals: all, or those that have come since."""
        for place in self._places(self._drop_in):
            place.change()
            self._changed.append(place)

    def _drop_in(self, value: Any) -> Any:
        return self._codes.get(value, value) if type(value) is CodeType else drop_in(value)

    def release(self) -> None:
        """Put back what was there; originals for what has been imported since."""
        for place in reversed(self._changed):
            place.restore()
        own = {(id(place.holder), place.key) for place in self._own}
        for place in self._places(original):
            if (id(place.holder), place.key) not in own:
                place.change()

    def adopted(self) -> list[str]:
        """The module's names that are drop-ins, or lead to some."""
        return sorted({place.name for place in self._places(original)})


def ask(targets: list[Target]) -> None:
    """Adopt what targets cover, for as long as they are asked for."""
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
        _spaces[id(names)].adopt()


def drop(targets: list[Target]) -> None:
    """Ask for these no longer: what nobody else asks for is released."""
    _asked[:] = [target for target in _asked if target not in targets]
    released = [s for s in _spaces.values() if not any(_is_of(t, s.names) for t in _asked)]
    for space in released:
        del _spaces[id(space.names)]
        note_adopted(space.names, False)
    for space in released:
        space.release()
    if released:
        for space in _spaces.values():  # what they shared with others
            space.adopt()


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
    """Whether a module is written in Python, and not compiled."""
    loader, file = names.get("__loader__"), str(names.get("__file__") or "")
    return loader is not BuiltinImporter and not file.endswith(tuple(EXTENSION_SUFFIXES))
