"""The sentences spoken before and after forgetting, and those that list what is remembered."""

from datetime import timedelta

import pytest

from assistant.language.second_person import spoken_phrase
from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting import spoken_replies
from assistant.memory.forgetting.answer_origins import ToldItem
from assistant.memory.forgetting.executor import UndoResult
from assistant.memory.forgetting.selection import ForgetPlan, memories_about
from assistant.memory.forgetting.spoken_replies import (
    NOTHING_TO_UNDO,
    brought_back,
    forgotten,
    known,
    question,
    said_then,
)
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.ids import ADDED_BY_USER
from tests.support.told import NOW, earlier, note, remembered

DOG = "My dog is called Max."
LONG = f"My dog loves {'very ' * 30}old shoes."


def plan_of(*texts: str, everything: bool = False) -> ForgetPlan:
    items = [ToldItem(text, USER, NOW - timedelta(minutes=at)) for at, text in enumerate(texts)]
    return ForgetPlan((), (), tuple(items), len(texts), everything=everything)


@pytest.mark.parametrize(
    ("plan", "done", "asked"),
    [
        (
            plan_of(DOG),
            "Forgotten: your dog is called Max. Say undo to keep it.",
            "That's one thing: your dog is called Max. Forget it?",
        ),
        (
            plan_of(DOG, *(f"I own {n} hats." for n in range(2, 8))),
            "Forgotten: 7 things. Say undo to keep them.",
            "That's 7 things; the most recent: your dog is called Max. Forget them all?",
        ),
        (
            plan_of(DOG, "My cat is Pip."),
            "Forgotten: your dog is called Max; your cat is Pip. Say undo to keep them.",
            "That's 2 things: your dog is called Max; your cat is Pip. Forget them all?",
        ),
        (
            plan_of("The wifi password is hunter seven.", everything=True),
            "Forgotten: the wifi password is hunter seven. Say undo to keep it.",
            "That's everything I know about you: one thing. Forget it all?",
        ),
        (
            ForgetPlan((), (), (), 3),  # nothing that could be quoted
            "Forgotten: 3 things. Say undo to keep them.",
            "That's 3 things. Forget them all?",
        ),
    ],
)
def test_the_reply_and_the_question_describe_the_plan(
    plan: ForgetPlan, done: str, asked: str
) -> None:
    assert forgotten(plan, undoable=True) == done
    assert forgotten(plan, undoable=False) == done.partition(" Say")[0]
    assert question(plan) == asked


def test_a_shortened_text_ends_with_an_ellipsis() -> None:
    said = forgotten(plan_of(LONG), undoable=True)
    assert said.startswith("Forgotten: your dog loves very")
    assert said.endswith("… Say undo to keep it.")


def test_the_reply_to_undo_names_what_was_restored() -> None:
    hidden = HiddenItems.of("me", ["o1", "t1"], ["n1"], NOW)
    exchanges = earlier({"o1": (DOG, "A fine name.")})
    by_hand = note("n1", "Tea, never coffee.", ADDED_BY_USER)
    assert brought_back(UndoResult(hidden, tuple(exchanges), (by_hand,))) == (
        "Brought back: Tea, never coffee; your dog is called Max."
    )
    assert brought_back(UndoResult(hidden, (), ())) == NOTHING_TO_UNDO
    assert brought_back(None) == NOTHING_TO_UNDO


def test_the_reply_lists_what_is_remembered_about_a_topic() -> None:
    memories = remembered(
        earlier(
            {
                "o1": (DOG, "A fine name."),
                "o4": ("I'm afraid of dogs that bark.", "I see."),
                "o6": ("What does the dog eat?", "I don't know."),
            }
        )
    )
    dogs = memories_about("my dog", memories, [], TextAnalyzer("en"))
    assert known("my dog", dogs) == (
        "I remember 2 things about your dog: you're afraid of dogs that bark;"
        " your dog is called Max."
    )
    assert known("my cat", []) == "I don't remember anything about your cat."
    assert known(None, [memories["o1-user"]]) == (
        "I remember one thing about you: your dog is called Max."
    )
    many = [note(f"f{n}", f"I own {n} hats.", ADDED_BY_USER) for n in range(2, 8)]
    assert known("hats", many) == (
        "I remember 6 things about hats. The most recent: you own 2 hats; you own 3 hats;"
        " you own 4 hats."
    )


def test_only_what_is_named_is_phrased_however_much_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    phrased: list[str] = []

    def spoken(text: str, speaker: str = "user", *, english: bool = True) -> str:
        phrased.append(text)
        return spoken_phrase(text, speaker, english=english)

    monkeypatch.setattr(spoken_replies, "spoken_phrase", spoken)
    hats = [note(f"f{n}", f"I own {n} hats.", ADDED_BY_USER) for n in range(2, 2000)]
    twice = note("again", "Oh, I own 2 hats.", ADDED_BY_USER)
    asked = note("asked", "How many hats do I own?", ADDED_BY_USER)
    same = note("same", "I own 1999 hats.", ADDED_BY_USER)
    assert known(None, [asked, hats[0], twice, *hats[1:], same]) == (
        "I remember 1998 things about you. The most recent: you own 2 hats; you own 3 hats;"
        " you own 4 hats."
    )
    assert len(phrased) < 10
    assert known(None, [hats[0], twice]) == "I remember one thing about you: you own 2 hats."


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("The last ten minutes,", "what was said in the last ten minutes"),
        ("Yesterday.", "what was said yesterday"),
        ("since lunch", "what was said since lunch"),
        ("tuesday", "what was said on Tuesday"),
        ("Friday night", "what was said on Friday night"),
        ("october", "what was said in October"),
        ("between two and three", "what was said between two and three"),
        ("half an hour", "what was said in that time"),
        ("", "what was said in that time"),
    ],
)
def test_a_period_is_named_in_the_users_words(when: str, said: str) -> None:
    assert said_then(when) == said
