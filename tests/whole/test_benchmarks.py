"""The benchmarks run at tiny sizes and write what they measured; no test asserts a time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def run(*arguments):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)


def test_all_benchmarks_run_without_peers_and_write_json(tmp_path):
    file = tmp_path / "results.json"
    done = run("-m", "benchmarks", "--quick", "--without-peers", "--json", file)

    assert done.returncode == 0, done.stdout + done.stderr
    written = json.loads(file.read_text())
    rows = written["rows"]
    assert {"zyg", "numpy", "python", "processor", "cores"} <= written["made by"].keys()
    groups = {row["group"] for row in rows}
    assert groups - {"ranks"} == {  # which need MPI
        "operations", "entries", "scalars", "small_arrays", "programs", "kernels",
        "kernel_layouts", "first_gradient", "element_loop", "network", "mutation", "derivatives",
        "examples", "compiled", "compiled_arrays", "compiled_in_threads",
        "tasks", "executors", "clusters", "imports", "adopt", "optimizers",
    }  # fmt: skip
    assert {row["program"] for row in rows} >= {
        "zyg", "numpy", "floor", "unprotected", "trio", "the pool", "sequential", "by hand, best",
    }  # fmt: skip
    assert not {row["program"] for row in rows} & {"torch", "autograd", "jax"}
    assert all(0 < row["seconds"] <= row["median"] for row in rows)
    (target,) = next(r for r in rows if (r["case"], r["program"]) == ("X = X.T", "floor"))[
        "targets"
    ]
    assert target["text"] == "zyg at most 2.2x"
    assert target["figure"] > 0
    assert target["reached"] is None, "sizes are tiny"
    assert "torch skipped" in done.stdout


def test_an_unknown_benchmark_is_named():
    done = run("-m", "benchmarks", "smal")

    assert done.returncode == 2
    assert "no benchmark 'smal'; there are small: operations, entries" in done.stderr


def test_programs_whose_gradients_differ_are_not_timed():
    done = run(
        "-c",
        "from benchmarks.harness import Case, measure\n"
        "case = Case('two programs', {'zyg': lambda: 1.0, 'other': lambda: 1.1})\n"
        "measure('group', case, seconds=0.1, sample=1e-4)",
    )

    assert done.returncode == 1
    assert "two programs: the gradients of other and zyg differ" in done.stderr


def test_targets_are_of_the_least_times():
    done = run(
        "-c",
        "from benchmarks import harness\n"
        "def result(title, **times): return harness.Result('g', harness.Case(title, {}), times)\n"
        "first = result('f, 10', zyg=[2e-6, 3e-6])\n"
        "r = result('f, 20', zyg=[9e-6, 4e-6, 5e-6], torch=[6e-6, 8e-6, 9e-6], trio=[2.5e-6])\n"
        "for target in (\n"
        "    harness.times_faster('torch', 1.6), harness.times_faster('torch', 1.0),\n"
        "    harness.times_slower('torch', 0.7), harness.at_most(3e-6), harness.flat(1.9, 'f, '),\n"
        "    harness.overhead(2e-6, 'trio'),\n"
        "):\n"
        "    x = target.figure(r, [first, r])\n"
        "    print(target.program, target.text, target.unit(x), target.reached(x), sep='; ')\n"
        "print(r.time('zyg'), r.median('zyg'), target.reached(None))\n",
    )

    assert done.stdout.splitlines() == [
        "torch; zyg 1.6x faster; 1.50x; False",
        "torch; zyg ahead; 1.50x; True",
        "torch; zyg at most 0.7x; 0.67x; True",
        "zyg; at most 3 µs; 4 µs; False",
        "zyg; at most 1.9x the first size's; 2.00x; False",
        "zyg; at most 2 µs beyond trio; 1.5 µs; True",
        "4e-06 5e-06 None",
    ], done.stderr


# Comparing runs: "after" is by a machine that takes 1.2 times as long, and 1.8 times for one case.

CASES = {
    "same": (1.0, 1.2, 1.01), "slower": (1.0, 1.8, 1.01), "faster": (1.0, 0.6, 1.01),
    "scattered": (1.0, 1.8, 1.6),
}  # fmt: skip


def write(path, times, **made_by):
    rows = [
        {"group": case.partition(":")[0], "case": case, "program": program, "seconds": seconds,
         "median": seconds * scatter}
        for (case, program), (seconds, scatter) in times.items()
    ]  # fmt: skip
    path.write_text(json.dumps({"made by": {"zyg": "1", "load": 1.0} | made_by, "rows": rows}))
    return path


def runs(folder):
    before = {(case, "zyg"): (a, scatter) for case, (a, _, scatter) in CASES.items()}
    after = {(case, "zyg"): (b, scatter) for case, (_, b, scatter) in CASES.items()}
    for k in range(100):  # one of them is far off
        before[f"case {k}", "torch.compile"] = 1.0, 1.5
        after[f"case {k}", "torch.compile"] = 1.2 * (3.0 if k == 9 else 1 + 0.01 * (k % 3)), 1.5
    for program in ("zyg", "numpy", "jax, one program"):
        before["slow", program], after["slow", program] = (1.0, 1.01), (1.8, 1.01)
    before["gone", "zyg"] = 1.0, 1.0
    after["new", "one pass"] = 1.0, 1.0
    return (
        write(folder / "before.json", before),
        write(folder / "after.json", after, zyg="2", load=3.0, torch="x"),
    )


def test_compare_prints_what_moved_by_more_than_the_noise(tmp_path):
    done = run("-m", "benchmarks", "compare", *runs(tmp_path))

    assert done.stdout.splitlines() == [
        "not made by the same: zyg 1 and 2",
        "the machine: 1.21x, divided out; the noise: 1.05x, 1.05x beside yardsticks",
        "slower: 1",
        "  1.49x (1 s to 1.8 s; noise 1.05x)  slower, zyg",
        "faster: 1",
        "  0.50x (1 s to 600 ms; noise 1.05x)  faster, zyg",
        "only before: gone, zyg",
        "only after: new, one pass",
    ], done.stderr
    assert done.returncode == 1


def test_compare_is_content_where_nothing_got_slower(tmp_path):
    before, after = runs(tmp_path)

    assert run("-m", "benchmarks", "compare", before, before).returncode == 0
    done = run("-m", "benchmarks", "compare", after, before)
    assert "slower: 1" in done.stdout, "what was faster"


def test_without_yardsticks_the_noise_is_that_of_the_turns(tmp_path):
    before = write(tmp_path / "a.json", {("f", "zyg"): (1.0, 1.2), ("g", "zyg"): (1.0, 1.2)})
    after = write(tmp_path / "b.json", {("f", "zyg"): (1.3, 1.0), ("g", "zyg"): (1.1, 1.0)})
    done = run("-m", "benchmarks", "compare", before, after)

    assert done.stdout.splitlines() == [
        "the machine: 1.00x, divided out; the noise: 1.05x, 1.05x beside yardsticks",
        "slower: 1",
        "  1.30x (1 s to 1.3 s; noise 1.20x)  f, zyg",
        "faster: nothing",
    ], done.stderr


def test_the_noise_is_that_of_the_group(tmp_path):
    before = {(f"{g}: {k}", "numpy"): (1.0, 1.0) for g in ("quiet", "loud") for k in range(10)}
    after = {
        (case, "numpy"): (1.5 if case.startswith("loud") and k % 2 else 1.0, 1.0)
        for k, (case, _) in enumerate(before)
    }
    for group in ("quiet", "loud"):
        before[f"{group}: f", "zyg"], after[f"{group}: f", "zyg"] = (1.0, 1.0), (1.3, 1.0)
    files = write(tmp_path / "a.json", before), write(tmp_path / "b.json", after)
    done = run("-m", "benchmarks", "compare", *files)

    assert "slower: 1\n  1.30x (1 s to 1.3 s; noise 1.05x)  quiet: f, zyg\n" in done.stdout
