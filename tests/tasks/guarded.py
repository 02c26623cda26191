"""What each test of concurrent programs has: a time limit, and nothing logged as an error.

A deadlock fails, and does not hang. An error in a callback of a future's is only logged.
"""

import faulthandler
import logging
import sys
import threading

import pytest

LIMIT = 300  # seconds, far above what any test takes on a machine that is busy
LOGGERS = ("concurrent.futures", "asyncio")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    raised = []

    def run():
        try:
            pyfuncitem.obj(**arguments)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="test", daemon=True)
    thread.start()
    thread.join(LIMIT)
    if thread.is_alive():
        faulthandler.dump_traceback(sys.__stderr__)
        pytest.fail(f"still running after {LIMIT} s")
    if raised:
        raise raised[0]
    return True


class _Kept(logging.Handler):
    def __init__(self):
        super().__init__(logging.ERROR)
        self.said = []

    def emit(self, record):
        self.said.append(self.format(record))


@pytest.fixture(autouse=True)
def nothing_logged():
    """A test fails where the futures or the loops that it uses log an error."""
    kept = _Kept()
    for name in LOGGERS:
        logging.getLogger(name).addHandler(kept)
    yield
    for name in LOGGERS:
        logging.getLogger(name).removeHandler(kept)
    assert not kept.said, "\n".join(kept.said)
