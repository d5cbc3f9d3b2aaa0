"""Where the text of a source may lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from andrea.common.errors import UserError
from andrea.config.text import Documents as Settings
from andrea.config.text import Source
from andrea.corpus.text import of

SETTINGS = Settings(probe_share=0.1, val_share=0.1)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside the repository, which is the current folder."""
    (tmp_path / "repository/data/raw/notes").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repository")
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "elsewhere"


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("Words.")
    return path


def read(train: str, held_out: str | None = None) -> list[list[str]]:
    found = of(Source("data/raw/notes", train, held_out, "text"), SETTINGS)
    return [list(side) for side in found if side is not None]


@pytest.mark.parametrize("name", ["link.txt", "folder/a.txt"])
@pytest.mark.parametrize("side", ["train", "eval"])
def test_a_link_out_of_the_repository_is_refused(elsewhere: Path, name: str, side: str) -> None:
    """It may be the last part of the name, or one before it."""
    put(elsewhere / "a.txt")
    good = put(Path("data/raw/notes/good.txt")).name
    Path("data/raw/notes/link.txt").symlink_to(elsewhere / "a.txt")
    Path("data/raw/notes/folder").symlink_to(elsewhere)
    with pytest.raises(UserError, match=r"a link leads to .*/elsewhere/a\.txt, out of") as caught:
        read(*((name, good) if side == "train" else (good, name)))
    assert str(caught.value).startswith(f"data/raw/notes/{name}: ")


def test_a_link_that_stays_is_read(elsewhere: Path) -> None:
    """In the folder, in the repository's cache, in a cache shared by several; or all of `path`."""
    digest = "files/md5/ab/" + "0123456789" * 3
    for target in (Path("data/raw/notes/b.txt"), Path(".dvc/cache") / digest, elsewhere / digest):
        link = Path("data/raw/notes/link.txt")
        link.unlink(missing_ok=True)
        link.symlink_to(put(target).resolve())
        assert read("link.txt") == [["Words."]]
    put(Path("data/raw/notes/c.txt"))
    assert read(".") == [["Words."] * 3]  # b, c and the link into the cache
    put(elsewhere / "notes/a.txt")
    Path("data/raw/linked").symlink_to(elsewhere / "notes")
    train, _ = of(Source("data/raw/linked", "a.txt"), SETTINGS)
    assert list(train) == ["Words."]
