"""What is pickled of what was made while modules had drop-ins."""

import copy
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

import zyg

HOLDING = """
    import math
    import numpy as np
    from functools import partial
    from math import exp
    from scipy import linalg, stats

    class Model:
        def __init__(self):
            self.f, self.g, self.h = np.zeros, partial(math.exp), [linalg.solve, exp]
            self.norm = stats.norm
"""
LOADING = """
import math, pickle, sys
import numpy as np
model = pickle.load(open(sys.argv[1], "rb"))
assert model.f is np.zeros and model.g.func is model.h[1] is math.exp
assert model.norm.cdf(0.0) == 0.5
assert "zyg" not in sys.modules
"""


@pytest.mark.slow
def test_what_is_pickled_while_adopted_holds_the_originals(write):
    folder = write({"holding.py": HOLDING})
    with zyg.adopt("holding"):
        import holding

        models = []
        assert zyg.gradient(lambda x: models.append(holding.Model()) or x, 1.0) == (1.0,)
        (model,) = models
        assert zyg.gradient(model.h[1], 0.0) == (1.0,)
        text = pickle.dumps(model)
        same = copy.deepcopy(model)
        assert same.f is model.f is not np.zeros
    loaded = pickle.loads(text)

    assert loaded.f is np.zeros
    assert loaded.g.func is loaded.h[1] is math.exp
    (folder / "model").write_bytes(text)
    done = subprocess.run(
        [sys.executable, "-c", LOADING, str(folder / "model")],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr == ""
