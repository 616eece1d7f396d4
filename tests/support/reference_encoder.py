"""Vectors as sentence-transformers and peft make them, in full precision."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def reference(folder: Path, adapter: Path | None, texts: list[str]) -> NDArray[np.float32]:
    """Unit vectors by the published model in `folder`, adapted by what is in `adapter`."""
    from peft import PeftModel
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    if adapter is not None:
        transformer: Any = model[0]
        transformer.auto_model = PeftModel.from_pretrained(
            transformer.auto_model, str(adapter)
        ).merge_and_unload()
    return np.asarray(model.encode(texts, normalize_embeddings=True), np.float32)
