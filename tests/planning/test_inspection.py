"""What an inspection says of text in which every copy is known."""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pygit2
import pytest

from andrea.commands import inspect as command
from andrea.common.errors import UserError
from andrea.config import reading, tree
from andrea.config.override import override
from andrea.corpus.documents import digest
from andrea.planning import inspection_table
from andrea.planning.estimate import Length, plan
from andrea.planning.inspected import Copies, Inspected, Inspection, Read
from andrea.planning.inspection import inspect
from andrea.tokens.tokenizer import Tokenizer
from stages import documents, shard, tokenizer

Params = dict[str, Any]
Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]
NAMES = ["plain", "packed", "split"]


def sentence(seed: int) -> str:
    """Forty words that no other seed gives."""
    rng = random.Random(seed)
    return " ".join(f"{rng.choice('abcdefgh')}{rng.randint(0, 9999)}" for _ in range(40))


def save(path: str, texts: list[str]) -> None:
    Path(path).write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


@pytest.fixture
def repository(
    build_repository: Callable[[Path], Params], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Params:
    """The small repository, as current folder, with known copies.

    Held-out documents of plain are 100 and 101, of packed 200; split holds out its own.
    """
    monkeypatch.chdir(tmp_path)
    params = build_repository(tmp_path)
    save("data/raw/plain/eval.jsonl", [sentence(100), sentence(101), sentence(101)])
    save("data/raw/packed/eval.jsonl", [sentence(200)])
    save("data/raw/plain/train.jsonl", [
        *map(sentence, range(10)),
        sentence(3),                    # within
        sentence(100),                  # equal
        sentence(101) + " more",        # near
        sentence(200) + " more words",  # near to packed's
        "short",
    ])  # fmt: skip
    save("data/raw/packed/train.jsonl", [*map(sentence, range(8, 30)), sentence(100)])
    save("data/raw/split/train.jsonl", list(map(sentence, range(1000, 1060))))
    return params


def look(params: Params, *names: str, **more: Any) -> Inspection:
    return inspect(tree.read(params), names or NAMES, None, **more)


def test_copies_are_those_that_were_planted(repository: Params) -> None:
    found = look(repository).sources
    plain, packed, split = (found[name].copies for name in NAMES)
    assert vars(plain) == {
        "within": 1, "across": 0, "of_val": 1, "near_val": 1, "near_other_val": 1, "val_met": 2
    }  # fmt: skip
    assert vars(packed) == {
        "within": 0, "across": 3, "of_val": 0, "near_val": 0, "near_other_val": 1, "val_met": 1
    }  # fmt: skip
    assert set(vars(split).values()) == {0}


def test_lengths_and_counts(repository: Params) -> None:
    plain = look(repository).sources["plain"]
    kept = [*map(sentence, range(10)), sentence(101) + " more", sentence(200) + " more words"]
    sizes = sorted(map(len, [*kept, "short"]))
    assert (plain.format, plain.files) == ("jsonl", 1)
    assert (plain.train.documents, plain.train.bytes) == (13, sum(sizes))
    assert (plain.val.documents, plain.val.bytes) == (2, len(sentence(100)) + len(sentence(101)))
    assert (plain.shortest_bytes, plain.longest_bytes) == (5, sizes[-1])
    assert plain.median_bytes == sizes[6]
    assert plain.samples == sorted([*kept, "short"], key=digest)[:5]
    removed = look(override(repository, ["documents.near_duplicates=remove"])).sources["plain"]
    assert removed.train.documents == 12
    assert removed.copies == plain.copies


@pytest.mark.parametrize("changes", [[], ["documents.near_duplicates=remove"]])
def test_it_says_what_the_stage_writes(repository: Params, changes: list[str]) -> None:
    """Documents, bytes and tokens of an inspection are what the stages write."""
    params = override(repository, [*changes, "documents.personal_data=mask"])
    Path("params.yaml").write_text(json.dumps(params))
    config = tree.read(params)
    for name in NAMES:
        documents.documents(config, name)
    tokenizer.tokenizer(config)
    file = Path("data/tokenizer/tokenizer.json")
    found = inspect(config, NAMES, Tokenizer.load(file))
    assert found.vocabulary == found.planned_vocabulary == 297
    for name in NAMES:
        shard.shard(config, name)
        sides = json.loads(Path(f"data/shards/{name}/manifest.json").read_text())["splits"]
        for key in ("documents", "bytes", "tokens"):
            one = found.sources[name]
            assert getattr(one.val, key) == sides["val"][key]
            assert getattr(one.train, key) == sides["train"][key] + sides["probe"][key]
        written = json.loads(Path(f"data/documents/{name}/manifest.json").read_text())
        near = written["near_duplicates"]
        assert near["train_of_val"] == found.sources[name].copies.near_val


def test_epochs_are_those_of_the_plan(repository: Params) -> None:
    """Of the tokens that were found; a source that no regime reads is read no time."""
    found = look(repository)
    lengths = {name: Length(one.train.tokens, True) for name, one in found.sources.items()}
    planned = plan(tree.read(repository), lengths).epochs
    assert {name: one.epochs for name, one in found.sources.items()} == planned
    alone = look(repository, "packed").sources["packed"]
    assert alone.epochs == found.sources["packed"].epochs
    excluded = override(repository, ["firehose.caps={split: 0}", "polish.caps={split: 0}"])
    assert look(excluded).sources["split"].epochs == 0


def test_a_source_that_cannot_be_read_does_not_hide_the_others(repository: Params) -> None:
    """Neither one without a file, nor one whose training text is damaged in the middle."""
    alone = look(repository, "split").sources["split"]
    Path("data/raw/plain/eval.jsonl").unlink()
    with Path("data/raw/packed/train.jsonl").open("a") as file:
        file.write("{\n")
    found = look(repository)
    assert found.sources == {"split": alone}
    assert list(found.errors) == ["plain", "packed"]
    assert "data/raw/plain/eval.jsonl" in found.errors["plain"]
    assert "data/raw/packed/train.jsonl, line 24" in found.errors["packed"]
    assert all("\n" not in reason for reason in found.errors.values())


def test_what_is_to_be_fetched_says_so(repository: Params) -> None:
    repository["sources"]["plain"] |= {"train": "none.jsonl.gz", "hub": {"name": "some/name"}}
    assert "sources.plain.hub.revision, which is null" in look(repository).errors["plain"]
    repository["sources"]["plain"]["hub"]["revision"] = "0" * 40
    found = look(repository)
    assert list(found.sources) == ["packed", "split"]
    assert found.errors["plain"].endswith("not there yet; `andrea fetch plain` brings it")


def test_personal_data_is_counted_where_asked_for(repository: Params) -> None:
    save("data/raw/plain/eval.jsonl", [sentence(100) + " ann@example.org"])
    save(
        "data/raw/plain/train.jsonl", ["bob@example.org, +44 20 7946 0958", *map(sentence, [1, 2])]
    )
    save("data/raw/split/train.jsonl", [f"{sentence(n)} c{n}@example.org" for n in range(60)])
    assert {one.personal for one in look(repository).sources.values()} == {None}
    found = look(repository, look_for_personal=True).sources
    assert [found[name].personal for name in NAMES] == [
        {"<mail>": 2, "<phone>": 1}, {}, {"<mail>": 60}
    ]  # fmt: skip
    masked = override(repository, ["documents.personal_data=mask"])
    masked_found = look(masked, look_for_personal=True).sources
    assert [one.personal for one in masked_found.values()] == [
        one.personal for one in found.values()
    ]
    assert any("@" in text for text in found["split"].samples)
    assert not any("@" in text for one in masked_found.values() for text in one.samples)


def test_an_unknown_source_is_refused(repository: Params) -> None:
    with pytest.raises(UserError, match="source 'other' is not in `sources`, which has plain, pa"):
        look(repository, "plain", "other")


def test_a_folder_counts_its_files(repository: Params) -> None:
    folder = Path("data/raw/notes")
    (folder / "deep").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    for number, place in enumerate(["a.txt", "deep/b.md", "c.txt", ".hidden/d.txt"]):
        (folder / place).write_text(sentence(number))
    repository["sources"]["notes"] = {"path": str(folder), "train": "."}
    repository["tokenizer"]["weights"]["notes"] = 1
    one = look(repository, "notes").sources["notes"]
    assert (one.format, one.files, one.train.documents + one.val.documents) == ("text", 3, 3)
    assert one.passed_over == {}


def test_what_is_passed_over_is_told(repository: Params, capsys: Capture) -> None:
    """By ending; hidden files and links are no files."""
    folder = Path("data/raw/plain")
    (folder / "eval.jsonl").rename("data/raw/eval.jsonl")
    for name in ("a.txt", "b.PDF", "c.json.gz", "d", ".hidden.md"):
        (folder / name).write_text("x")
    (folder / "link.jsonl").symlink_to("train.jsonl")
    changes = ["-S", "sources.plain={path: data/raw/plain, train: .}"]
    status, out, _ = run(capsys, "plain", *changes)
    assert status == 0
    assert "passed over in plain: 4 files (.json.gz, .pdf, .txt, no ending)" in out.splitlines()
    [texts, _] = [row for row in map(str.split, out.splitlines()) if row[:1] == ["plain"]]
    assert texts[1:3] == ["jsonl", "1"]


def test_a_repository_is_one_file(repository: Params) -> None:
    """Its objects are no files of text."""
    repo = pygit2.init_repository("data/raw/clone")
    me = pygit2.Signature("A", "a@example.org", 0, 0)
    for message in map(sentence, range(8)):
        parents = [] if repo.head_is_unborn else [repo.head.target]
        repo.create_commit("HEAD", me, me, message, repo.index.write_tree(), parents)
    more = {"path": "data/raw/clone", "train": ".", "format": "git-commits"}
    repository["sources"]["commits"] = more
    one = look(repository, "commits").sources["commits"]
    assert (one.files, one.passed_over) == (1, {})


def test_a_source_that_is_read_too_often_is_marked(repository: Params, capsys: Capture) -> None:
    """As the plan would warn of it or refuse it."""
    planned = look(repository).sources
    least = min(one.epochs for one in planned.values())
    for key, mark in (("limits.warn_epochs", "!"), ("limits.max_epochs", "!!")):
        marked = run(capsys, "-S", f"{key}={least * 1.01}")[1].splitlines()
        assert any(line.startswith(f"{mark} above {key}: the run") for line in marked)
        for name, one in planned.items():
            row = next(line for line in marked if line.startswith(f"{name} "))
            assert (f" {mark}{one.epochs:,.2f}" in row) == (one.epochs > least * 1.01)
    assert "!" not in run(capsys)[1]


@pytest.mark.parametrize(
    ("held_out", "count", "why"),
    [
        (None, 1, "the only one is held out; add documents, or name"),
        (
            "eval.jsonl",
            3,
            "of 3 different documents 3 also stand in data/raw/plain/eval.jsonl; add",
        ),
    ],
)
def test_why_no_document_is_left(
    repository: Params, held_out: str | None, count: int, why: str
) -> None:
    save("data/raw/plain/train.jsonl", [*map(sentence, range(count))] * 2)
    save("data/raw/plain/eval.jsonl", [*map(sentence, range(count))])
    repository["sources"]["plain"]["eval"] = held_out
    told = look(repository, "plain").errors["plain"]
    assert told.startswith(f"data/raw/plain/train.jsonl: no document is left for training: {why}")


def test_one_document_is_too_few(repository: Params) -> None:
    """The stage `documents` refuses it, too."""
    save("data/raw/plain/train.jsonl", [sentence(1)])
    told = look(repository, "plain").errors["plain"]
    assert told.endswith(
        "train.jsonl: one document is left for training, and probes need one of"
        " their own; add documents"
    )


def test_near_ones_that_are_removed_are_a_reason(repository: Params) -> None:
    save("data/raw/plain/train.jsonl", [sentence(100), sentence(101) + " more"])
    params = override(repository, ["documents.near_duplicates=remove"])
    told = look(params, "plain").errors["plain"]
    assert (
        "of 2 different documents 1 also stand in data/raw/plain/eval.jsonl and 1 are near" in told
    )


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    """As `andrea inspect` with the arguments."""
    parser = argparse.ArgumentParser()
    command.add(parser.add_subparsers())
    given = parser.parse_args(["inspect", *arguments])
    status = given.command(given)
    told = capsys.readouterr()
    return status, told.out, told.err


def test_the_command_before_any_stage(repository: Params, capsys: Capture) -> None:
    """Progress goes to stderr, numbers in 100 columns to stdout; samples where one is named."""
    status, out, err = run(capsys)
    assert status == 0
    assert err.splitlines()[0] == "plain: held-out text"
    assert max(map(len, out.splitlines())) <= 100
    assert "~ an estimate, 3 bytes a token: there is no tokenizer yet" in out.splitlines()
    rows = [line.split() for line in out.splitlines()]
    [texts, copies] = [row for row in rows if row[:1] == ["plain"]]
    assert texts[1:4] == ["jsonl", "1", "13"]
    assert copies[4:] == ["1", "0", "1", "1", "1", "2"]
    assert "samples of" not in out
    assert "<mail>" not in out
    status, out, _ = run(capsys, "plain", "--personal")
    assert status == 0
    assert "<mail>" in out
    shown = out.split("samples of plain:\n")[1].splitlines()
    assert len(shown) == 5
    assert len(set(shown)) == 5
    assert run(capsys, "plain", "--personal")[1] == out


def test_the_command_gives_json(repository: Params, capsys: Capture) -> None:
    status, out, _ = run(capsys, "--json", "-S", "documents.near_threshold=1.0")
    assert status == 0
    found = json.loads(out)
    assert found["vocabulary"] is None
    assert found["sources"]["plain"]["copies"]["near_val"] == 0
    assert found["sources"]["plain"]["train"]["documents"] == 13
    assert all(len(text) <= 200 for one in found["sources"].values() for text in one["samples"])


def test_the_command_tells_of_a_source_that_cannot_be_read(
    repository: Params, capsys: Capture
) -> None:
    Path("data/raw/plain/train.jsonl").unlink()
    status, out, err = run(capsys)
    assert status == 1
    assert err.splitlines()[-1].startswith("error: source plain: data/raw/plain/train.jsonl")
    assert "packed" in out


def test_the_table_of_the_shipped_sources_fits() -> None:
    """With numbers as large as those of a real run, and a long name."""
    names = [*reading.load(ROOT / "params.yaml")["sources"], "a-name-of-far-more-letters-than-fit"]
    one = Inspected(
        "git-docstrings", 99_999, Read(9_999_999, 9_999_999_999, 3_333_333_333),
        Read(99_999, 99_999_999, 33_333_333), Copies(9999, 9999, 9999, 9999, 9999, 9999),
        1, 9999, 99_999_999, 999.99, {"<mail>": 999_999}, [], {f".{n}": 99_999 for n in range(9)},
        "limits.max_epochs",
    )  # fmt: skip
    for vocabulary in (None, 2305, 8449):
        lines = inspection_table.lines(
            Inspection(dict.fromkeys(names, one), {}, vocabulary, 2305), samples=True
        )
        assert max(map(len, lines)) <= 100
