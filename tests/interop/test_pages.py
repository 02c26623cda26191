"""Pages of docs with code of other libraries: it runs.

In docs/coming-from, a block of Python without prompts is the other library's. Blocks with prompts
are zyg's, doctests that the main suite runs, too. Where a section has both, the values of their
last lines are compared. In docs/howto, a block of text is what the block before it prints.
"""

import ast
import doctest
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"
FROM = DOCS / "coming-from"
BOTH = {"autograd": ["autograd"], "jax": ["jax"], "pytorch": ["torch"], "mygrad": ["mygrad"],
        "casadi": ["casadi"]}  # fmt: skip
WITH = {"pytorch-and-jax": ["torch", "jax"], "units-and-labels": ["pint", "xarray", "pandas"]}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(code, names, file):
    """The value of the last expression of a program, which is written to a file for zyg to read."""
    file.write_text(code)
    value = None
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), file, "eval"), names)
        else:
            exec(compile(ast.Module([statement], []), file, "exec"), names)
    return value


def without_prompts(block):
    return "".join(example.source for example in doctest.DocTestParser().get_examples(block))


def numbers(x):
    """All numbers of a result, in one vector."""
    if isinstance(x, Mapping):
        return numbers([x[key] for key in sorted(x)])
    if isinstance(x, (list, tuple)):
        return np.concatenate([numbers(part) for part in x])
    if hasattr(x, "detach"):
        x = x.detach()
    return np.ravel(np.asarray(x, float))


def sections(page):
    """The programs of each section: the title, theirs, ours."""
    for section in page.split("\n## ")[1:]:
        blocks = [code for language, code in BLOCK.findall(section) if language == "python"]
        theirs = [code for code in blocks if ">>>" not in code]
        ours = [without_prompts(code) for code in blocks if ">>>" in code]
        yield section.partition("\n")[0], "".join(theirs), "".join(ours)


@pytest.mark.parametrize("name", BOTH)
def test_both_programs_of_a_section_give_the_same_numbers(name, tmp_path):
    for library in BOTH[name]:
        pytest.importorskip(library, reason=f"{library} is not installed")
    their_names, our_names = {"__name__": "theirs"}, {"__name__": "ours"}
    programs = [*sections((FROM / f"{name}.md").read_text())]
    for k, (title, theirs, ours) in enumerate(programs):
        a = run(theirs, their_names, tmp_path / f"theirs_{k}.py")
        b = run(ours, our_names, tmp_path / f"ours_{k}.py")
        if theirs and ours:
            np.testing.assert_allclose(numbers(b), numbers(a), 1e-3, 1e-3, err_msg=title)

    assert sum(bool(theirs and ours) for _, theirs, ours in programs) >= 5


def test_programs_of_autograd_run_with_one_line_changed(tmp_path):
    their_names, our_names = {"__name__": "theirs"}, {"__name__": "ours"}
    for k, (title, theirs, ours) in enumerate(sections((FROM / "autograd.md").read_text())):
        changed = re.sub(r"^(import|from) autograd", r"\1 zyg.autograd", theirs, flags=re.MULTILINE)
        a = run(changed, their_names, tmp_path / f"theirs_{k}.py")
        b = run(ours, our_names, tmp_path / f"ours_{k}.py")
        if theirs:
            np.testing.assert_allclose(numbers(b), numbers(a), 1e-3, 1e-3, err_msg=title)


@pytest.mark.parametrize("name", WITH)
def test_a_page_prints_what_it_says(name, tmp_path, capsys):
    for library in WITH[name]:
        pytest.importorskip(library, reason=f"{library} is not installed")
    names = {"__name__": "page"}
    for k, (language, block) in enumerate(
        BLOCK.findall((DOCS / "howto" / f"{name}.md").read_text())
    ):
        if language == "python":
            run(block, names, tmp_path / f"block_{k}.py")
        else:
            assert capsys.readouterr().out == block
