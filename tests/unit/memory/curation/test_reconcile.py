"""How a new memory affects existing ones, decided by rules."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from assistant.language.normalisation import content_words
from assistant.language.speakers import ASSISTANT
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.conflicts import read
from assistant.memory.curation.reconcile import (
    Decision,
    Repeats,
    Replaces,
    reconcile,
    refreshed,
    superseded,
)
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import Memory, MemoryKind
from data import located

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LEXICON = TextAnalyzer("en")


def told(
    text: str, day: int = 0, speaker: str = "user", kind: MemoryKind = MemoryKind.EXCHANGE
) -> Memory:
    key = f"e{day}"
    created = START + timedelta(days=day)
    return Memory(f"{key}-{speaker}", "ada", kind, text, created, speaker, sources=(key,))


def decided(old: str, new: str, cosine: float = 0.97, days: int = 9) -> Decision:
    return reconcile(told(new, days), [(told(old), cosine)], LEXICON)


def test_the_evaluation_pairs_are_decided_without_wrong_verdicts() -> None:
    """Tests only the rules, as if every cosine were high: wrong merges must not happen."""
    lines = located("evaluation/memory_pairs.jsonl").read_text("utf-8").splitlines()
    pairs = [json.loads(line) for line in lines]
    names: dict[type, str] = {Repeats: "duplicate", Replaces: "replaces"}
    got = [names.get(type(decided(pair["older"], pair["newer"])), "similar") for pair in pairs]
    wrong = [
        (pair["older"], pair["newer"], each)
        for pair, each in zip(pairs, got, strict=True)
        if each not in ("similar", pair["label"])
    ]
    right = sum(each == pair["label"] for pair, each in zip(pairs, got, strict=True))

    assert len(pairs) >= 150
    assert wrong == []
    assert right >= 0.9 * len(pairs)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I have 5 nieces", "I have five nieces."),
        ("My dog is called Max", "So, by the way, my dog's name is Max!"),
        ("I do not eat meat", "I don't eat meat"),
        ("Mein Hund heißt Max", "mein Hund heißt Max."),
    ],
)
def test_a_reworded_statement_refreshes_the_existing_memory(old: str, new: str) -> None:
    assert isinstance(decided(old, new), Repeats)
    assert decided(old, new, cosine=0.91) is None, "the cosine is too low"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I have five nieces", "I have six nieces"),
        ("I love olives", "I hate olives"),
        ("I like tea", "I don't like tea"),
        ("I live in Lisbon", "I lived in Lisbon"),
        ("I'm allergic to nuts", "She's allergic to nuts"),
        ("Tom owes Anna money", "Anna owes Tom money"),
        ("My left knee hurts", "My right knee hurts"),
        ("The key is under the pot", "The key is under the blue pot"),
        ("What is my dog called?", "What is my dog called?"),
        ("what is my dog called", "what is my dog called"),
        ("I love it", "I love it"),
        ("Yes", "Yes"),
        ("I see.", "I see."),
        ("My dentist is tomorrow", "My dentist is tomorrow"),
        ("I had a headache", "I had a headache"),
    ],
)
def test_statements_that_differ_in_an_important_word_or_in_time_stay_separate(
    old: str, new: str
) -> None:
    assert decided(old, new, cosine=0.999) is None


def test_a_statement_about_tomorrow_told_twice_on_one_day_is_a_repetition() -> None:
    old = told("My dentist is tomorrow")
    later = replace(old, id="e", sources=("e",), created=START + timedelta(hours=1))
    assert isinstance(reconcile(later, [(old, 1)], LEXICON), Repeats)


def test_only_current_memories_of_the_same_speaker_and_kind_are_refreshed() -> None:
    new, old = told("My dog is called Max", 9), told("My dog is called Max")
    assert reconcile(new, [(old, 1)], LEXICON) == Repeats(old)
    for other in (
        replace(old, speaker=ASSISTANT),
        replace(old, user_id="bob"),
        replace(old, kind=MemoryKind.FACT),
        replace(old, superseded_by="later"),
        replace(old, id=new.id),
    ):
        assert reconcile(new, [(other, 1)], LEXICON) is None
    assert reconcile(replace(new, separate=True), [(old, 1)], LEXICON) is None
    assert reconcile(new, [(old, 1)], LEXICON, duplicate_cosine=1.0) is None


def test_hand_written_memories_are_merged_only_with_identical_text() -> None:
    note = replace(told("My dog is called Max", kind=MemoryKind.FACT), sources=(ADDED_BY_USER,))
    again = replace(note, id="n2", text="my dog is called MAX ")
    longer = replace(note, id="n3", text="By the way, my dog is called Max")
    assert isinstance(reconcile(again, [(note, 1)], LEXICON), Repeats)
    assert reconcile(longer, [(note, 1)], LEXICON) is None


def test_a_refreshed_memory_keeps_its_text_and_gains_the_new_source() -> None:
    old = replace(told("My dog is called Max"), uses=3, feedback=1, importance=0.4)
    new = replace(told("My dog is called Max!", 9), importance=0.6, pinned=True)

    kept = refreshed(old, new)

    assert (kept.id, kept.text, kept.created) == (old.id, old.text, old.created)
    assert kept.sources == ("e0", "e9")
    assert kept.told == kept.refreshed == new.created
    assert (kept.uses, kept.feedback, kept.importance, kept.pinned) == (3, 1, 0.6, True)
    assert refreshed(kept, new).sources == kept.sources, "a repeated merge adds no source twice"


def test_the_expiry_date_of_the_first_statement_does_not_apply_to_its_repetition() -> None:
    old = replace(told("My dog is called Max"), expires=START + timedelta(days=10))
    new = told("My dog is called Max", 9)
    assert refreshed(old, new).expires is None
    assert refreshed(old, replace(new, expires=START)).expires == old.expires


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Porto", "I moved to Lisbon"),
        ("I don't eat meat", "I eat meat again"),
        ("I eat meat every day", "I no longer eat meat"),
        ("My sister's name is Anna", "No, my sister's name is Hannah"),
        ("The user lives in Porto.", "The user moved to Lisbon."),
        ("My favorite color is blue", "My favourite colour is orange now"),
        ("Blue is my favourite colour", "My favourite colour is orange now"),
        ("Blue is the user's favourite colour.", "The user's favourite colour is orange now."),
    ],
)
def test_an_explicit_change_supersedes_the_old_memory(old: str, new: str) -> None:
    decision = decided(old, new, cosine=0.5)

    assert isinstance(decision, Replaces)
    first, second = superseded(told(new, 9), decision.old)
    assert (first.supersedes, second.superseded_by) == (("e0-user",), "e9-user")
    assert decided(old, new, cosine=0.1) is None, "a low cosine means another subject"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Porto", "I want to move to Lisbon"),
        ("I live in Porto", "My sister moved to Lisbon"),
        ("I live in Porto", "I live in Portugal"),
        ("I live in Porto", "I moved the sofa"),
        ("I live in Porto", "I moved to Lisbon?"),
        ("I live in Porto with my sister Anna, a nurse, and her three cats", "I moved to Lisbon"),
        ("My cat is called Max", "My new cat is called Tim"),
        ("My sister's name is Anna", "My sister's name is Hannah"),
        ("I smoke salmon", "I quit smoking"),
        ("Blue is my sister's favourite colour", "My favourite colour is orange now"),
        ("Rain is my favourite kind of weather", "My favourite colour is orange now"),
        ("My favourite colour is green", "I don't know what is my favourite colour now"),
        ("My favourite colour is green", "Nothing is my favourite colour any more"),
        ("My favourite colour is green", "My sister thinks blue is my favourite colour now"),
        ("My favourite colour is green", "Red or blue is my favourite colour now"),
    ],
)
def test_uncertain_changes_supersede_nothing(old: str, new: str) -> None:
    assert decided(old, new, cosine=0.6) is None


def test_pinned_and_newer_memories_and_those_of_the_same_source_are_not_superseded() -> None:
    new, old = told("I moved to Lisbon", 9), told("I live in Porto")
    assert isinstance(reconcile(new, [(old, 0.6)], LEXICON), Replaces)
    for other in (
        replace(old, pinned=True),
        replace(old, created=START + timedelta(days=10)),
        replace(old, sources=new.sources),
        replace(old, superseded_by="x"),
    ):
        assert reconcile(new, [(other, 0.6)], LEXICON) is None
    assert reconcile(replace(new, speaker=ASSISTANT), [(old, 0.6)], LEXICON) is None


def test_her_name_refers_to_the_person_mentioned_just_before() -> None:
    old = replace(told("My sister's name is Anna"), conversation="c")
    new = replace(told("No, her name is Hannah"), conversation="c", id="n")
    new = replace(new, created=old.created + timedelta(minutes=1), sources=("n",))
    assert isinstance(reconcile(new, [(old, 0.6)], LEXICON), Replaces)
    assert reconcile(replace(new, conversation="d"), [(old, 0.6)], LEXICON) is None


def test_unspeakable_texts_are_read_quickly_and_change_nothing() -> None:
    for text in ("", "?!…", "🐕 " * 5_000, "now " * 200_000, "I moved to " + "x" * 300_000):
        assert decided(text, text + " now", cosine=1.0) is None
    assert list(read("I moved to", LEXICON)) == []


def test_numbers_are_equal_in_words_and_in_digits() -> None:
    assert content_words("I'm forty-three") == content_words("I am 43")
    assert content_words("on the twenty-first") == content_words("on the 21st")
    assert content_words("She is the one") != content_words("She is the 1st time")
