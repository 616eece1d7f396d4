"""What requests to forget select: by topic, by time span, everything, or memories by id."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from assistant.context.conversation import Exchange
from assistant.language.calendar import Period
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.last_turn import that
from assistant.memory.forgetting.selection import (
    LIKE,
    ForgetPlan,
    about,
    all_of,
    everything,
    named,
    within,
)
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.results import RecalledMemory
from tests.support.told import NOW, Said, earlier, note, remembered, turned

LEXICON = TextAnalyzer("en")
OLD: Mapping[str, Said] = {
    "o1": ("My dog is called Max.", "A fine name."),
    "o2": ("Hannah rang this morning.", "How is she?"),
    "o3": ("Anna's flat has two balconies.", "Lovely."),
    "o4": ("I'm afraid of dogs that bark.", "I see."),
    "o5": ("My sister is getting married.", "Where is the wedding?"),
    "o6": ("What does the dog eat?", "I don't know."),
}


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


def some(plan: ForgetPlan | None) -> ForgetPlan:
    assert plan is not None
    return plan


# -- topics -------------------------------------------------------------------------------------


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
    ],
)
def test_a_topic_needs_all_of_its_words(topic: str, gone: str) -> None:
    exchanges, memories = stored()
    plan = some(about(topic, memories, exchanges, [], LEXICON))
    assert set(plan.exchanges) == set(gone.split())
    assert set(plan.memories) == {
        f"{key}-{who}" for key in gone.split() for who in ("user", "assistant")
    }


@pytest.mark.parametrize("topic", ["Ann", "cats", "him", ""])
def test_a_topic_that_nobody_mentioned_selects_nothing(topic: str) -> None:
    exchanges, memories = stored()
    assert about(topic, memories, exchanges, [], LEXICON) is None


def test_a_topic_includes_the_assistants_later_mentions_of_its_names() -> None:
    exchanges = earlier(
        {
            "t1": ("My dog is called Max and he loves to play fetch.", "Nice."),
            "t2": ("Good morning.", "Hello! Does Max still love to play?"),
            "t3": ("Is Max coming to dinner, my colleague?", "Max from work would love to."),
            "t4": ("Good evening.", "Max Planck was a physicist."),
        }
    )
    plan = some(about("my dog", remembered(exchanges), exchanges, (), LEXICON))
    assert set(plan.exchanges) == {"t1", "t2"}
    assert plan.count == 1, "only one thing was told"


def test_exchanges_about_a_topic_are_newest_first_and_questions_are_not_counted() -> None:
    exchanges, memories = stored()
    plan = some(about("my dog", memories, exchanges, [], LEXICON))
    assert plan.exchanges == ("o6", "o4", "o1")
    assert [each.text for each in plan.items] == [OLD["o4"][0], OLD["o1"][0]]
    assert (plan.count, plan.needs_confirmation) == (2, True)


def test_only_memories_very_similar_to_a_topic_are_selected_by_meaning() -> None:
    exchanges, memories = stored()
    like = [found(memories["o1-user"], LIKE), found(memories["o2-user"], LIKE - 0.01)]
    plan = some(about("my pets", memories, exchanges, like, LEXICON))
    assert (plan.exchanges, plan.count, plan.needs_confirmation) == (("o1",), 1, False)


def test_derived_memories_are_forgotten_with_their_sources() -> None:
    alone = note("f1", "The user has a dog.", "o1")
    both = note("f2", "The user has a beagle and a sister.", "o1", "o5")
    by_hand = note("f3", "The beagle needs pills.", ADDED_BY_USER)
    exchanges, memories = stored(alone, both, by_hand)

    dog = some(about("dog Max", memories, exchanges, [], LEXICON))
    assert set(dog.memories) == {"o1-user", "o1-assistant", "f1"}
    beagle = some(about("the beagle", memories, exchanges, [], LEXICON))
    assert set(beagle.exchanges) == {"o1", "o5"}
    assert {"f1", "f2", "f3"} <= set(beagle.memories)


# -- "forget that": more than in `test_answer_origins` -----------------------------------------


def test_only_the_sources_of_a_summary_that_contain_the_answer_are_selected() -> None:
    summary = note("s1", "Max, weddings, balconies.", *OLD, kind=MemoryKind.SUMMARY)
    _, memories = stored(summary)
    turns = turned([("What's my dog called?", "Max.", "s1")], memories)
    plan = some(that(turns, memories, LEXICON))
    assert set(plan.exchanges) == {"o1", "t1"}
    assert "s1" in plan.memories


def test_all_repetitions_of_a_statement_are_selected() -> None:
    _, memories = stored()
    again = earlier({"o9": ("My dog is called Max.", "I know.")})
    merged = replace(memories["o1-user"], sources=("o1", "o9"), refreshed=NOW)
    memories |= remembered(again) | {merged.id: merged}
    del memories["o9-user"]
    asked = turned([("What's my dog called?", "Max.", "o1")], memories)
    assert set(some(that(asked, memories, LEXICON)).exchanges) == {"o1", "o9", "t1"}

    told = turned([("My dog is called Max.", "I know.", "")], memories)
    memories[merged.id] = replace(merged, sources=("o1", "t1"))
    repeated = some(that(told, memories, LEXICON))
    assert set(repeated.exchanges) == {"o1", "t1"}
    assert merged.id in repeated.memories


def test_a_hand_written_memory_is_selected_with_only_the_question_about_it() -> None:
    by_hand = note("n1", "The wifi password is hunter seven.", ADDED_BY_USER)
    memories = {by_hand.id: by_hand}
    turns = turned([("What's my wifi password?", "It's hunter seven.", "n1")], memories)
    plan = some(that(turns, memories, LEXICON))
    assert (plan.exchanges, plan.memories) == (("t1",), ("n1",))
    assert [each.text for each in plan.items] == [by_hand.text]


def test_a_question_repeated_in_a_long_conversation_is_traced_back_only_once() -> None:
    _, memories = stored()
    turns = turned([("How old is my dog?", "Seven.", "o1 o4")] * 40, memories)
    assert "t40" in some(that(turns, memories, LEXICON)).exchanges


# -- spans, everything, by id --------------------------------------------------------------------


def test_without_exchanges_no_request_selects_anything() -> None:
    assert that([], {}, LEXICON) is None
    assert within(Period.last(10, NOW), [], {}) is None
    assert all_of([], {}) is None
    assert everything([], {}) is None
    assert named([], {}) is None


def test_a_span_covers_all_conversations_and_hand_written_memories() -> None:
    recently = note("n1", "Tea, never coffee.", ADDED_BY_USER, at=-3)
    older = note("n2", "No sugar.", ADDED_BY_USER, at=-30)
    exchanges, memories = stored(recently, older)
    turns = turned([("My cat is Pip.", "Aw.", ""), ("I'm tired.", "Rest.", "")], memories)
    recent = [turn.exchange for turn in turns]
    running = Exchange("t3", 3, "I owe Ben ten euros.", NOW + timedelta(minutes=2, seconds=30))
    memories |= remembered(recent)

    now = NOW + timedelta(minutes=3)
    plan = some(within(Period.last(10, now), [*exchanges, *recent, running], memories))
    assert plan.exchanges == ("t3", "t2", "t1")
    assert "n1" in plan.memories
    assert "n2" not in plan.memories
    assert plan.count == 4
    last = some(within(Period.last(1, now), [*exchanges, *recent], memories))
    assert last.exchanges == ("t2",)  # this exchange ended within the span
    later = now + timedelta(hours=1)
    plan = some(within(Period.last(1, later), [*exchanges, *recent, running], memories))
    assert plan.exchanges == ("t3",)  # this exchange is still in progress


def test_an_older_statement_that_was_corrected_in_a_span_is_named_and_asked_about() -> None:
    corrected = note("n1", "My dog is called Tom.", ADDED_BY_USER, at=-3)
    exchanges, memories = stored(corrected, note("f1", "The user's dog is Max.", "o1"))
    memories["o1-user"] = replace(memories["o1-user"], superseded_by="n1")
    plan = some(within(Period.last(10, NOW), exchanges, memories))
    assert (plan.exchanges, plan.count, plan.needs_confirmation) == (("o1",), 2, True)
    assert [each.text for each in plan.items] == [corrected.text, OLD["o1"][0]]
    by_id = some(named([corrected], memories))
    assert (by_id.exchanges, by_id.count) == (("o1",), 2)


def test_forgetting_everything_always_needs_confirmation() -> None:
    one = remembered(earlier({"o1": OLD["o1"]}))
    by_hand = note("n1", "Tea.", ADDED_BY_USER)
    little = some(everything(["o1"], one))
    assert (little.count, little.needs_confirmation) == (1, True)
    more = some(everything(["o1"], one | {"n1": by_hand}))
    assert more.count == 2
    assert set(more.memories) == {*one, "n1"}


def test_memories_selected_by_id_are_counted_by_their_exchanges() -> None:
    """The question and answer of an exchange count as one thing. The sources of a derived memory
    count only if they are selected too."""
    derived = note("f1", "The user has a beagle and a sister.", "o1", "o5")
    _, memories = stored(derived)
    turns = some(named([memories["o1-user"], memories["o1-assistant"]], memories))
    assert (turns.exchanges, turns.count) == (("o1",), 1)
    alone = some(named([derived], memories))
    assert (alone.exchanges, alone.memories, alone.needs_confirmation) == ((), ("f1",), False)
    wide = some(named([derived], memories, sources=True))
    assert (set(wide.exchanges), wide.needs_confirmation) == ({"o1", "o5"}, True)
