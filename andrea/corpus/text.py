"""The text of one source, as its files hold it: in their format, masked if asked for."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path

from andrea.common.errors import UserError
from andrea.config.text import Documents as Settings
from andrea.config.text import Source
from andrea.corpus import personal
from andrea.corpus.formats import documents, plain


@dataclass(frozen=True)
class Text:
    """Text in a file or a folder; every iteration reads it anew, a document at a time.

    Attributes:
        path: of it.
        format: one of `andrea.config.text.FORMATS`; None recognises it.
        field: that holds the text of a record.
        masked: whether personal data is replaced by marks.
    """

    path: Path
    format: str | None = None
    field: str = "text"
    masked: bool = False

    def __iter__(self) -> Iterator[str]:
        """As `read`."""
        return self.read({})

    def read(self, marks: MutableMapping[str, int]) -> Iterator[str]:
        """Yield the documents in order; `marks` counts what was masked, by kind.

        Raises:
            UserError: the text is missing, damaged, or not of its format.
        """
        for document in documents.read(self.path, self.format, self.field):
            if self.masked:
                document, counts = personal.mask(document)
                for mark, count in counts.items():
                    marks[mark] = marks.get(mark, 0) + count
            yield document


def of(source: Source, settings: Settings) -> tuple[Text, Text | None]:
    """Training and held-out text of a source; None where the latter is split off.

    Raises:
        UserError: a link leads out of the source's folder and of the repository.
    """
    masked = settings.personal_data == "mask"

    def at(path: Path) -> Text:
        _refuse_outside(path, source.path)
        return Text(path, source.format, source.field, masked)

    held_out = source.eval_path
    return at(source.train_path), None if held_out is None else at(held_out)


def _refuse_outside(path: Path, folder: str) -> None:
    """DVC does not watch what lies elsewhere; its own links lead into its cache."""
    real = path.resolve()
    allowed = (Path(folder).resolve(), Path.cwd().resolve())
    if not any(real.is_relative_to(place) for place in allowed) and not plain.is_cached(path):
        raise UserError(
            f"{path}: a link leads to {real}, out of {folder}; copy the text there instead"
        )
