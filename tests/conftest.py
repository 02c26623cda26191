"""One hypothesis profile for all tests: the same examples in every run, no deadline.

One thread of BLAS: the tests may run in as many processes as there are cores. Kernels that tests
compile are kept apart from the user's; the processes of one run share them.
"""

import gc
import os
from collections import Counter

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import none

from zyg.base.registry import rules, short_ways

_OWN_RULES, _SHORT_WAYS = {**rules}, {**short_ways}
QUICK = 16  # each so many-th case of a test is in the quick loop

collect_ignore = ["whole/typed"]  # for type checkers: not to be run

settings.register_profile(
    "zyg",
    derandomize=True,
    deadline=None,
    max_examples=30,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("zyg")


@pytest.fixture(scope="session")
def shared(request, tmp_path_factory):
    """The folder that all processes of one run have together."""
    place = tmp_path_factory.getbasetemp()
    of_xdist = hasattr(request.config, "workerinput")  # a process of it has a folder in the run's
    return place.parent if of_xdist else place


@pytest.fixture(autouse=True, scope="session")
def _own_cache(shared):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZYG_CACHE_DIR", str(shared / "kernels"))
        yield


@pytest.fixture(autouse=True)
def _no_rule_replaced():
    """A test that gave a function of NumPy's another rule takes it back: other tests use it."""
    before = rules.version, len(rules)
    yield
    if (rules.version, len(rules)) == before:
        return
    replaced = [f for f, rule in _OWN_RULES.items() if rules.get(f) is not rule]
    rules.update(_OWN_RULES)
    short_ways.update(_SHORT_WAYS)  # which a rule of one's own, even if it is taken back, ends
    assert not replaced, f"the test left other rules for {replaced}"


@pytest.hookimpl(tryfirst=True)
def pytest_make_collect_report(collector):
    """No doctests are in tests: a file that cannot be imported would be skipped for them."""
    if isinstance(collector, DoctestModule):
        return pytest.CollectReport(collector.nodeid, "passed", None, [])
    return None


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items):
    """Of the cases of a test, the first and each so many-th after it are quick.

    The longest tests are in tests/whole: no process has only one of them left at the end.
    """
    items.sort(key=lambda item: not item.nodeid.startswith("tests/whole/"))
    seen = Counter()
    for item in items:
        name = item.nodeid.partition("[")[0]
        if seen[name] % QUICK:
            item.add_marker(pytest.mark.slow)
        seen[name] += 1


def pytest_collection_finish():
    """What has been imported and collected stays: the collector of garbage need not look there.

    Hypothesis asks the collector, at its first test, who has its own generator of random numbers.
    """
    given(none())(lambda _: None)()
    gc.collect()
    gc.freeze()
