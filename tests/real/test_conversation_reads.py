"""The tokens that the model reads for each turn, with memories and during endless idle work."""

from pathlib import Path

import pytest

from assistant.settings import Settings
from models.download.cache import ModelStore
from models.llm.llama import LlamaCpp
from models.selection.requested import select_models
from scripts.bench.conversation import ALLOWED_OVER, converse, messages
from scripts.bench.idle_pending import flags_of

pytestmark = pytest.mark.real


def reads(folder: Path, turns: int) -> None:
    shop = select_models(Settings.model_validate({"general": {"profile": "tiny"}}))
    counter = LlamaCpp(ModelStore.weights(shop.store, shop.profile.llm))
    flags = ["--profile", "tiny", "--set", "llm.max_answer_tokens=12", *flags_of(pending=True)]
    said = ["My dog is called Max.", "What is my dog called?", *messages(turns - 2, 1)]
    found, _ = converse(folder, flags, said, counter)
    assert [turn.number for turn in found if turn.over > ALLOWED_OVER] == []
    assert any(turn.read_tokens for turn in found)


def test_the_model_reads_little_more_for_a_turn_than_its_words_and_memories(tmp_path: Path) -> None:
    reads(tmp_path, 4)


@pytest.mark.long
def test_the_model_reads_as_little_for_each_of_a_hundred_turns(tmp_path: Path) -> None:
    reads(tmp_path, 100)
