"""Turns the tiny GGUF into a folder that mlx-lm loads, so that its code path runs for real.

Supports only llama-like models with a GPT-2 vocabulary that is split as SmolLM's is. Weights become
16-bit floats: mlx on a CPU needs seconds for a token of a quantised model.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import gguf
import mlx.core as mx
import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from models.llm.gguf import Header, read_header

OUTER = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
INNER = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
CONTROL = 3


def convert(source: Path, folder: Path) -> Path:
    """Convert `source` unless `folder` exists; `folder` appears complete or not at all."""
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    header = read_header(source)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        made = Path(work) / "made"
        made.mkdir()
        mx.save_safetensors(
            str(made / "model.safetensors"), _weights(source), metadata={"format": "mlx"}
        )
        _write(made / "config.json", _config(header))
        _tokenizer(header).save(str(made / "tokenizer.json"))
        _write(made / "tokenizer_config.json", _tokenizer_config(header))
        shutil.move(made, folder)
    return folder


def _weights(source: Path) -> dict[str, mx.array]:
    return {
        _name(tensor.name): mx.array(
            gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float16)
        )
        for tensor in gguf.GGUFReader(source).tensors
    }


def _name(name: str) -> str:
    if name in OUTER:
        return OUTER[name]
    _, layer, part, kind = name.split(".")
    return f"model.layers.{layer}.{INNER[part]}.{kind}"


def _config(header: Header) -> dict[str, Any]:
    if header.architecture != "llama":
        raise ValueError(f"a {header.architecture} model can't be converted")
    values = header.values
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": header.number("embedding_length"),
        "num_hidden_layers": header.number("block_count"),
        "intermediate_size": header.number("feed_forward_length"),
        "num_attention_heads": header.number("attention.head_count"),
        "num_key_value_heads": header.number("attention.head_count_kv"),
        "rms_norm_eps": values["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": values["llama.rope.freq_base"],
        # GGUF files store the rows of the query and key matrices in the order of the original
        # rotary embedding, which rotates neighbouring pairs.
        "rope_traditional": True,
        "vocab_size": len(values["tokenizer.ggml.tokens"]),
        "max_position_embeddings": header.context_tokens,
        "tie_word_embeddings": True,
        "bos_token_id": values["tokenizer.ggml.bos_token_id"],
        "eos_token_id": values["tokenizer.ggml.eos_token_id"],
    }


def _tokenizer(header: Header) -> Tokenizer:
    values = header.values
    tokens: list[str] = values["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ", 1)) for merge in values["tokenizer.ggml.merges"]]
    if values["tokenizer.ggml.pre"] != "smollm":
        raise ValueError("this tokenizer can't be converted")
    tokenizer = Tokenizer(
        models.BPE(vocab={token: place for place, token in enumerate(tokens)}, merges=merges)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token, kind in zip(tokens, values["tokenizer.ggml.token_type"], strict=True)
            if kind == CONTROL
        ]
    )
    return tokenizer


def _tokenizer_config(header: Header) -> dict[str, Any]:
    values = header.values
    tokens: list[str] = values["tokenizer.ggml.tokens"]
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[values["tokenizer.ggml.bos_token_id"]],
        "eos_token": tokens[values["tokenizer.ggml.eos_token_id"]],
        "chat_template": values["tokenizer.chat_template"],
        "model_max_length": header.context_tokens,
    }


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
