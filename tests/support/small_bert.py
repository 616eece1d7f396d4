"""A BERT of one layer with random weights, as sentence-transformers publishes one."""

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import BertPreTokenizer

WIDTH = 16


def publish(folder: Path, words: Iterable[str]) -> None:
    """Write the model, and a tokenizer that knows these words."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(1)
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", *words])}
    config = BertConfig(
        vocab_size=len(vocabulary) + 2,
        hidden_size=WIDTH,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=2 * WIDTH,
    )
    BertModel(config).save_pretrained(folder)
    vocabulary |= {name: len(vocabulary) + at for at, name in enumerate(("[CLS]", "[SEP]"))}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    described = json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **special})
    (folder / "tokenizer_config.json").write_text(described, encoding="utf-8")
    (folder / "modules.json").write_text("[]", encoding="utf-8")
    (folder / "1_Pooling").mkdir()
    pooling = json.dumps({"pooling_mode_mean_tokens": True})
    (folder / "1_Pooling" / "config.json").write_text(pooling, encoding="utf-8")
