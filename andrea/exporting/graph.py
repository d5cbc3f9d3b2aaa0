"""The network as one ONNX file: token ids (batch, length) in, logits (batch, length, V) out."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from andrea.common.errors import UserError
from andrea.common.files import whole_file
from andrea.model.gpt import GPT

PRODUCER = "andrea export"
IN, OUT = "token_ids", "logits"
NEEDED = ("onnx", "onnxscript", "onnxruntime")
LARGEST_BYTES = 2**31 - 1  # of a protobuf message
ALLOWED = 1e-5  # difference of logits, as a share of the largest


def write(path: Path, model: GPT, facts: Mapping[str, str]) -> float:
    """Write the file, and compare what onnxruntime computes from it with the network.

    Batch and length are free, up to the context.

    Args:
        model: in fp32 on the CPU.
        facts: kept in the file as its metadata.

    Returns:
        The largest difference of a logit, as a share of the largest logit.

    Raises:
        UserError: a library is missing, the network is too large for one file, or the difference
            is above 1e-5.
        OSError: the file cannot be written.
    """
    for name in NEEDED:
        if find_spec(name) is None:
            raise UserError(
                f"{name}: not installed; `pip install 'andrea[onnx]'` brings what ONNX needs"
            )
    import onnx

    numbers = sum(weights.numel() for weights in model.parameters())
    if 4 * numbers > LARGEST_BYTES * 0.98:
        raise UserError(f"{path}: {numbers} parameters do not fit into one ONNX file of 2 GiB")
    made = _traced(model)
    made.producer_name = PRODUCER
    for name, value in sorted(facts.items()):
        made.metadata_props.add(key=name, value=value)
    with whole_file(path) as part:
        part.write_bytes(made.SerializeToString(deterministic=True))
        onnx.checker.check_model(str(part), full_check=True)
        difference = compare(part, model)
        if not difference <= ALLOWED:
            raise UserError(f"{path}: its logits are off by {difference:.1e} of the largest")
    return difference


def compare(path: Path, model: GPT) -> float:
    """Largest difference of a logit over several batches and lengths, as a share of the largest."""
    import onnxruntime as runtime

    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    worst = 0.0
    for rows, length in ((1, 1), (3, 2), (2, model.context // 2), (1, model.context)):
        ids = rng.integers(0, len(model.token), (rows, length))
        with torch.no_grad():
            ours = model(torch.from_numpy(ids)).numpy()
        (theirs,) = session.run([OUT], {IN: ids})
        largest = float(np.abs(ours).max()) or 1.0
        worst = max(worst, float(np.abs(ours - theirs).max()) / largest)
    return worst


def is_ours(path: Path) -> bool:
    """Whether a file says that `write` made it."""
    with path.open("rb") as file:
        return PRODUCER.encode() in file.read(200)


class _Plain(torch.nn.Module):
    """The network with the name that the input has in the file."""

    def __init__(self, model: GPT) -> None:
        super().__init__()
        self.model = model

    def forward(self, token_ids: Tensor) -> Tensor:
        logits_BTV: Tensor = self.model(token_ids)
        return logits_BTV


def _traced(model: GPT) -> Any:
    """The `onnx.ModelProto` of the network."""
    dim = torch.export.Dim
    sizes = {0: dim("batch", min=1), 1: dim("length", min=1, max=model.context)}
    example = torch.zeros(2, min(3, model.context), dtype=torch.int64)
    # It tells of packages that are not there and that this network has no use for.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            _Plain(model).eval(), (example,), dynamo=True, input_names=[IN], output_names=[OUT],
            dynamic_shapes={IN: sizes}, external_data=False, verbose=False,
        )  # fmt: skip
    assert program is not None
    return program.model_proto
