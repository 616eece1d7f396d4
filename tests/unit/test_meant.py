"""What other commands to forget mean: spans, topics, everything; and what is said of it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from assistant.context.conversation import Exchange
from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.answer_origins import ToldItem
from assistant.memory.forgetting.executor import UndoResult
from assistant.memory.forgetting.selection import (
    LIKE,
    ForgetPlan,
    about,
    all_of,
    everything,
    memories_about,
    named,
    since,
    that,
)
from assistant.memory.forgetting.spoken_replies import (
    NOTHING_TO_UNDO,
    brought_back,
    forgotten,
    known,
    question,
)
from assistant.memory.records.hidden import HiddenItems
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
    assert [each.text for each in meant.items] == [OLD["o4"][0], OLD["o1"][0]]
    assert (meant.count, meant.needs_confirmation) == (2, True)


def test_what_is_very_like_a_topic_goes_too_and_what_is_a_little_like_it_stays() -> None:
    exchanges, memories = stored()
    like = [found(memories["o1-user"], LIKE), found(memories["o2-user"], LIKE - 0.01)]

    meant = about("my pets", memories, exchanges, like, LEXICON)

    assert meant is not None
    assert (meant.exchanges, meant.count, meant.needs_confirmation) == (("o1",), 1, False)


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
    assert forgotten(meant, undoable=True) == (
        "Forgotten: the wifi password is hunter seven. Say undo to keep it."
    )


def test_nothing_said_is_nothing_to_forget() -> None:
    assert that([], {}, LEXICON) is None
    assert since([], NOW, 10, {}) is None
    assert all_of([], {}) is None
    assert everything([], {}) is None
    assert named([], {}) is None


def test_a_span_goes_over_conversations_and_takes_what_was_written_down() -> None:
    note = made("n1", "Tea, never coffee.", ADDED_BY_USER, at=-3)
    older = made("n2", "No sugar.", ADDED_BY_USER, at=-30)
    exchanges, memories = stored(note, older)
    turns = turned([("My cat is Pip.", "Aw.", ""), ("I'm tired.", "Rest.", "")], memories)
    recent = [turn.exchange for turn in turns]
    running = Exchange("t3", 3, "I owe Ben ten euros.", NOW + timedelta(minutes=2, seconds=30))
    memories |= remembered(recent)

    meant = since([*exchanges, *recent, running], NOW + timedelta(minutes=3), 10, memories)
    last = since([*exchanges, *recent], NOW + timedelta(minutes=3), 1, memories)

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

    little, more = everything(["o1"], one), everything(["o1"], one | {"n1": note})

    assert little is not None
    assert little.needs_confirmation
    assert question(little) == "That's everything I know about you: one thing. Forget it all?"
    assert more is not None
    assert more.count == 2
    assert set(more.memories) == {*one, "n1"}


def items(*texts: str) -> tuple[ToldItem, ...]:
    return tuple(ToldItem(text, USER, NOW - timedelta(minutes=at)) for at, text in enumerate(texts))


DOG = "My dog is called Max."
LONG = f"My dog loves {'very ' * 30}old shoes."
SHORTENED = "your dog loves very very very very very very very…"


@pytest.mark.parametrize(
    ("told", "done", "asked"),
    [
        (
            (DOG,),
            "Forgotten: your dog is called Max. Say undo to keep it.",
            "That's one thing: your dog is called Max. Forget them all?",
        ),
        (
            (DOG, *(f"I own {n} hats." for n in range(2, 8))),
            "Forgotten: 7 things. Say undo to keep them.",
            "That's 7 things; the most recent: your dog is called Max. Forget them all?",
        ),
        (
            (DOG, "My cat is Pip."),
            "Forgotten: your dog is called Max; your cat is Pip. Say undo to keep them.",
            "That's 2 things: your dog is called Max; your cat is Pip. Forget them all?",
        ),
    ],
)
def test_what_is_said(told: tuple[str, ...], done: str, asked: str) -> None:
    plan = ForgetPlan((), (), items(*told), len(told))

    assert forgotten(plan, undoable=True) == done
    assert forgotten(plan, undoable=False) == done.partition(" Say")[0]
    assert question(plan) == asked


def test_what_is_shortened_ends_so() -> None:
    plan = ForgetPlan((), (), items(LONG), 1)
    said = forgotten(plan, undoable=True)
    assert said.startswith("Forgotten: your dog loves very")
    assert said.endswith("… Say undo to keep it.")


def test_where_nothing_has_a_name_it_is_counted() -> None:
    plan = ForgetPlan((), (), (), 3)
    assert forgotten(plan, undoable=True) == "Forgotten: 3 things. Say undo to keep them."
    assert question(plan) == "That's 3 things. Forget them all?"


def test_named_memories_count_by_their_exchanges() -> None:
    """Both turns of an exchange are one thing; what a derived one rests on counts where it goes."""
    derived = made("f1", "The user has a beagle and a sister.", "o1", "o5")
    _, memories = stored(derived)

    turns = named([memories["o1-user"], memories["o1-assistant"]], memories)
    alone = named([derived], memories)
    wide = named([derived], memories, sources=True)

    assert turns is not None
    assert (turns.exchanges, turns.count) == (("o1",), 1)
    assert alone is not None
    assert (alone.exchanges, alone.memories, alone.needs_confirmation) == ((), ("f1",), False)
    assert wide is not None
    assert (set(wide.exchanges), wide.needs_confirmation) == ({"o1", "o5"}, True)


def test_an_undo_tells_what_is_there_again() -> None:
    hidden = HiddenItems.of("me", ["o1", "t1"], ["n1"], NOW)
    exchanges = earlier({"o1": OLD["o1"]})
    note = made("n1", "Tea, never coffee.", ADDED_BY_USER)

    assert brought_back(UndoResult(hidden, tuple(exchanges), (note,))) == (
        "Brought back: Tea, never coffee; your dog is called Max."
    )
    assert brought_back(UndoResult(hidden, (), ())) == NOTHING_TO_UNDO
    assert brought_back(None) == NOTHING_TO_UNDO


def test_what_is_known_of_a_topic() -> None:
    _, memories = stored()
    dogs = memories_about("my dog", memories, [], LEXICON)

    assert known("my dog", dogs) == (
        "I remember 2 things about your dog: you're afraid of dogs that bark;"
        " your dog is called Max."
    )
    assert known("my cat", []) == "I don't remember anything about your cat."
    assert known(None, [memories["o1-user"]]) == (
        "I remember one thing about you: your dog is called Max."
    )
    many = [made(f"f{n}", f"I own {n} hats.", ADDED_BY_USER) for n in range(2, 8)]
    assert known("hats", many) == (
        "I remember 6 things about hats. The most recent: you own 2 hats; you own 3 hats;"
        " you own 4 hats."
    )


def test_a_long_conversation_of_one_question_is_followed_back_once() -> None:
    _, memories = stored()
    turns = turned([("How old is my dog?", "Seven.", "o1 o4")] * 40, memories)

    meant = that(turns, memories, LEXICON)

    assert meant is not None
    assert "t40" in meant.exchanges
