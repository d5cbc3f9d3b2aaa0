from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import FileMode

from andrea.common.errors import UserError
from andrea.corpus.formats import repository

Reader = Callable[[Path], Iterator[str]]
READERS = (repository.docs, repository.docstrings, repository.commits)


def bare(path: Path) -> pygit2.Repository:
    return pygit2.init_repository(str(path), bare=True, initial_head="main")


def tree(found: pygit2.Repository, files: Mapping[str, bytes]) -> pygit2.Oid:
    """A tree of files; a name may have folders."""
    builder = found.TreeBuilder()
    inner: dict[str, dict[str, bytes]] = {}
    for name, data in files.items():
        head, slash, rest = name.partition("/")
        if slash:
            inner.setdefault(head, {})[rest] = data
        else:
            builder.insert(head, found.create_blob(data), FileMode.BLOB)
    for head, below in inner.items():
        builder.insert(head, tree(found, below), FileMode.TREE)
    return builder.write()


def commit(
    found: pygit2.Repository,
    message: str | bytes,
    parents: list[pygit2.Oid],
    files: Mapping[str, bytes] | pygit2.Oid | None = None,
    seconds: int = 0,
) -> pygit2.Oid:
    author = pygit2.Signature("Someone", "someone@example.org", 1_300_000_000 + seconds, 0)
    root = files if isinstance(files, pygit2.Oid) else tree(found, files or {})
    made = found.create_commit(None, author, author, message, root, parents)
    found.references.create("refs/heads/main", made, force=True)
    return made


DOCS = {
    "README.md": b"---\nlayout: x\n---\n# Read\r\n\r\n> me\r\n",
    "b/guide.rst": b"Guide\n=====\n",
    "b/notes.txt": "\ufeffNaïve notes".encode(),
    "a/zz.MARKDOWN": b"# Last letter, first folder",
    ".github/hidden.md": b"hidden",
    "requirements.txt": b"numpy==2",
    "x/requirements-dev.txt": b"pytest",
    "CMakeLists.txt": b"project(x)",
    "latin.txt": "café".encode("latin-1"),
    "binary.txt": b"a\0b",
    "code.py": b'"""Not a text file."""',
    "empty.md": b"\n\n",
}


def test_docs_are_the_text_files_of_head(tmp_path: Path) -> None:
    commit(bare(tmp_path / "r.git"), "x", [], DOCS)
    assert list(repository.docs(tmp_path / "r.git")) == [
        "# Read\n\n > me",
        "# Last letter, first folder",
        "Guide\n=====",
        "Naïve notes",
    ]


def test_links_submodules_and_large_files_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = bare(tmp_path)
    builder = found.TreeBuilder(tree(found, {"small.md": b"small", "large.md": b"x" * 11}))
    builder.insert("link.md", found.create_blob(b"/etc/passwd"), FileMode.LINK)
    builder.insert("run.md", found.create_blob(b"runs"), FileMode.BLOB_EXECUTABLE)
    builder.insert("module.md", pygit2.Oid(hex="1" * 40), FileMode.COMMIT)
    commit(found, "x", [], builder.write())
    monkeypatch.setattr(repository, "LARGEST_BYTES", 10)
    assert list(repository.docs(tmp_path)) == ["runs", "small"]


SOURCE = b'''
"""About
the module."""

import os

def plain(a, /, b: int = 3, *rest, key: str = "x", **others) -> None:
    """One line."""
    def inner():
        """Inside."""

@os.decorated
class Thing(Base, metaclass=Meta):
    r"""A \\d thing.

        Indented more.

    The end.
    """
    async def method(self, *, only):
        \'\'\'Says """so""".\'\'\'

    def silent(self):
        return "no docstring"
'''


def test_docstrings_stand_under_their_signatures(tmp_path: Path) -> None:
    commit(bare(tmp_path), "x", [], {"pkg/mod.py": SOURCE})
    documents = list(repository.docstrings(tmp_path))
    assert documents == [
        '# pkg/mod.py\n"""About\nthe module.\n"""',
        'def plain(a, /, b, *rest, key, **others):\n    """One line."""',
        'def inner():\n    """Inside."""',
        'class Thing:\n    r"""A \\d thing.\n\n        Indented more.\n\n    The end.\n    """',
        "async def method(self, *, only):\n    '''Says \"\"\"so\"\"\".'''",
    ]
    for document in documents:
        ast.parse(document)


@pytest.mark.parametrize(
    "bad",
    [
        b"def broken(:\n",
        b"a\0b",
        b"# coding: klingon\n",
        b"caf\xe9 = 1\n",
        b"(" * 50_000,
        b"-" * 100_000 + b"1",
    ],
    ids=["syntax", "nul", "coding", "latin", "nested", "deep"],
)
def test_python_that_does_not_parse_is_passed_over(tmp_path: Path, bad: bytes) -> None:
    good = b'"""Good, though with a \\d wrong escape."""'
    commit(bare(tmp_path), "x", [], {"bad.py": bad, "good.py": good})
    assert list(repository.docstrings(tmp_path)) == [
        '# good.py\nr"""Good, though with a \\d wrong escape."""'
    ]


def test_a_lone_surrogate_in_a_docstring_is_written_out(tmp_path: Path) -> None:
    commit(bare(tmp_path), "x", [], {"a.py": b'"""From \\ud800 on."""'})
    assert list(repository.docstrings(tmp_path)) == ['# a.py\nr"""From \\ud800 on."""']


def test_python_is_never_run(tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    code = f'"""Doc."""\nopen({str(trap)!r}, "w")\n'.encode()
    commit(bare(tmp_path / "r"), "x", [], {"setup.py": code, "conftest.py": code})
    assert len(list(repository.docstrings(tmp_path / "r"))) == 2
    assert not trap.exists()


def test_commits_come_oldest_first_with_parents_before_children(tmp_path: Path) -> None:
    found = bare(tmp_path)
    first = commit(found, "First", [], seconds=50)
    left = commit(found, "Left", [first], seconds=10)
    right = commit(found, "Right", [first], seconds=20)
    merge = commit(found, "Merge branch 'right'\n\nConflicts:\n\ta.c\n", [left, right], seconds=30)
    told = commit(found, "Merge 'b'\n\nIt needed care.", [merge, first], seconds=40)
    commit(found, "Last", [told], seconds=0)
    messages = list(repository.commits(tmp_path))
    assert messages[0] == "First"
    assert set(messages[1:3]) == {"Left", "Right"}
    assert messages[3:] == ["Merge 'b'\n\nIt needed care.", "Last"]
    assert messages == list(repository.commits(tmp_path))


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("Subject only\n", "Subject only"),
        ("S\n\nBody.\n\nSigned-off-by: A <a@b.c>\nCc: D\n", "S\n\nBody."),
        ("S\n\nBody.\nReviewed-by: A <a@b.c>\nMore.", "S\n\nBody.\nMore."),
        ("S\n\nCo-authored-by: A <a@b.c>\n\nChange-Id: I123\n", "S"),
        ("S\n\nBody.\n\nFixes: #12\nTested-on: a machine\n  of mine\n", "S\n\nBody."),
        ("S\n\n(cherry picked from commit 1234abcd)\n", "S"),
        ("S\n\nNote: this stays.\n", "S\n\nNote: this stays."),
        ("S\n\nBody\n\n    indented code\n", "S\n\nBody\n\n    indented code"),
        ("fix: a subject like a trailer\n", "fix: a subject like a trailer"),
        ("S\r\n\r\nB  \r\nC\r\n\r\n\r\n\r\nD\r\n", "S\n\nB\nC\n\nD"),
        ("S\n\n> quoted\n", "S\n\n > quoted"),
        ("Café\n".encode("latin-1"), "Café"),
    ],
)
def test_trailers_are_cut_off(tmp_path: Path, message: str | bytes, kept: str) -> None:
    found = bare(tmp_path)
    if isinstance(message, bytes):
        made = found.odb.write(pygit2.enums.ObjectType.COMMIT, raw(tree(found, {}), message))
        found.references.create("refs/heads/main", made)
    else:
        commit(found, message, [])
    assert list(repository.commits(tmp_path)) == [kept]


def raw(root: pygit2.Oid, message: bytes, header: bytes = b"") -> bytes:
    """A commit object as git stores it."""
    who = b"A <a@b.c> 1 +0000"
    names = b"tree " + str(root).encode() + b"\nauthor " + who + b"\ncommitter " + who + b"\n"
    return names + header + b"\n" + message


@pytest.mark.parametrize(
    ("encoding", "message", "kept"),
    [
        (b"ISO-8859-2", b"\xb1", "ą"),
        (b"klingon", "Café".encode(), "Café"),
        (b"hex", b"Caf", "Caf"),
        (b"unicode_escape", b"a \\ud800 b", "a ? b"),
    ],
)
def test_a_message_is_in_the_encoding_that_it_declares(
    tmp_path: Path, encoding: bytes, message: bytes, kept: str
) -> None:
    found = bare(tmp_path)
    data = raw(tree(found, {}), message, b"encoding " + encoding + b"\n")
    made = found.odb.write(pygit2.enums.ObjectType.COMMIT, data)
    found.references.create("refs/heads/main", made)
    assert list(repository.commits(tmp_path)) == [kept]


def test_a_commit_without_words_is_left_out(tmp_path: Path) -> None:
    commit(bare(tmp_path), "\n \n", [])
    assert list(repository.commits(tmp_path)) == []


def test_a_clone_with_files_is_read_by_its_head_alone(tmp_path: Path) -> None:
    found = pygit2.init_repository(str(tmp_path / "work"), initial_head="main")
    made = commit(found, "x", [], {"a.md": b"committed"})
    (tmp_path / "work/a.md").write_text("changed")
    (tmp_path / "work/new.md").write_text("never added")
    found.set_head(made)
    assert repository.looks_like(tmp_path / "work")
    assert list(repository.docs(tmp_path / "work")) == ["committed"]


def test_settings_hooks_and_filters_are_not_obeyed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "ran"
    found = pygit2.init_repository(str(tmp_path / "r"), initial_head="main")
    commit(found, "x", [], {"a.md": b"kept\n", ".gitattributes": b"*.md filter=evil\n"})
    run = f"touch {trap}"
    for name in ("filter.evil.smudge", "filter.evil.clean", "core.fsmonitor", "core.sshCommand"):
        found.config[name] = run
    found.config["core.bare"] = "no boolean at all"
    found.config["core.worktree"] = "/"
    for name in ("post-checkout", "reference-transaction"):
        hook = tmp_path / "r/.git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{run}\n")
        hook.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "no-git-here"))
    assert list(repository.docs(tmp_path / "r")) == ["kept"]
    assert list(repository.commits(tmp_path / "r")) == ["x"]
    assert not trap.exists()


def test_another_owner_is_no_hindrance(tmp_path: Path) -> None:
    commit(bare(tmp_path / "r"), "x", [])
    owner = os.geteuid() or 12345  # only root can give a folder away
    for file in [tmp_path / "r", *(tmp_path / "r").rglob("*")]:
        os.chown(file, owner, -1)
    before = pygit2.option(pygit2.enums.Option.GET_OWNER_VALIDATION)
    assert list(repository.commits(tmp_path / "r")) == ["x"]
    assert pygit2.option(pygit2.enums.Option.GET_OWNER_VALIDATION) == before


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_repository_is_named(tmp_path: Path, reader: Reader) -> None:
    (tmp_path / "a.md").write_text("x")
    for path in (tmp_path, tmp_path / "absent", tmp_path / "a.md"):
        assert not repository.looks_like(path)
        with pytest.raises(UserError, match=f"{path.name}: no git repository; a bare clone"):
            list(reader(path))


@pytest.mark.parametrize("reader", READERS)
def test_a_repository_without_a_commit_is_named(tmp_path: Path, reader: Reader) -> None:
    bare(tmp_path / "new.git")
    with pytest.raises(UserError, match=r"new\.git: the git repository has no commit"):
        list(reader(tmp_path / "new.git"))


def test_a_head_that_is_nonsense_is_named(tmp_path: Path) -> None:
    commit(bare(tmp_path / "r"), "x", [])
    (tmp_path / "r/HEAD").write_text("nonsense\n")
    with pytest.raises(UserError, match="r: the git repository cannot be read") as caught:
        list(repository.commits(tmp_path / "r"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("reader", READERS)
def test_a_missing_object_is_named(tmp_path: Path, reader: Reader) -> None:
    found = bare(tmp_path / "r")
    first = commit(found, "x", [])
    commit(found, "y", [first], {"a.md": b"a", "a.py": b'"""a"""'})
    kept = (str(found.head.target), str(found[found.head.target].tree_id))
    for file in (tmp_path / "r/objects").rglob("*"):
        if file.is_file() and file.parent.name + file.name not in kept:
            file.unlink()
    with pytest.raises(
        UserError,
        match=r"r: the git repository cannot be read .* is damaged .* or not a whole clone",
    ):
        list(reader(tmp_path / "r"))
