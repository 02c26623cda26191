"""What is installed: the files of the wheel and the sdist, and that the wheel works by itself."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import zyg

pytestmark = pytest.mark.slow
pytest.importorskip("setuptools", minversion="77")

ROOT = Path(zyg.__file__).parents[1]
PACKAGES = ("zyg", "zyg_cuda")

BUILD = """
import sys
from setuptools import build_meta
getattr(build_meta, "build_" + sys.argv[1])(sys.argv[2])
"""

USE = """
import math
import sys

import numpy as np

import zyg
import zyg_cuda
from zyg import trio

for package in (zyg, zyg_cuda):
    assert package.__file__.startswith(sys.prefix), package.__file__


def smooth(x):
    return math.tanh(x) if x > 0 else x


async def doubled(x):
    send, receive = trio.open_memory_channel(1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(send.send, x)
        return 2 * await receive.receive()


assert zyg.gradient(lambda x: np.sum(x * x), np.arange(3.0))[0].tolist() == [0, 2, 4]
assert zyg.broadcast(smooth, np.array([-1.0, 0.0])).tolist() == [-1, 0]
assert zyg.gradient(doubled, 3.0) == (2.0,)
"""


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr


def build(kind, tree, folder):
    """The wheel or the sdist of a source tree, by the hook that installers call."""
    run(sys.executable, "-c", BUILD, kind, folder, cwd=tree)
    (made,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


def files_of(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The repository without what git ignores: an old build would get into the wheel."""
    ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text().split()]
    folder = tmp_path_factory.mktemp("package") / "tree"
    return shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".git", *ignored))


@pytest.fixture(scope="module")
def wheel(tree, tmp_path_factory):
    return build("wheel", tree, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_has_every_module_and_nothing_else(wheel):
    modules = {path for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    expected = {path.relative_to(ROOT).as_posix() for path in modules}

    found = {name for name in files_of(wheel) if ".dist-info/" not in name}

    assert found == expected | {f"{package}/py.typed" for package in PACKAGES}


def test_the_sdist_has_the_tests_and_makes_the_same_wheel(tree, wheel, tmp_path):
    sdist = build("sdist", tree, tmp_path)
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = tmp_path / sdist.name.removesuffix(".tar.gz")

    for folder in (*PACKAGES, "benchmarks", "docs", "examples", "tests"):
        paths = [path.relative_to(tree) for path in (tree / folder).rglob("*") if path.is_file()]
        assert paths
        assert not [path for path in paths if not (unpacked / path).exists()]
    assert files_of(build("wheel", unpacked, tmp_path)) == files_of(wheel)


def test_the_wheel_works_where_nothing_but_its_dependencies_is(wheel, tmp_path):
    environment = tmp_path / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    (python,) = environment.glob("bin/python" if os.name == "posix" else "Scripts/python.exe")
    pip = (sys.executable, "-m", "pip", "--quiet", "--python", python)
    # What is installed already may be the checkout, which PYTHONPATH names.
    run(*pip, "install", "--no-deps", "--no-index", "--ignore-installed", wheel)
    # The dependencies come after what was installed; an editable install among them is not seen,
    # for it is a .pth file, and these are read in an environment's own folder only.
    (site,) = {path.parent for path in environment.rglob("zyg") if path.is_dir()}
    specs = map(importlib.util.find_spec, ("llvmlite", "numba", "numpy", "trio"))
    folders = {str(Path(spec.origin).parents[1]) for spec in specs}
    (site / "dependencies.pth").write_text("\n".join(sorted(folders)))
    script = tmp_path / "script.py"
    script.write_text(USE)

    run(python, "-I", "-W", "error", script, cwd=tmp_path)
