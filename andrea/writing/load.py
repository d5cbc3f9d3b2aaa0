"""A network and its tokenizer, from wherever they lie."""

from __future__ import annotations

from pathlib import Path

from andrea.common import paths
from andrea.common.errors import UserError, line
from andrea.config.training import REGIMES
from andrea.exporting import folder, trained
from andrea.model.gpt import GPT
from andrea.tokens.tokenizer import Tokenizer
from andrea.training import checkpoint


def load(where: str | Path) -> tuple[GPT, Tokenizer]:
    """Read a model, fp32 on the CPU; nothing of it is run.

    Args:
        where: the name of a regime, a checkpoint file, or a folder that `andrea export` wrote. The
            former two need the repository as the current folder, for its tokenizer.

    Raises:
        UserError: there is no such model, it is damaged, or the tokenizer is not the one that it
            was trained with.
    """
    known = str(where) in REGIMES
    path = paths.CHECKPOINTS / where / checkpoint.FILE if known else Path(where)
    if path.is_dir():
        return folder.load(path)
    if not known and not path.exists():
        raise UserError(
            f"{line(where)}: no such model; it is {', '.join(REGIMES)}, a .safetensors"
            " checkpoint or an exported folder"
        )
    model = trained.read(path, paths.TOKENIZER)
    return model.model, model.tokenizer
