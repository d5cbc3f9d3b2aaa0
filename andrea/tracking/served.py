"""What MLflow runs to serve a registered model: it keeps this file as code, not as a pickle."""

from __future__ import annotations

from typing import Any

from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel, PythonModelContext

from andrea.common.errors import UserError
from andrea.common.seeds import Purpose
from andrea.tracking.registry import FOLDER
from andrea.writing.load import load
from andrea.writing.pieces import write
from andrea.writing.request import DEFAULTS, Request, read


class Writer(PythonModel):
    """Continues texts."""

    def load_context(self, context: PythonModelContext) -> None:
        """Read network and tokenizer from the exported folder."""
        self.model, self.tokenizer = load(context.artifacts[FOLDER])

    def predict(
        self,
        context: PythonModelContext,
        model_input: list[str],
        params: dict[str, Any] | None = None,
    ) -> list[str]:
        """What follows each prompt, up to the end of the document or `tokens`.

        Raises:
            MlflowException: names a parameter, its value and what is allowed, or a prompt.
        """
        try:
            asked = read(params or DEFAULTS)
            for number, prompt in enumerate(model_input, 1):
                refuse_halves(prompt, number)
        except UserError as error:
            raise MlflowException.invalid_parameter_value(str(error)) from error
        return [self._text(prompt, asked, number) for number, prompt in enumerate(model_input, 1)]

    def _text(self, prompt: str, asked: Request, number: int) -> str:
        key = (asked.seed, Purpose.WRITING, number)
        pieces = write(self.model, self.tokenizer, prompt, asked.sampling, asked.tokens, key)
        return "".join(piece.text for piece in pieces)


def refuse_halves(prompt: str, number: int) -> None:
    """Refuse a prompt that no UTF-8 can spell.

    Raises:
        UserError: it holds a lone surrogate.
    """
    try:
        prompt.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(
            f"prompt {number}: half a character (a lone surrogate) at character {error.start}"
        ) from error


set_model(Writer())
