"""What the recogniser refuses and doubts; its ears are tested on the real model."""

from pathlib import Path

import numpy as np
import pytest

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing
from models.stt.whisper import FasterWhisper, compression_ratio, repeats_itself, repetition_count


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("Repeat. Repeat.", 2),
        ("no no no", 3),
        ("Go on, go on", 2),
        ("Enter 35. Enter 35. Enter 35.", 3),
        ("5, 5, 5, 5", 4),
        ("", 1),
        ("Yes.", 1),
        ("no no yes", 1),
        ("go on and go", 1),
    ],
)
def test_one_thing_said_again(text: str, times: int) -> None:
    assert repetition_count(text) == times


def test_runaway_text_compresses_well() -> None:
    assert compression_ratio("Enter 35. " * 9) > 2.4
    assert compression_ratio("The quick brown fox jumps over the lazy dog.") < 1.1


def test_a_missing_file_names_the_command_that_mends_it(tmp_path: Path) -> None:
    folder = tmp_path / "whisper-tiny.en"
    folder.mkdir()
    (folder / "model.bin").write_bytes(b"")
    with pytest.raises(ModelMissing, match=r"config\.json is missing") as caught:
        FasterWhisper(folder, threads=1).load()
    assert caught.value.mend == "assistant models pull whisper-tiny.en"


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    for name in ("model.bin", "config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes(b"no model")
    with pytest.raises(ModelCorrupt, match="can't be read"):
        FasterWhisper(tmp_path, threads=1).load()


def test_it_has_to_be_loaded_first(tmp_path: Path) -> None:
    with pytest.raises(ModelFailed, match="before it was loaded"):
        FasterWhisper(tmp_path, threads=1).transcribe(np.zeros(16000, np.int16))


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("She was placed under arrest. She was placed under arrest.", True),
        ("She was placed under arrest. She was placed under arrest. She", True),
        ("Come on, come on.", False),
        ("No, no, no, no.", False),
        ("She was placed under arrest and he was not.", False),
        ("", False),
    ],
)
def test_a_sentence_that_begins_again_is_a_decoder_that_ran_on(text: str, again: bool) -> None:
    assert repeats_itself(text) is again
