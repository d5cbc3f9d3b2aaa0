"""The text of one source, as its files hold it: in their format, masked if asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
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

    `format` None is recognised; `masked` replaces personal data by marks.
    """

    path: Path
    format: str | None = None
    field: str = "text"
    masked: bool = False

    def __iter__(self) -> Iterator[str]:
        return self.read(Counter())

    def read(self, marks: Counter[str]) -> Iterator[str]:
        """Yield the documents in order; `marks` counts what was masked, by kind.

        Raises:
            UserError: the text is missing, damaged, or not of its format.
        """
        for document in documents.read(self.path, self.format, self.field):
            if self.masked:
                document, counts = personal.mask(document)
                marks.update(counts)
            yield document


def of(source: Source, settings: Settings) -> tuple[Text, Text | None]:
    """Training and held-out text of a source; None where the latter is split off.

    Raises:
        UserError: a link leads out of the source's folder and of the repository.
    """
    # DVC does not watch what lies elsewhere; its own links lead into its cache.
    allowed = (Path(source.path).resolve(), Path.cwd().resolve())

    def at(path: Path) -> Text:
        real = path.resolve()
        if not any(real.is_relative_to(place) for place in allowed) and not plain.is_cached(path):
            raise UserError(
                f"{path}: a link leads to {real}, out of {source.path}; copy the text there instead"
            )
        return Text(path, source.format, source.field, settings.personal_data == "mask")

    return at(source.train_path), None if source.eval_path is None else at(source.eval_path)
