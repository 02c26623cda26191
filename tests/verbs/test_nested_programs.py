"""Random nests of verbs; `nested_programs.py` says what must hold, and grows more."""

import random

from .nested_programs import KEEPS, PLAIN, check, grown


def test_random_nests_of_verbs():
    for seed in (*range(12), 1987):
        check(seed)


def test_every_verb_occurs_and_values_are_left_behind():
    texts = [grown(random.Random(seed), 3, ["x"], 1) for seed in range(200)]
    for part in (*PLAIN, *KEEPS.values(), "for k in"):
        assert sum(part in text for text in texts) > 3
