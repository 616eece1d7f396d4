"""What other commands to forget mean: spans, topics, everything; and what is said of it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from assistant.context.conversation import Exchange
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.selection import (
    LIKE,
    NOTHING,
    Selection,
    about,
    all_of,
    everything,
    known,
    memories_about,
    question,
    read_back,
    since,
    that,
)
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.results import RecalledMemory
from tests.support.told import NOW, Said, earlier, remembered, turned

LEXICON = TextAnalyzer("en")
OLD: Mapping[str, Said] = {
    "o1": ("My dog is called Max.", "A fine name."),
    "o2": ("Hannah rang this morning.", "How is she?"),
    "o3": ("Anna's flat has two balconies.", "Lovely."),
    "o4": ("I'm afraid of dogs that bark.", "I see."),
    "o5": ("My sister is getting married.", "Where is the wedding?"),
    "o6": ("What does the dog eat?", "I don't know."),
}


def made(
    key: str, text: str, *sources: str, kind: MemoryKind = MemoryKind.FACT, at: int = 0
) -> Memory:
    created = NOW + timedelta(minutes=at)
    return Memory(key, "me", kind, text, created, sources=sources)


def stored(*others: Memory) -> tuple[list[Exchange], dict[str, Memory]]:
    exchanges = earlier(OLD)
    return exchanges, remembered(exchanges) | {each.id: each for each in others}


def found(memory: Memory, cosine: float) -> RecalledMemory:
    return RecalledMemory(
        id=memory.id,
        text=memory.text,
        kind=memory.kind,
        speaker=memory.speaker,
        created=memory.created,
        score=cosine,
        parts={"meaning": cosine},
        words=(),
        superseded_by=None,
        sources=memory.sources,
    )


@pytest.mark.parametrize(
    ("topic", "gone"),
    [
        ("my dog", "o1 o4 o6"),
        ("the dogs", "o1 o4 o6"),
        ("Anna", "o3"),
        ("anna's flats", "o3"),
        ("Hannah", "o2"),
        ("my sister's wedding", "o5"),
        ("my dog Max", "o1"),
        ("the dog's barking", "o4"),
        ("Ann", ""),
        ("cats", ""),
        ("him", ""),
        ("", ""),
    ],
)
def test_a_topic_needs_all_of_its_words(topic: str, gone: str) -> None:
    exchanges, memories = stored()

    meant = about(topic, memories, exchanges, [], LEXICON)

    assert (meant is None) is (gone == "")
    if meant is not None:
        assert set(meant.exchanges) == set(gone.split())
        assert set(meant.memories) == {f"{key}-{who}" for key in gone.split() for who in SPEAKERS}


SPEAKERS = ("user", "assistant")


def test_about_a_topic_takes_what_the_assistant_said_of_it_elsewhere_by_name() -> None:
    exchanges = earlier(
        {
            "t1": ("My dog is called Max and he loves to play fetch.", "Nice."),
            "t2": ("Good morning.", "Hello! Does Max still love to play?"),
            "t3": ("Is Max coming to dinner, my colleague?", "Max from work would love to."),
            "t4": ("Good evening.", "Max Planck was a physicist."),
        }
    )
    meant = about("my dog", remembered(exchanges), exchanges, (), LEXICON)
    assert meant is not None
    assert set(meant.exchanges) == {"t1", "t2"}
    assert meant.count == 1, "one thing was told"


def test_about_a_topic_is_newest_first_and_questions_are_not_counted() -> None:
    exchanges, memories = stored()

    meant = about("my dog", memories, exchanges, [], LEXICON)

    assert meant is not None
    assert meant.exchanges == ("o6", "o4", "o1")
    assert (meant.count, meant.newest) == (2, "you're afraid of dogs that bark")
    assert meant.question == question(meant)


def test_what_is_very_like_a_topic_goes_too_and_what_is_a_little_like_it_stays() -> None:
    exchanges, memories = stored()
    like = [found(memories["o1-user"], LIKE), found(memories["o2-user"], LIKE - 0.01)]

    meant = about("my pets", memories, exchanges, like, LEXICON)

    assert meant is not None
    assert (meant.exchanges, meant.count, meant.question) == (("o1",), 1, None)


def test_derived_memories_go_with_what_they_rest_on() -> None:
    alone = made("f1", "The user has a dog.", "o1")
    both = made("f2", "The user has a beagle and a sister.", "o1", "o5")
    by_hand = made("f3", "The beagle needs pills.", ADDED_BY_USER)
    exchanges, memories = stored(alone, both, by_hand)

    dog = about("dog Max", memories, exchanges, [], LEXICON)
    beagle = about("the beagle", memories, exchanges, [], LEXICON)

    assert dog is not None
    assert set(dog.memories) == {"o1-user", "o1-assistant", "f1"}
    assert beagle is not None
    assert set(beagle.exchanges) == {"o1", "o5"}
    assert {"f1", "f2", "f3"} <= set(beagle.memories)
    assert ADDED_BY_USER not in beagle.exchanges


def test_of_a_summarys_many_sources_those_go_that_say_it() -> None:
    summary = made("s1", "Max, weddings, balconies.", *OLD, kind=MemoryKind.SUMMARY)
    _, memories = stored(summary)
    turns = turned([("What's my dog called?", "Max.", "s1")], memories)

    meant = that(turns, memories, LEXICON)

    assert meant is not None
    assert set(meant.exchanges) == {"o1", "t1"}
    assert "s1" in meant.memories


def test_all_tellings_go() -> None:
    _, memories = stored()
    again = earlier({"o9": ("My dog is called Max.", "I know.")})
    merged = replace(memories["o1-user"], sources=("o1", "o9"), refreshed=NOW)
    memories |= remembered(again) | {merged.id: merged}
    del memories["o9-user"]

    asked = that(turned([("What's my dog called?", "Max.", "o1")], memories), memories, LEXICON)
    told = turned([("My dog is called Max.", "I know.", "")], memories)
    memories[merged.id] = replace(merged, sources=("o1", "t1"))

    assert asked is not None
    assert set(asked.exchanges) == {"o1", "o9", "t1"}
    repeated = that(told, memories, LEXICON)
    assert repeated is not None
    assert set(repeated.exchanges) == {"o1", "t1"}
    assert merged.id in repeated.memories


def test_a_note_by_hand_goes_with_the_question_alone() -> None:
    note = made("n1", "The wifi password is hunter seven.", ADDED_BY_USER)
    memories = {note.id: note}
    turns = turned([("What's my wifi password?", "It's hunter seven.", "n1")], memories)

    meant = that(turns, memories, LEXICON)

    assert meant is not None
    assert (meant.exchanges, meant.memories) == (("t1",), ("n1",))
    assert read_back(meant) == (
        "Forgotten: the wifi password is hunter seven. Say undo to keep it."
    )


def test_nothing_said_is_nothing_to_forget() -> None:
    assert that([], {}, LEXICON) is None
    assert since([], NOW, 10, {}, LEXICON) is None
    assert all_of([], {}, LEXICON) is None
    assert everything([], {}, LEXICON) is None
    assert read_back(None) == NOTHING


def test_a_span_goes_over_conversations_and_takes_what_was_written_down() -> None:
    note = made("n1", "Tea, never coffee.", ADDED_BY_USER, at=-3)
    older = made("n2", "No sugar.", ADDED_BY_USER, at=-30)
    exchanges, memories = stored(note, older)
    turns = turned([("My cat is Pip.", "Aw.", ""), ("I'm tired.", "Rest.", "")], memories)
    recent = [turn.exchange for turn in turns]
    running = Exchange("t3", 3, "I owe Ben ten euros.", NOW + timedelta(minutes=2, seconds=30))
    memories |= remembered(recent)

    meant = since([*exchanges, *recent, running], NOW + timedelta(minutes=3), 10, memories, LEXICON)
    last = since([*exchanges, *recent], NOW + timedelta(minutes=3), 1, memories, LEXICON)

    assert meant is not None
    assert meant.exchanges == ("t3", "t2", "t1")
    assert "n1" in meant.memories
    assert "n2" not in meant.memories
    assert meant.count == 4
    assert last is not None
    assert last.exchanges == ("t2",)  # it ended within


def test_everything_is_asked_whatever_it_is() -> None:
    one = remembered(earlier({"o1": OLD["o1"]}))
    note = made("n1", "Tea.", ADDED_BY_USER)

    little, more = everything(["o1"], one, LEXICON), everything(["o1"], one | {"n1": note}, LEXICON)

    assert little is not None
    assert little.question == "That is all I know about you, one thing. Forget everything?"
    assert more is not None
    assert more.count == 2
    assert set(more.memories) == {*one, "n1"}


@pytest.mark.parametrize(
    ("count", "newest", "done", "asked"),
    [
        (
            1,
            "your dog is called Max",
            "Forgotten: your dog is called Max. Say undo to keep it.",
            "That is one thing, the newest: your dog is called Max. Forget them all?",
        ),
        (
            7,
            "your dog is called Max",
            "Forgotten: 7 things. Say undo to keep them.",
            "That is 7 things, the newest: your dog is called Max. Forget them all?",
        ),
        (
            2,
            "your dog loves…",
            "Forgotten: 2 things. Say undo to keep them.",
            "That is 2 things, the newest: your dog loves… Forget them all?",
        ),
        (
            1,
            "your dog loves…",
            "Forgotten: your dog loves… Say undo to keep it.",
            "That is one thing, the newest: your dog loves… Forget them all?",
        ),
        (
            3,
            "",
            "Forgotten: 3 things. Say undo to keep them.",
            "That is 3 things. Forget them all?",
        ),
    ],
)
def test_what_is_said(count: int, newest: str, done: str, asked: str) -> None:
    meant = Selection((), (), newest, count)

    assert read_back(meant) == done
    assert question(meant) == asked


def test_a_few_things_are_all_named() -> None:
    meant = Selection((), (), "your dog is called Max", 2, others=("your dog loves…",))
    assert read_back(meant) == (
        "Forgotten: your dog is called Max; your dog loves… Say undo to keep them."
    )
    assert question(meant) == (
        "That is 2 things: your dog is called Max; your dog loves… Forget them all?"
    )


def test_what_is_known_of_a_topic() -> None:
    _, memories = stored()
    dogs = memories_about("my dog", memories, [], LEXICON)

    assert known("my dog", dogs, LEXICON) == (
        "About your dog I remember 2 things: you're afraid of dogs that bark;"
        " your dog is called Max."
    )
    assert known("my cat", [], LEXICON) == "I remember nothing about your cat."
    assert known(None, [memories["o1-user"]], LEXICON) == (
        "About you I remember one thing: your dog is called Max."
    )
    many = [made(f"f{n}", f"I own {n} hats.", ADDED_BY_USER) for n in range(2, 8)]
    assert known("hats", many, LEXICON) == (
        "About hats I remember 6 things. The newest: you own 2 hats; you own 3 hats;"
        " you own 4 hats."
    )


def test_a_long_conversation_of_one_question_is_followed_back_once() -> None:
    _, memories = stored()
    turns = turned([("How old is my dog?", "Seven.", "o1 o4")] * 40, memories)

    meant = that(turns, memories, LEXICON)

    assert meant is not None
    assert "t40" in meant.exchanges
