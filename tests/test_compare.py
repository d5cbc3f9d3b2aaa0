"""`andrea compare`: folders, revisions and experiments of a small git repository."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from andrea import cli
from andrea.commands import compare
from andrea.common.files import write_json
from andrea.geometry import compare as report
from andrea.geometry.measure import files as geometry_files
from andrea.geometry.page import page
from tests.geometry.geometries import example
from tests.test_pipeline import Repository

GEOMETRY, EVALUATE = compare.NUMBERS["geometry"], compare.NUMBERS["evaluate"]


def git(*arguments: str) -> str:
    whose = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")
    environment = {**os.environ, **{f"GIT_{name}": "a@b" for name in whose}}
    done = subprocess.run(
        ["git", *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def write(folder: Path, rank: float, bits: float) -> None:
    for path in (GEOMETRY, EVALUATE):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / compare.GEOMETRY).write_text(f"geometry with rank {rank}", encoding="utf-8")
    write_json(folder / GEOMETRY, {"vectors": {"rank": rank, "same": 1}, "note": "text"})
    write_json(folder / EVALUATE, {"polish": {"macro_mean": bits}, "warmup": {"macro_mean": 9}})


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commits `first` and HEAD, an experiment `wide`, and files that differ from all of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(compare, "_page", lambda *given: f"<p>{given}</p>")
    Path("params.yaml").write_text("{}")
    git("init", "-q")
    for rank, tag in ((1.0, "first"), (2.0, "second"), (3.0, "third")):
        write(Path(), rank, bits=rank / 2)
        git("add", "-A")
        git("commit", "-qm", tag)
        git("tag", tag)
    commit = git("rev-parse", "third")
    git("update-ref", f"refs/exps/{commit[:2]}/{commit[2:]}/wide", commit)
    git("reset", "-q", "--hard", "second")
    git("tag", "-d", "third")
    write(Path(), 4.0, 2.0)
    write(Path("elsewhere"), 5.0, 2.5)
    return tmp_path


def numbers(out: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split()[1:] for line in out.splitlines() if line[:1].isalpha()}


@pytest.mark.parametrize(
    ("one", "other", "ranks"),
    [
        ("first", "HEAD", ["1", "2", "+1"]),
        ("second", "wide", ["2", "3", "+1"]),
        ("wide", ".", ["3", "4", "+1"]),
        (".", "elsewhere", ["4", "5", "+1"]),
        ("elsewhere", "first", ["5", "1", "-4"]),
    ],
)
def test_two_runs(
    repository: Path, capsys: pytest.CaptureFixture[str], one: str, other: str, ranks: list[str]
) -> None:
    assert cli.main(["compare", one, other]) == 0
    told = capsys.readouterr()
    table = numbers(told.out)
    assert table["geometry.vectors.rank"] == ranks
    assert "geometry.vectors.same" not in table
    assert "evaluate.macro_mean" in table
    assert told.out.splitlines()[-1] == str(compare.PAGE)
    texts = [f"geometry with rank {float(rank)}" for rank in ranks[:2]]
    bits = [{"macro_mean": float(rank) / 2} for rank in ranks[:2]]
    assert compare.PAGE.read_text() == f"<p>{(texts, (one, other), bits)}</p>"


def test_from_a_folder_inside_and_to_another_file(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("inside").mkdir()
    monkeypatch.chdir("inside")
    assert cli.main(["compare", "first", "../elsewhere", "--out", "page.html"]) == 0
    assert numbers(capsys.readouterr().out)["geometry.vectors.rank"] == ["1", "5", "+4"]
    assert (repository / "inside/page.html").is_file()


def test_what_is_not_there_is_one_line(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").mkdir()
    for one, told in (
        (
            "nothing",
            "nothing: neither a folder nor an experiment nor a git revision; experiments: wide",
        ),
        (
            "empty",
            f"empty: has no {compare.GEOMETRY}; `dvc repro geometry` makes it, or the experiment"
            " run again",
        ),
    ):
        assert cli.main(["compare", one, "HEAD"]) == 2
        assert capsys.readouterr().err == f"error: {told}\n"
    other = git("rev-parse", "first")
    git("update-ref", f"refs/exps/{other[:2]}/{other[2:]}/wide", other)
    assert cli.main(["compare", "wide", "HEAD"]) == 2
    assert capsys.readouterr().err.startswith("error: wide: experiments of 2 commits have that")


def test_equal_runs_have_no_difference(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", "first", "first"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "no difference"


def test_of_many_experiments_some_are_named(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = git("rev-parse", "first")
    for number in range(compare.LISTED):
        git("update-ref", f"refs/exps/{commit[:2]}/{commit[2:]}/many-{number:02}", commit)
    assert cli.main(["compare", "nothing", "HEAD"]) == 2
    told = capsys.readouterr().err
    assert told.endswith("many-18, many-19, ...\n")
    assert "wide" not in told


@pytest.mark.parametrize(
    ("out", "told"),
    [
        ("none/page.html", "/none: no such folder; must be a file in an existing folder"),
        ("elsewhere", "/elsewhere: is a folder; must be a file in an existing folder"),
    ],
)
def test_the_page_needs_a_place(
    repository: Path, capsys: pytest.CaptureFixture[str], out: str, told: str
) -> None:
    assert cli.main(["compare", "first", "HEAD", "--out", out]) == 2
    error = capsys.readouterr().err
    assert error == f"error: --out: {repository}{told}\n"
    assert not compare.PAGE.exists()


def test_a_file_of_other_code_is_refused_by_name(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(repository)
    assert cli.main(["compare", "first", "HEAD"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: first:{compare.GEOMETRY}: not a geometry of this code")
    assert told.count("\n") == 1


def test_rows_that_differ_stay() -> None:
    one: dict[str, Any] = {"a": {"x": 1, "y": 2.0}, "only": 3, "text": "a", "yes": True}
    other: dict[str, Any] = {"a": {"x": 1, "y": 2.5}, "more": 4, "text": "b", "bad": float("nan")}
    found = report.rows(one, other)
    assert report.flatten(other) == {"a.x": 1, "a.y": 2.5, "more": 4}
    assert report.lines([], ("one", "b")) == ["no difference"]
    assert found == [("a.y", 2.0, 2.5), ("only", 3, None), ("more", None, 4)]
    assert [row.difference for row in found] == [0.5, None, None]
    assert report.lines(found, ("one", "b")) == [
        "      one    b  difference",
        "a.y     2  2.5        +0.5",
        "only    3    -           -",
        "more    -    4           -",
    ]


STAGE = """
stages:
  geometry:
    cmd: python make.py
    params: [seed]
    deps: [make.py]
    outs:
    - data/reports/geometry: {cache: false}
    - data/reports/evaluate: {cache: false}
"""
MAKE = """
import json, pathlib, shutil
seed = int(pathlib.Path("params.yaml").read_text().split(":")[1])
for name, numbers in (("geometry", {"seed": seed}), ("evaluate", {"polish": {"worst": seed / 4}})):
    folder = pathlib.Path("data/reports") / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.json").write_text(json.dumps(numbers))
shutil.copy(f"{seed}.json", "data/reports/geometry/geometry.json")
"""


@pytest.mark.slow
def test_real_experiments_by_the_names_that_dvc_gave_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that is named, and one that dvc names itself, against the commit they began from."""
    for file, text in (("dvc.yaml", STAGE), ("make.py", MAKE), ("params.yaml", "seed: 1\n")):
        (tmp_path / file).write_text(text)
    for seed in (1, 2, 3):
        text = geometry_files.to_text(example(seed))
        (tmp_path / f"{seed}.json").write_text(text, encoding="utf-8")
    run = Repository(tmp_path)
    run("git", "init", "-q")
    run("dvc", "init", "-q")
    run("dvc", "repro", "-q")
    run("git", "add", "-A")
    run("git", "commit", "-qm", "first run")
    run("dvc", "exp", "run", "-q", "-n", "named", "-S", "seed=2")
    printed = run("dvc", "exp", "run", "-S", "seed=3")
    found = re.search(r"Ran experiment\(s\): (\S+)", printed)
    assert found
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(page, "compare_html", lambda *given: f"<p>{given[2:]}</p>")
    for one, other, seeds in (
        ("HEAD", "named", ["1", "2", "+1"]),
        ("named", found[1], ["2", "3", "+1"]),
        (found[1], ".", None),
    ):
        assert cli.main(["compare", one, other]) == 0
        out = capsys.readouterr().out
        assert numbers(out).get("geometry.seed") == seeds
        assert ("no difference" in out) == (seeds is None)
    given = ((found[1], "."), ({"worst": 0.75}, {"worst": 0.75}))
    assert compare.PAGE.read_text(encoding="utf-8") == f"<p>{given}</p>"
    assert cli.main(["compare", "name", "HEAD"]) == 2
    told = capsys.readouterr().err
    assert told.endswith(f"experiments: {', '.join(sorted(['named', found[1]]))}\n")
    run.stop()
