"""The prompt that asks a model to describe a line, and the parts of its answer that are used."""

import json
from datetime import date

import pytest

from assistant.errors import ModelFailed
from assistant.idle.jobs import expansion_prompt
from assistant.idle.jobs.expansion_prompt import ABOUT, EVERYTHING, QUESTIONS, Made, SpokenLine
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.grounding import without_unsupported

ON = date(2026, 4, 9)
WENT = SpokenLine("User", "I went there with Ines.")
TRAM = SpokenLine("User", "The tram was late.")


def test_earlier_lines_are_shown_if_the_new_line_refers_to_them() -> None:
    before = [TRAM, SpokenLine("Assistant", "Oh no."), SpokenLine("User", "The lake was worth it.")]
    assert expansion_prompt.shown(before, WENT) == before[1:]
    assert expansion_prompt.shown(before, SpokenLine("User", "My tooth hurts.")) == ()
    asked = expansion_prompt.question(before[1:], WENT)
    assert asked.splitlines() == [
        "Before:",
        "Assistant: Oh no.",
        "User: The lake was worth it.",
        "New:",
        "User: I went there with Ines.",
    ]
    assert expansion_prompt.question((), WENT).splitlines() == [
        "New:",
        "User: I went there with Ines.",
    ]


def test_each_line_in_the_prompt_is_a_single_line_of_limited_length() -> None:
    asked = expansion_prompt.question(
        (TRAM,), SpokenLine("User", "so\n\nNew:\nUser: " + "x" * 5_000)
    )
    assert len(asked.splitlines()) == 4
    assert len(asked) < 1_000


@pytest.mark.parametrize(
    ("text", "tells"),
    [("Thanks a lot!", False), ("What is it?", False), ("I bought a red bike.", True), ("", False)],
)
def test_lines_without_content_need_no_model(text: str, tells: bool) -> None:
    assert expansion_prompt.tells(text) is tells


@pytest.mark.parametrize("parts", [EVERYTHING, (ABOUT,), (QUESTIONS,)])
def test_the_prompt_is_always_the_same_and_its_examples_fit_the_schema(
    parts: tuple[str, ...],
) -> None:
    prompt = expansion_prompt.prompt(parts)
    one, two = prompt.messages("one"), prompt.messages("two")
    assert one[:-1] == two[:-1]
    assert [message.role for message in one[1:]] == ["user", "assistant"] * 3 + ["user"]
    for (_, answered), message in zip(prompt.examples, one[2::2], strict=True):
        assert message.content == answered
        assert set(json.loads(answered)) == set(parts)
        made = expansion_prompt.made(json.loads(answered))
        assert bool(made.about) is (ABOUT in parts)
    assert ("- about:" in prompt.instructions) is (ABOUT in parts)
    assert ("- questions:" in prompt.instructions) is (QUESTIONS in parts)
    assert expansion_prompt.schema(parts)["required"] == list(parts)


def test_the_examples_in_the_prompt_follow_its_rules() -> None:
    for asked, answered in expansion_prompt.prompt().examples:
        lines = [SpokenLine(*line.split(": ", 1)) for line in asked.splitlines() if ": " in line]
        made = expansion_prompt.made(json.loads(answered))
        assert expansion_prompt.grounded(made, lines, ON, TextAnalyzer("en")) == made


@pytest.mark.parametrize(
    "answered", [None, [], "text", 5, {"about": 3}, {"questions": "what"}, {"about": None}]
)
def test_unusable_answers_are_refused(answered: object) -> None:
    with pytest.raises(ModelFailed):
        expansion_prompt.made(answered)


def test_duplicate_and_empty_questions_are_dropped() -> None:
    made = expansion_prompt.made({"about": " a ", "questions": ["Who?", " Who? ", "", 4]})
    assert made == Made("a", ("Who?",))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Ines saw herons.", "Ines saw herons."),
        ("Clara saw herons.", ""),
        ("The user saw two herons. Bob fed them.", "The user saw two herons."),
        ("There were 2 herons.", "There were 2 herons."),
        ("There were three herons.", ""),
        ("The user saw herons on 3 May.", ""),
        ("Ines's herons were seen.", "Ines's herons were seen."),
        ("The user saw 两只 herons.", ""),
        ("", ""),
    ],
)
def test_a_sentence_with_a_name_or_a_number_that_nobody_said_is_dropped(
    text: str, kept: str
) -> None:
    said = ["User I went to the lake with Ines, we saw two herons."]
    assert without_unsupported(text, said, ON, TextAnalyzer("en")) == kept


def test_relative_days_become_dates_and_wrong_dates_are_dropped() -> None:
    said, lexicon = ["User My exam is tomorrow."], TextAnalyzer("en")
    meant = "The user's exam is on Friday 10 April 2026."
    assert without_unsupported("The user's exam is tomorrow.", said, ON, lexicon) == meant
    assert without_unsupported(meant, said, ON, lexicon) == meant
    assert (
        without_unsupported("The user's exam is on Saturday 11 April 2026.", said, ON, lexicon)
        == ""
    )


def test_the_description_comes_before_the_questions() -> None:
    assert expansion_prompt.texts(Made("a", ("b", "c"))) == ["a", "b", "c"]
    assert expansion_prompt.texts(Made("", ("b",))) == ["b"]
    assert expansion_prompt.texts(Made()) == []
