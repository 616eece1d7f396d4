"""What a newer statement names as no longer so."""

from datetime import UTC, datetime, timedelta

import pytest

from assistant.memory.lexicon import Lexicon
from assistant.memory.reconcile import Decision, New, Supersedes, may_matter, reconcile
from assistant.memory.record import Kind, Memory
from assistant.memory.replaced import names_what_it_replaces, replaces

START = datetime(2026, 3, 2, 10, tzinfo=UTC)
LEXICON = Lexicon("en")


def told(text: str, day: int = 0, speaker: str = "user") -> Memory:
    return Memory(
        id=f"e{day}-user",
        user_id="me",
        kind=Kind.EXCHANGE,
        text=text,
        created=START + timedelta(days=day),
        speaker=speaker,
        sources=(f"e{day}",),
    )


def decided(old: str, new: str) -> Decision:
    return reconcile(told(new, 9), [(told(old), 0.5)], LEXICON)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I want the bathroom tiles in blue", "we'll have white tiles now instead of blue ones"),
        ("My yoga lesson is on Tuesdays", "they've moved yoga from Tuesday to Thursday"),
        ("The meeting is at nine", "The meeting was put back from nine to eleven."),
        ("I play the oboe in an orchestra", "I've given up the oboe, too loud for the neighbours"),
        ("I drive a Fiat", "We finally sold the Fiat, and there's a Dacia in the yard"),
        ("We have two goats", "I gave away the goats last month"),
        ("My niece is going to be a vet", "My niece won't be a vet after all"),
        ("I start work at eight", "I don't start at eight any more, it's half past nine"),
        ("My tutor is called Anders", "My tutor is called Andrea, not Anders"),
    ],
)
def test_what_is_named_as_replaced_is_superseded(old: str, new: str) -> None:
    assert may_matter(told(new, 9), LEXICON)
    assert isinstance(decided(old, new), Supersedes)
    assert not replaces(told(old, 9), told(new), LEXICON)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I take the bus to work", "I walked to work instead of the bus"),
        ("I drink coffee at breakfast", "I drank tea at breakfast, not coffee"),
        ("I like the Fiat", "We sold the Fiat"),
        ("I bought the Fiat in Turin", "We sold the Fiat"),
        ("I learnt the oboe two years ago", "I gave up the oboe"),
        ("I play the oboe", "My brother gave up the oboe"),
        ("I play the oboe", "Should I say I gave up the oboe?"),
        ("I play the oboe", "If I gave up the oboe I'd have time"),
        ("I play the oboe", "I gave up the piano"),
        ("I eat pork", "My aunt doesn't eat pork any more"),
        ("I eat pork", "She does not eat pork any more"),
        ("I eat pork", "Greta doesn't eat pork any more"),
        ("Do I play the oboe?", "I gave up the oboe"),
        ("My yoga lesson is on Tuesdays", "They moved the dustbins from Tuesday to Thursday"),
        ("My yoga lesson is on Tuesdays", "Today yoga moved from Tuesday to Thursday"),
        ("I drive a Fiat, my wife a Volvo, our son the tram and the dog walks", "I sold the Fiat"),
    ],
)
def test_what_is_not_certain_is_let_alone(old: str, new: str) -> None:
    assert decided(old, new) == New()


def test_the_user_alone_says_so_and_in_english() -> None:
    old, new = told("I drive a Fiat"), told("I sold the Fiat", 9)
    assert replaces(new, old, LEXICON)
    assert not replaces(told(new.text, 9, "assistant"), old, LEXICON)
    assert not replaces(new, told(old.text, 0, "assistant"), LEXICON)
    assert not replaces(new, old, Lexicon("de"))


def test_texts_that_nobody_speaks_are_read_quickly() -> None:
    for text in ("", "?!…", "instead of " * 200_000, "moved from " * 30, "not " * 90):
        assert not names_what_it_replaces(told(text), LEXICON)
        assert not replaces(told("I sold the Fiat", 9), told(text), LEXICON)
