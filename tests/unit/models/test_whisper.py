"""The texts and models that the recogniser doubts or refuses, tested without a real model."""

from pathlib import Path

import numpy as np
import pytest

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing
from models.stt.whisper import FasterWhisper, compression_ratio, repeats_itself, repetition_count


@pytest.mark.parametrize(
    ("text", "count", "ran_on"),
    [
        ("Repeat. Repeat.", 2, False),
        ("No, no, no, no.", 4, False),
        ("Go on, go on", 2, False),
        ("Enter 35. Enter 35. Enter 35.", 3, False),
        ("", 1, False),
        ("Yes.", 1, False),
        ("no no yes", 1, False),
        ("go on and go", 1, False),
        ("She was placed under arrest. She was placed under arrest.", 2, True),
        ("She was placed under arrest. She was placed under arrest. She", 1, True),
        ("She was placed under arrest and he was not.", 1, False),
    ],
)
def test_repetitions_are_counted_and_a_repeated_sentence_is_doubted(
    text: str, count: int, ran_on: bool
) -> None:
    assert repetition_count(text) == count
    assert repeats_itself(text) is ran_on


def test_text_that_runs_on_compresses_well() -> None:
    assert compression_ratio("Enter 35. " * 9) > 2.4
    assert compression_ratio("The quick brown fox jumps over the lazy dog.") < 1.1


def test_a_missing_or_damaged_model_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "whisper-tiny.en"
    folder.mkdir()
    recogniser = FasterWhisper(folder, threads=1)
    (folder / "model.bin").write_bytes(b"no model")
    with pytest.raises(ModelMissing, match=r"config\.json is missing") as caught:
        recogniser.load()
    assert caught.value.mend == "assistant models pull whisper-tiny.en"
    for name in ("config.json", "tokenizer.json"):
        (folder / name).write_bytes(b"no model")
    with pytest.raises(ModelCorrupt, match="can't be read"):
        recogniser.load()
    with pytest.raises(ModelFailed, match="before it was loaded"):
        recogniser.transcribe(np.zeros(16000, np.int16))
