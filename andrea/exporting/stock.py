"""ANDREA's network as a GPT-2 of the `transformers` library, which computes the same function.

Two things set the networks apart, and both can be written into weights.

LayerNorm takes the mean away before it divides by the root of the mean square, RMSNorm does not.
So the stream of d features is laid into d + H features by a matrix `lay`, A, whose columns are
orthonormal and each sum to zero: a laid stream A x has the mean zero and the length of x, and
LayerNorm of it is A times RMSNorm of x, but for a constant that the gain takes. Weights that read
the stream become W A^T, weights that write it A W, and distances and angles between rows of a table
stay what they were. (Ashkboos et al. 2024, SliceGPT, go the other way, from LayerNorm to RMSNorm.)
The columns are x plus a multiple of its sum, and the features added are another multiple of it.

Heads then have k + 1 features; the last is zero. GPT-2 divides by the root of k + 1 instead of k,
which the queries make good. All biases are zero. Rounding to fp32 is all that is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from andrea.config.training import BYTES_AND_BOS, Scale
from andrea.model.gpt import GPT
from andrea.tokens.tokenizer import BOS

NOISE = 1e-5  # of a tensor's largest number: far above rounding, far below any training


def lay(width: int, heads: int) -> Tensor:
    """(d + H, d) float64, A: orthonormal columns, each with the sum zero."""
    kept = -sqrt(heads / (width + heads))
    A = torch.eye(width + heads, width, dtype=torch.float64)
    A[:width] += (kept - 1) / width
    A[width:] = -kept / heads
    return A


def config(scale: Scale) -> dict[str, Any]:
    """What `config.json` holds: all of GPT-2's settings that change what it computes."""
    wide = scale.d_model + scale.n_heads
    return {
        "activation_function": "relu2",
        "add_cross_attention": False,
        "architectures": ["GPT2LMHeadModel"],
        "attn_pdrop": 0.0,
        "bos_token_id": BOS,
        "dtype": "float32",
        "embd_pdrop": 0.0,
        "eos_token_id": BOS,
        "layer_norm_epsilon": torch.finfo(torch.float32).eps * scale.d_model / wide,
        "model_type": "gpt2",
        "n_embd": wide,
        "n_head": scale.n_heads,
        "n_inner": 4 * scale.d_model,
        "n_layer": scale.n_layers,
        "n_positions": scale.context,
        "pad_token_id": BOS,
        "reorder_and_upcast_attn": False,
        "resid_pdrop": 0.0,
        "scale_attn_by_inverse_layer_idx": False,
        "scale_attn_weights": True,
        "tie_word_embeddings": False,
        "use_cache": True,
        "vocab_size": scale.vocabulary,
    }


def shape_of(vocabulary: int, wide: int, heads: int, layers: int, context: int) -> Scale:
    """The scale that `config` made such numbers of; what a run needs beyond its shape is 1."""
    return Scale(
        segments=vocabulary - BYTES_AND_BOS, d_model=wide - heads, n_heads=heads, n_layers=layers,
        context=context, micro_batch=1, grad_accumulation=1, steps=1, bigram_init=0, lr=1.0,
        log_every=1,
    )  # fmt: skip


def scale_of(model: GPT) -> Scale:
    """The shape of a network; what a run needs beyond it is 1."""
    (vocabulary, width), heads = model.token.shape, model.blocks[0].heads
    assert isinstance(heads, int)
    return shape_of(vocabulary, width + heads, heads, len(model.blocks), model.context)


def tensors(model: GPT, scale: Scale) -> dict[str, Tensor]:
    """The weights of `GPT2LMHeadModel`, fp32 on the CPU, by its names."""
    A = lay(scale.d_model, scale.n_heads)
    made: dict[str, Tensor] = {}
    for name, weights in model.named_parameters():
        their, (forth, _) = _counterpart(name, A, scale)
        made[their] = forth(weights.detach().cpu().double()).float().contiguous()
    return made | dict(_constants(scale))


def weights(stored: Mapping[str, Tensor], scale: Scale) -> Iterator[tuple[str, Tensor]]:
    """Our weights, fp32, by our names: `tensors` the other way.

    Raises:
        ValueError: names a tensor that `tensors` does not make, such as one trained further.
    """
    for their, constant in _constants(scale):
        if not torch.equal(stored[their], constant):
            raise ValueError(f"tensor {their} is not the constant that an export writes")
    A = lay(scale.d_model, scale.n_heads)
    with torch.device("meta"):
        names = [name for name, _ in GPT(scale).named_parameters()]
    for name in names:
        their, (forth, back) = _counterpart(name, A, scale)
        laid = stored[their].double()
        ours = back(laid).float()
        if (forth(ours.double()) - laid).abs().max() > NOISE * laid.abs().max():
            raise ValueError(f"tensor {their} is none that an export writes; trained further?")
        yield name, ours


def shapes(scale: Scale) -> dict[str, torch.Size]:
    """Of every tensor of `tensors`, without room for any."""
    with torch.device("meta"):
        A, by_name = lay(scale.d_model, scale.n_heads), dict(_constants(scale))
        for name, weights in GPT(scale).named_parameters():
            their, (forth, _) = _counterpart(name, A, scale)
            by_name[their] = forth(weights.double())
    return {name: tensor.shape for name, tensor in by_name.items()}


Change = Callable[[Tensor], Tensor]


def _counterpart(name: str, A: Tensor, scale: Scale) -> tuple[str, tuple[Change, Change]]:
    """GPT-2's name of a tensor of ours, and how it is made of ours and ours of it.

    GPT-2 keeps the matrices of its blocks transposed.
    """
    read: tuple[Change, Change] = (lambda W: W @ A.T, lambda W: W @ A)
    if name in ("token", "position"):
        return f"transformer.{'wte' if name == 'token' else 'wpe'}.weight", read
    if name == "head.weight":
        return "lm_head.weight", read
    _, layer, leaf = name.split(".")
    H, k, d = scale.n_heads, scale.d_model // scale.n_heads, scale.d_model
    root = sqrt((k + 1) / k)
    scaling = torch.tensor([root, 1, 1], dtype=torch.float64).view(3, 1, 1, 1)

    def pad_qkv(W: Tensor) -> Tensor:
        heads = torch.zeros(3, H, k + 1, d + H, dtype=torch.float64)
        heads[:, :, :k] = (W @ A.T).view(3, H, k, d + H) * scaling
        return heads.view(-1, d + H).T

    def cut_qkv(W: Tensor) -> Tensor:
        heads = W.T.reshape(3, H, k + 1, d + H)[:, :, :k] / scaling
        return heads.reshape(3 * d, d + H) @ A

    def pad_out(W: Tensor) -> Tensor:
        heads = torch.zeros(d + H, H, k + 1, dtype=torch.float64)
        heads[:, :, :k] = (A @ W).view(d + H, H, k)
        return heads.view(d + H, -1).T

    def cut_out(W: Tensor) -> Tensor:
        return A.T @ W.T.reshape(d + H, H, k + 1)[:, :, :k].reshape(d + H, d)

    their, change = {
        "qkv": ("attn.c_attn", (pad_qkv, cut_qkv)),
        "out": ("attn.c_proj", (pad_out, cut_out)),
        "up": ("mlp.c_fc", (lambda W: (W @ A.T).T, lambda W: W.T @ A)),
        "down": ("mlp.c_proj", (lambda W: (A @ W).T, lambda W: A.T @ W.T)),
    }[leaf]
    return f"transformer.h.{layer}.{their}.weight", change


def _constants(scale: Scale) -> Iterator[tuple[str, Tensor]]:
    """Biases and gains by name."""
    wide, inner = scale.d_model + scale.n_heads, 4 * scale.d_model
    sizes = {"attn.c_attn": 3 * wide, "attn.c_proj": wide, "mlp.c_fc": inner, "mlp.c_proj": wide}
    for layer in range(scale.n_layers):
        for part, size in sizes.items():
            yield f"transformer.h.{layer}.{part}.bias", torch.zeros(size)
    for norm in (*(f"h.{i}.ln_{n}" for i in range(scale.n_layers) for n in (1, 2)), "ln_f"):
        yield f"transformer.{norm}.weight", torch.full((wide,), sqrt(scale.d_model / wide))
        yield f"transformer.{norm}.bias", torch.zeros(wide)
