"""docs/refusals.md: each example raises what its heading says; it has all tags of the code."""

import ast
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import zyg
from zyg.errors import ZygError

ROOT = Path(__file__).parents[2]
# Other hardware, processes or libraries, or a bug: the tests of those parts raise them.
WITHOUT_EXAMPLE = {
    "actor", "actor-lost", "actor-shared", "bug-in-zyg", "device", "device-array", "driver",
    "guest", "host-copy", "partner-dtype", "partner-memory", "partner-transform", "peer", "ranks",
    "shipping", "tasks-lost",
}  # fmt: skip


def sections():
    """Tag, name of the error and the example of each section of the page."""
    page = (ROOT / "docs" / "refusals.md").read_text()
    for section in page.split("\n## ")[1:]:
        tag, error = re.match(r"`\[(.+)\]` (\w+)\n", section).groups()
        example = re.search(r"```python\n(.+?)```", section, re.DOTALL)
        yield tag, error, example.group(1) if example else ""


SECTIONS = list(sections())


def tags_in_code():
    for package in ("zyg", "zyg_cuda"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                named = isinstance(node, ast.keyword) and node.arg == "tag"
                default = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "tag"
                if (named or default) and isinstance(node.value, ast.Constant):
                    yield node.value.value


@pytest.mark.slow
def test_the_page_has_the_tags_of_the_code():
    tags = [tag for tag, _, _ in SECTIONS]
    assert sorted(tags) == sorted(set(tags_in_code()) - {""})
    assert {tag for tag, _, example in SECTIONS if not example} == WITHOUT_EXAMPLE


@pytest.mark.parametrize(("tag", "error", "example"), SECTIONS, ids=[s[0] for s in SECTIONS])
def test_the_example_is_refused_by_that_tag(tag, error, example, tmp_path):
    if not example:
        return
    path = tmp_path / "example.py"
    path.write_text(example)
    with pytest.raises(ZygError) as caught:
        runpy.run_path(str(path), {"np": np, "zyg": zyg, "gradient": zyg.gradient})
    assert (caught.value.tag, type(caught.value).__name__) == (tag, error)
    assert str(caught.value).splitlines()[0].endswith(f" [{tag}]")
    assert f"\n  where: {path}:" in str(caught.value)
