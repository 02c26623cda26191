"""Programs whose loops are run again in segments have the same derivatives."""

import numpy as np
import pytest

from zyg.compiler.autodiff import reverse
from zyg.compiler.autodiff.checkpointing import in_segments
from zyg.compiler.ir import type_of

from .interpreted import Stopped
from .random_memory import SIZE, random_program
from .test_reverse_random import like, run, sized


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("seed", range(40))
def test_of_random_programs(seed, depth):
    program, random = sized(random_program(seed)), np.random.default_rng(seed)
    args = [random.normal(), seed % 7, random.normal(size=SIZE), random.integers(0, SIZE, SIZE)]
    other = in_segments(program, depth)
    try:
        values = run(program, *args)
    except Stopped:
        return
    if other is None:
        return
    pairs = zip(values, program.outputs, strict=True)
    bars = like(random, [v for v, y in pairs if "float" in type_of(y)])
    right, found = (run(reverse.vjp(p, [0, 2]).program, *args, *bars) for p in (program, other))
    for x, y in zip(found, right, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)
