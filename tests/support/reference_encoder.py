"""Vectors as sentence-transformers and peft compute them, in full precision."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def reference(
    folder: Path, adapter: Path | None, texts: list[str], distilled: Path | None = None
) -> NDArray[np.float32]:
    """Unit vectors of the published model in `folder` with the adapter in `adapter`, if given. With
    a second adapter in `distilled`, only the layers that it transforms are used."""
    from peft import PeftModel
    from sentence_transformers import SentenceTransformer
    from torch import nn

    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    transformer: Any = model[0]
    for each in filter(None, (adapter, distilled)):
        adapted = PeftModel.from_pretrained(transformer.auto_model, str(each))
        config: Any = adapted.peft_config["default"]
        transformer.auto_model = adapted.merge_and_unload()
        if config.layers_to_transform:
            encoder = transformer.auto_model.encoder
            kept = sorted(config.layers_to_transform)
            encoder.layer = nn.ModuleList(encoder.layer[number] for number in kept)
    return np.asarray(model.encode(texts, normalize_embeddings=True), np.float32)
