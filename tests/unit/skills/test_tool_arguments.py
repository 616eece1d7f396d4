"""Only what the user has said is passed to a tool."""

import re
from typing import Any

import pytest

from assistant.skills.tools.tool_arguments import from_answer, missing, supported
from assistant.tool_servers.tool import Limits, Parameter, ParameterKind, Tool

TEXT, NUMBER, INTEGER = ParameterKind.TEXT, ParameterKind.NUMBER, ParameterKind.INTEGER
ZONE = Parameter("source_timezone")
COLOUR = Parameter("colour", choices=("red", "dark_blue"))
FILES = Parameter("files", ParameterKind.TEXTS)


def checked(parameter: Parameter, value: Any, said: str) -> Any:
    tool = Tool("shelf", "keep", parameters=(parameter,))
    return supported(tool, {parameter.name: value}, said).get(parameter.name)


@pytest.mark.parametrize(
    ("value", "said", "kept"),
    [
        ("holidays", "create a branch called Holidays", "Holidays"),
        ("Buy milk.", "write buy milk to shopping.txt", "buy milk"),
        ("shopping.txt", "write buy milk to shopping dot txt", "shopping.txt"),
        ("buy  milk", "write buy\nmilk", "buy\nmilk"),
        ("holiday", "create a branch called holidays", None),
        ("docs/notes.txt", "read notes.txt", None),
        ("main", "create a branch called holidays", None),
        ("", "create a branch", None),
        (" . ", "create a branch", None),
        (7, "create 7 branches", None),
        (["a"], "create a", None),
        ({"a": 1}, "create a", None),
        ("create a branch", "Create a branch.", None),
    ],
)
def test_a_text_must_stand_in_the_utterance(value: Any, said: str, kept: str | None) -> None:
    assert checked(Parameter("name"), value, said) == kept


@pytest.mark.parametrize(
    ("kind", "value", "said", "kept"),
    [
        (INTEGER, 3, "show me the last three commits", 3),
        (INTEGER, 21, "set it to twenty-one", 21),
        (INTEGER, 21, "set it to 21 degrees", 21),
        (NUMBER, 21.5, "set it to 21.5 degrees", 21.5),
        (INTEGER, 21.5, "set it to 21.5 degrees", None),
        (INTEGER, 10, "show me the last commits", None),
        (INTEGER, True, "show me one", None),
        (NUMBER, "3", "show me three", None),
    ],
)
def test_a_number_must_be_said(kind: ParameterKind, value: Any, said: str, kept: Any) -> None:
    assert checked(Parameter("count", kind), value, said) == kept


@pytest.mark.parametrize(
    ("parameter", "value", "said", "kept"),
    [
        (COLOUR, "dark_blue", "paint it dark blue", "dark_blue"),
        (COLOUR, "red", "paint it dark blue", None),
        (COLOUR, "green", "paint it green", None),
        (FILES, ["a.txt", "b.txt"], "stage a.txt and B.txt", ["a.txt", "B.txt"]),
        (FILES, ["a.txt", "c.txt"], "stage a.txt and b.txt", None),
        (FILES, [], "stage them", None),
        (FILES, "a.txt", "stage a.txt", None),
        (Parameter("force", ParameterKind.SWITCH), True, "force it", None),
        (ZONE, "Europe/Paris", "it's four in Paris", "Europe/Paris"),
        (ZONE, "Paris", "it's four in Paris", "Europe/Paris"),
        (ZONE, "America/New_York", "nine in New York", "America/New_York"),
        (ZONE, "Europe/Paris", "what time is it", None),
        (Parameter("time"), "16:00", "if it's four pm in Paris", "16:00"),
        (Parameter("time"), "04:00", "if it's four in Paris", "04:00"),
        (Parameter("time"), "16:00", "if it's four a.m. in Paris", None),
        (Parameter("time"), "18:30", "what's 18:30 in Berlin", "18:30"),
        (Parameter("time"), "18:30", "what's half past six in the evening", "18:30"),
        (Parameter("time"), "12:00", "what's the time in Berlin", None),
    ],
)
def test_choices_lists_zones_and_times_must_be_named(
    parameter: Parameter, value: Any, said: str, kept: Any
) -> None:
    assert checked(parameter, value, said) == kept


@pytest.mark.parametrize(
    ("parameter", "said", "value"),
    [
        (Parameter("path"), "Shopping dot txt.", "Shopping.txt"),
        (Parameter("path"), "  ", None),
        (Parameter("path"), "x" * 1000, None),
        (Parameter("count", INTEGER), "Three.", 3),
        (Parameter("count", INTEGER), "The last twelve, please", 12),
        (Parameter("count", INTEGER), "Between 2 and 3", None),
        (Parameter("count", INTEGER), "Some", None),
        (COLOUR, "Dark blue, please.", "dark_blue"),
        (COLOUR, "Green.", None),
        (Parameter("force", ParameterKind.SWITCH), "Yes.", True),
        (Parameter("force", ParameterKind.SWITCH), "No.", False),
        (FILES, "a.txt, b.txt and c.txt", ["a.txt", "b.txt", "c.txt"]),
        (ZONE, "In Tokyo.", "Asia/Tokyo"),
        (ZONE, "Nowhere.", None),
    ],
)
def test_what_is_asked_for_is_read_from_the_answer(
    parameter: Parameter, said: str, value: Any
) -> None:
    assert from_answer(parameter, said) == value


def test_only_required_arguments_are_missing() -> None:
    some, needed = Parameter("some", required=False), Parameter("needed")
    tool = Tool("shelf", "keep", parameters=(some, needed))

    assert missing(tool, {"some": "x"}) == needed
    assert missing(tool, {"needed": "x"}) is None


@pytest.mark.parametrize(
    ("choices", "said", "meant"),
    [
        (("on", "off"), "turn off the light on the desk", None),
        (("on", "off"), "Off, please.", "off"),
        (("+", "-", "*"), "minus please", None),
        (("red", "dark red"), "make it dark red", "dark red"),
        (("north west", "south"), "the north west, please", "north west"),
        (("north west", "south"), "west, then north", None),
    ],
)
def test_a_choice_is_taken_only_if_it_alone_was_named(
    choices: tuple[str, ...], said: str, meant: str | None
) -> None:
    assert from_answer(Parameter("which", choices=choices), said) == meant


@pytest.mark.parametrize(
    ("said", "number"), [("minus five", None), ("1,500 euros", 1500), ("about 20", 20)]
)
def test_a_number_is_read_whole_or_not_at_all(said: str, number: int | None) -> None:
    assert from_answer(Parameter("amount", ParameterKind.INTEGER), said) == number


@pytest.mark.parametrize(
    ("kind", "limits", "value", "said", "kept"),
    [
        (TEXT, Limits(pattern=re.compile("^[a-z-]+$")), "holidays", "Holidays.", "holidays"),
        (TEXT, Limits(pattern=re.compile("^[a-z-]+$")), "my trip", "My trip.", None),
        (TEXT, Limits(shortest=3), "ab", "ab", None),
        (TEXT, Limits(longest=3), "abcd", "abcd", None),
        (TEXT, Limits(longest=4), "abcd", "abcd", "abcd"),
        (FILES.kind, Limits(longest=5), ["a.txt", "longer.txt"], "a.txt and longer.txt", None),
        (FILES.kind, Limits(longest=5), ["a.txt"], "a.txt", ["a.txt"]),
        (INTEGER, Limits(least=1, most=10), 12, "twelve", None),
        (INTEGER, Limits(least=1, most=10), 10, "ten", 10),
        (NUMBER, Limits(least=1), 0.5, "0.5", None),
    ],
)
def test_what_is_not_within_the_limits_of_the_schema_is_no_argument(
    kind: ParameterKind, limits: Limits, value: Any, said: str, kept: Any
) -> None:
    parameter = Parameter("it", kind, limits=limits)
    assert from_answer(parameter, said) == kept
    assert checked(parameter, value, f"please take {said.lower()} now") == kept


@pytest.mark.parametrize(
    "said",
    ["What do you need that for?", "Is it raining", "Go to sleep.", "Stop."],
)
def test_a_question_or_a_command_is_no_argument(said: str) -> None:
    assert from_answer(Parameter("query"), said) is None


def test_who_does_not_know_names_no_argument() -> None:
    assert from_answer(Parameter("query"), "I don't know.") is None
