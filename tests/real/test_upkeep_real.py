"""Repeated and changed statements are recognised with a real encoder."""

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from assistant.context.conversation import Conversation
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.reconcile import Repeats, Replaces, reconcile
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Settings
from data import located
from models.download.cache import ModelStore
from models.encoder.onnx import OnnxEncoder
from tests.support.desks import newest, open_memory_admin

pytestmark = pytest.mark.real

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def encoder(store: ModelStore) -> OnnxEncoder:
    opened = OnnxEncoder(store.location("all-minilm-l6-v2"))
    opened.load()
    return opened


def test_a_repeated_statement_is_stored_once_and_a_changed_one_is_superseded(
    home: Home, encoder: OnnxEncoder
) -> None:
    said = (
        "My dog is called Max.",
        "I live in Porto.",
        "I have five nieces.",
        "Oh, my dog is called Max!",
        "I have six nieces.",
        "I moved to Lisbon.",
        "My cat is called Max.",
    )
    with closing(Transcript.open(home.transcript)) as transcript:
        for day, text in enumerate(said):
            talk = Conversation.begin("me")
            talk.append_user(1, text, START + timedelta(days=day))
            transcript.store(talk, talk.complete(1, "", ended=START + timedelta(days=day)))
    with open_memory_admin(home, Settings(), lambda _: QueryEncoder(encoder)) as desk:
        (found, *_) = desk.search("Where do I live?", 10).memories
        assert found.text == "I moved to Lisbon."
        kept = {memory.text: memory for memory in newest(desk)}
        assert set(kept) == {*said} - {"Oh, my dog is called Max!"}
        assert len(kept["My dog is called Max."].sources) == 2
        assert kept["I live in Porto."].superseded_by == kept["I moved to Lisbon."].id
        assert {m.superseded_by for m in kept.values()} == {None, found.id}


def test_no_pair_of_our_own_set_is_decided_wrongly(encoder: OnnxEncoder) -> None:
    lines = located("evaluation/memory_pairs.jsonl").read_text("utf-8").splitlines()
    pairs = [json.loads(line) for line in lines]
    older = encoder.encode([pair["older"] for pair in pairs])
    newer = encoder.encode([pair["newer"] for pair in pairs])
    names = {Repeats: "duplicate", Replaces: "replaces"}
    lexicon, hits = TextAnalyzer("en"), {"duplicate": 0, "replaces": 0}
    for at, pair in enumerate(pairs):
        first = Memory("a", "u", MemoryKind.EXCHANGE, pair["older"], START, sources=("a",))
        second = Memory(
            "b", "u", MemoryKind.EXCHANGE, pair["newer"], START + timedelta(days=9), sources=("b",)
        )
        decision = reconcile(second, [(first, float(older[at] @ newer[at]))], lexicon)
        got = names.get(type(decision))
        assert got in (None, pair["label"]), pair
        if got:
            hits[got] += 1
    wanted = [pair["label"] for pair in pairs]
    assert hits["duplicate"] >= 0.7 * wanted.count("duplicate")
    assert hits["replaces"] >= 0.8 * wanted.count("replaces")
