"""The notation of spoken commands, and how words are normalised before they are matched."""

import pytest

from assistant.intents.command import BY_MEANING, CommandKind
from assistant.intents.command_text import MOST_WORDS, CommandText
from assistant.intents.grammar import GrammarError, Notation, language, line, listed

ENGLISH = language("en")


@pytest.mark.parametrize(
    ("pattern", "said", "fits"),
    [
        ("forget [all of] that", "forget that", True),
        ("forget [all of] that", "forget all of that", True),
        ("forget [all of] that", "forget all that", False),
        ("(stop | enough)", "enough", True),
        ("<verb> it", "don't it", False),
        ("<verb> it", "throw away it", True),
        ("<verb>* it", "throw erase it", True),
        ("<verb>* it", "it", True),
    ],
)
def test_the_notation_has_options_alternatives_and_repetitions(
    pattern: str, said: str, fits: bool
) -> None:
    notation = Notation({"verb": "throw | throw away\nerase"})

    assert bool(notation.pattern(pattern).regex.fullmatch(line(said.split()))) is fits


def test_a_slot_captures_a_name_and_a_question_mark_allows_questions() -> None:
    pattern = Notation({}).pattern("what about {named} ?")
    found = pattern.regex.fullmatch("what about my dog ")

    assert (pattern.slot, pattern.asked) == ("named", True)
    assert found is not None
    assert found["named"] == "my dog "


@pytest.mark.parametrize("text", ["<unknown>", "<round>", "(open", "close]"])
def test_a_wrong_pattern_is_an_error(text: str) -> None:
    with pytest.raises(GrammarError):
        Notation({"round": "a <round>"}).pattern(text)


def test_list_entries_end_at_bars_and_line_ends_outside_brackets() -> None:
    assert listed("a | b\n(c | d) e\n| f") == ["a", "b", "(c | d) e", "f"]


def test_a_language_without_commands_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        language("xx")


def test_every_kind_of_command_to_the_assistant_itself_can_be_said_in_english() -> None:
    said = {kind for kind, _ in (*ENGLISH.commands, *ENGLISH.objects, *ENGLISH.pointed)}

    assert said == {kind.value for kind in set(CommandKind) - BY_MEANING}


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("Um, FOR GET what I’ve said!", "forget what ive said"),
        ("undo, undo that", "undo that"),
        ("Forget that, that was private.", "forget that that was private"),
        ("forget evrything", "forget everything"),
        ("she forgot", "she forgot"),
        ("please forgot that", "forget that"),
        ("...", ""),
    ],
)
def test_hesitations_stutters_and_misheard_words_are_corrected(said: str, read: str) -> None:
    assert " ".join(word.plain for word in CommandText(said, ENGLISH).words) == read


def test_text_too_long_for_a_command_is_ignored() -> None:
    assert CommandText("well " + "word and " * MOST_WORDS, ENGLISH).words == ()


def test_names_keep_the_words_as_spoken() -> None:
    said = CommandText("about my, uh, mother-in-law Anne-Marie", ENGLISH)

    assert said.named(said.words[1:]) == "my mother-in-law Anne-Marie"


@pytest.mark.parametrize(
    ("said", "minutes"),
    [
        ("ten minutes", 10),
        ("10 minutes", 10),
        ("minute", 1),
        ("thirty seconds", 1),
        ("90 seconds", 2),
        ("forty five minutes", 45),
        ("half an hour", 30),
        ("quarter of an hour", 15),
        ("three quarters of an hour", 45),
        ("an hour and a half", 90),
        ("two and a half hours", 150),
        ("1.5 hours", 90),
        ("couple of hours", 120),
        ("few minutes", 5),
        ("five or ten minutes", 10),
        ("hour or so", 60),
        ("two days", 2880),
        ("to minutes", 2),
        ("0 minutes", None),
        ("nine thousand weeks", None),
        ("ten five minutes", None),
        ("ten", None),
        ("a while", None),
    ],
)
def test_spans_of_time_are_converted_to_minutes(said: str, minutes: int | None) -> None:
    assert ENGLISH.durations.minutes(said) == minutes
