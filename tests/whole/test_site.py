"""The site, without a build: blocks of code are tests, pages are found, links and names resolve."""

import inspect
import json
import os
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest

import zyg
import zyg.errors

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MADE = {"_build", "gallery"}  # by a build
PAGES = {
    path.relative_to(DOCS).as_posix(): path
    for path in sorted(DOCS.rglob("*.md"))
    if not MADE & {*path.relative_to(DOCS).parts}
}
# Blocks of Python that are no doctests, and what runs them, or why nothing can.
ELSEWHERE = {
    "refusals.md": "tests/tools/test_refusals.py",
    "distributed.md": "mpirun and Ray, in tests/mpi and tests/actors",
    "interop.md": "large data, libraries and classes that the reader has",
    "coming-from/": "tests/interop/test_pages.py",
    "howto/pytorch-and-jax.md": "tests/interop/test_pages.py",
    "howto/units-and-labels.md": "tests/interop/test_pages.py",
    "howto/tasks.md": "a script that starts processes",
}
FENCE = re.compile(r"^```(\S*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page, kind):
    """What is in the fenced blocks of a kind: of a language, or of a directive in braces."""
    found = FENCE.findall(PAGES[page].read_text())
    return [(arguments.strip(), text) for name, arguments, text in found if name == kind]


def prose(page):
    """A page without its blocks and its code."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", PAGES[page].read_text()))


@cache
def anchors(page):
    """The anchors of the headings of a page, as forges make them."""
    heads = re.findall(r"^#{1,3} (.+)$", FENCE.sub("", PAGES[page].read_text()), re.MULTILINE)
    words = [re.sub(r"[^\w\- ]", "", head.lower()) for head in heads]
    return {text.replace(" ", "-") for text in words}


@pytest.mark.parametrize("page", PAGES)
def test_a_block_of_python_is_a_doctest(page):
    plain = [text for _, text in blocks(page, "python") if not text.startswith(">>>")]
    assert not plain or page.startswith(tuple(ELSEWHERE)), plain[0]


def test_pages_whose_blocks_are_no_doctests_exist():
    for start in ELSEWHERE:
        assert any(page.startswith(start) for page in PAGES), start


def entries(page):
    """The pages that the toctrees of a page name."""
    folder = (DOCS / page).parent
    for _, text in blocks(page, "{toctree}"):
        names = [line for line in text.split("\n") if line and not line.startswith(":")]
        if ":glob:" in text:
            found = {path for name in names for path in folder.glob(f"{name}.md")}
            yield from (path.relative_to(DOCS).as_posix() for path in found - {DOCS / page})
        else:
            paths = [(folder / name).resolve() for name in names]
            yield from (f"{path.relative_to(DOCS.resolve()).as_posix()}.md" for path in paths)


def test_every_page_is_in_a_toctree_and_what_a_toctree_names_is_a_page():
    named = [name for page in PAGES for name in entries(page)]
    assert {*named} == PAGES.keys() - {"index.md"} | {"gallery/index.md"}
    assert len(named) == len({*named})


@pytest.mark.parametrize("page", PAGES)
def test_links_resolve(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        path, _, anchor = link.partition("#")
        if re.match(r"https?:", link) or path.endswith("gallery/index"):
            continue
        target = ((DOCS / page).parent / path).resolve() if path else DOCS / page
        assert target.is_file(), link
        if anchor:
            name = target.relative_to(DOCS.resolve()).as_posix() if path else page
            assert anchor in anchors(name), link


def documented():
    """The full names that the reference describes by their docstrings."""
    for page in PAGES:
        for _, text in blocks(page, "{eval-rst}"):
            module = ""
            for directive, name in re.findall(r"^\.\. ([\w-]+):: (\S+)$", text, re.MULTILINE):
                if directive == "currentmodule":
                    module = name
                else:
                    yield f"{module}.{name}"
        for module, text in blocks(page, "{bridge}"):
            yield from (f"{module}.{name}" for name in text.split())


def public():
    """The names of functions and classes that users import from zyg and its own modules."""
    own = {name: getattr(zyg, name) for name in zyg.__all__}
    yield from (f"zyg.{name}" for name, x in own.items() if not isinstance(x, ModuleType))
    for module in (zyg.optimize, zyg.errors, zyg.kernels):
        for name, x in vars(module).items():
            ours = callable(x) and x.__module__.startswith(module.__name__)
            is_error = inspect.isclass(x) and issubclass(x, Exception)
            if ours and not name.startswith("_") and (module is not zyg.errors or is_error):
                yield f"{module.__name__}.{name}"
    for module in (zyg.threads, zyg.mpi):
        yield from (f"{module.__name__}.{name}" for name in module.__all__)
    yield from ("zyg.trio.open_nursery", "zyg.joblib.register", "zyg.numba.wrap")
    names = "wrap_client", "wait", "as_completed", "LostTasksError"
    yield from (f"zyg.distributed.{name}" for name in names)
    names = "remote", "put", "get", "wait", "ActorError", "ActorLostError", "ActorSharedError"
    yield from (f"zyg.ray.{name}" for name in names)
    yield from (
        f"zyg.{library}.{name}" for library in ("torch", "jax") for name in ("wrap", "function")
    )


def test_the_reference_has_every_public_name_once():
    names = [*documented()]
    assert {*names} == {*public()}
    assert len(names) == len({*names})


def test_the_site_names_every_module():
    pages = [path.read_text() for path in PAGES.values()]
    for module in zyg._MODULES:
        assert any(f"zyg.{module}" in text or f"zyg import {module}" in text for text in pages)


def test_the_page_of_benchmarks_is_that_of_its_run():
    with patch.dict(os.environ):  # which the package of the benchmarks changes
        from benchmarks import page

    for path, text in page.texts(json.loads(page.RUN.read_text())).items():
        assert path.read_text() == text, "python -m benchmarks page"


def test_the_picture_of_scaling_is_that_of_its_run():
    with patch.dict(os.environ):
        from benchmarks import scaling

    drawn = scaling.picture(json.loads(scaling.RUN.read_text()))
    assert scaling.PICTURE.read_text() == drawn, "python -m benchmarks.scaling draw"


def test_the_version_is_said_once():
    assert "version" not in PROJECT["project"]
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "zyg.__version__"}
    said = f'__version__ = "{zyg.__version__}"'
    assert (ROOT / "zyg" / "__init__.py").read_text().count(said) == 1
    for name in ("CITATION.cff", "conda/meta.yaml", "docs/conf.py"):
        assert zyg.__version__ not in (ROOT / name).read_text(), name


def test_the_recipe_of_conda_has_the_dependencies_of_the_project():
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    run = recipe.partition("  run:\n")[2].partition("  run_constrained:")[0]
    asked = {line.strip("- ").replace(" ", "") for line in run.splitlines() if line.strip()}
    python = f"python{PROJECT['project']['requires-python']}"
    assert asked == {*PROJECT["project"]["dependencies"], python}


def test_the_libraries_that_are_demanded_are_those_of_the_extras():
    demand = re.compile(r'demand_version\("(\w+)", _?(\w+)\.__version__, "([\d.]+)"\)')
    demanded = [
        d for p in sorted((ROOT / "zyg").rglob("*.py")) for d in demand.findall(p.read_text())
    ]
    assert [title for title, _, _ in demanded] == ["JAX", "PyTorch", "SciPy"]
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    for _, library, least in demanded:
        (bound,) = PROJECT["project"]["optional-dependencies"][library]
        assert bound == f"{library}>={least}"
        assert library != "scipy" or f"- scipy >={least}\n" in recipe


def test_what_the_recipe_of_conda_tries_of_the_package_passes():
    yaml = pytest.importorskip("yaml", reason="needs PyYAML, which Dask brings")
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    without = re.sub(r"{%.*?%}", "", recipe, flags=re.DOTALL)
    tried = yaml.safe_load(re.sub(r"{{.*?}}", "x", without))["test"]
    lines = [f"import {module}" for module in tried["imports"]]
    for command in tried["commands"]:
        python, option, line = shlex.split(command)
        assert (python, option) == ("python", "-c")
        lines.append(line)
    exec("\n".join(lines), {})


def test_what_an_extra_asks_for_is_what_the_settings_of_the_site_demand():
    settings = (DOCS / "conf.py").read_text()
    needed = re.search(r"^NEEDED = \{(.+?)^\}", settings, re.MULTILINE | re.DOTALL)[1]
    extras = json.dumps(PROJECT["project"]["optional-dependencies"]) + json.dumps(PROJECT)
    for name in re.findall(r': "([\w-]+)"', needed):
        assert f'"{name}>=' in extras, name
