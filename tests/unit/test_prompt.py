from datetime import UTC, datetime

import pytest

from assistant.context.prompt import (
    asks_about_past,
    asks_when,
    date_line,
    joined,
    language_name,
    load_prompt,
    may_need_date,
    state_block,
    system_prompt,
)
from assistant.settings import Persona


def test_the_persona_is_named_and_speaks_its_language() -> None:
    prompt = system_prompt(Persona(name="Grace", language="de"))
    assert "Grace" in prompt
    assert "German" in prompt
    assert "$" not in prompt


def test_the_users_own_instructions_follow_the_built_in_ones() -> None:
    plain = system_prompt(Persona())
    own = system_prompt(Persona(instructions=" Call me $captain. "))
    assert own == f"{plain}\nCall me $captain."


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("en", "English"),
        ("pt-BR", "Portuguese"),
        ("auto", "the user's language"),
        ("xx", "the language xx"),
    ],
)
def test_languages_in_words(code: str, name: str) -> None:
    assert language_name(code) == name


@pytest.mark.parametrize("name", ["system", "summary"])
def test_prompts_ship_with_the_project(name: str) -> None:
    assert len(load_prompt(name)) > 100


def test_the_date_is_one_short_line() -> None:
    line = date_line(datetime(2026, 3, 1, 9, 5, tzinfo=UTC))
    assert line == "(It is Sunday 1 March 2026 09:05.)"


def test_nothing_makes_no_block() -> None:
    assert state_block(None) == ""
    assert state_block("  ") == ""
    assert joined("", "a", "", "b") == "a\nb"


@pytest.mark.parametrize(
    ("words", "language", "needed"),
    [
        ("What time is it?", "en", True),
        ("Remind me on Friday.", "en", True),
        ("How old is the bridge?", "en", True),
        ("Who won in 1998?", "en", True),
        ("Tell me a joke.", "en", False),
        ("Is the maybe list knowledgeable?", "en", False),
        ("Erzähl einen Witz.", "de", True),
    ],
)
def test_the_date_is_given_where_it_may_matter(words: str, language: str, needed: bool) -> None:
    assert may_need_date(words, language) is needed


@pytest.mark.parametrize(
    ("words", "asks"),
    [
        ("When did I go to Oslo?", True),
        ("How long have I had the cello?", True),
        ("Which day is the dentist?", True),
        ("What is my dog called?", False),
        ("Whenever.", False),
    ],
)
def test_questions_about_time(words: str, asks: bool) -> None:
    assert asks_when(words) is asks


@pytest.mark.parametrize(
    ("words", "back"),
    [
        ("Where did I live before?", True),
        ("What was my old job?", True),
        ("Where do I live?", False),
        ("What does my dog like?", False),
    ],
)
def test_questions_that_look_back(words: str, back: bool) -> None:
    assert asks_about_past(words) is back
