"""Objects that the tests of structures take apart."""

import enum
from dataclasses import dataclass
from typing import NamedTuple


class Point(NamedTuple):
    x: float
    y: object


class Bag:
    def __init__(self, **fields):
        self.__dict__.update(fields)


@dataclass(frozen=True)
class Frozen:
    x: float
    y: object = None


@dataclass(frozen=True, slots=True)
class Slotted:
    x: float
    y: object = None


class Color(enum.Enum):
    RED = 1.0
