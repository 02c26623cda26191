"""Packages for a test, and a check that nothing stays adopted after it."""

import builtins
import sys
import textwrap

import pytest

import zyg
import zyg.scipy  # whose finder stays

IMPORT = builtins.__import__


@pytest.fixture(autouse=True)
def _nothing_stays_adopted():
    finders = list(sys.meta_path)
    yield
    zyg.adopted().release()
    assert builtins.__import__ is IMPORT
    assert sys.meta_path == finders


@pytest.fixture
def write(tmp_path, monkeypatch):
    """write({"pkg/a.py": source}): files on sys.path, whose modules go after the test."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = dict(sys.modules)

    def to_files(files):
        for name, source in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(source))
        return tmp_path

    yield to_files
    zyg.adopted().release()
    for name in sys.modules.keys() - before.keys():
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]
