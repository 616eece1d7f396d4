from datetime import UTC, datetime

import pytest

from assistant.context.prompt import date_line, language_name, system_prompt
from assistant.context.question_cues import QuestionCues
from assistant.settings import Persona


def test_the_system_prompt_has_name_and_language_followed_by_the_users_instructions() -> None:
    plain = system_prompt(Persona(name="Grace", language="de"))
    assert "Grace" in plain
    assert "German" in plain
    assert "$" not in plain
    own = Persona(name="Grace", language="de", instructions=" Call me $captain. ")
    assert system_prompt(own) == f"{plain}\nCall me $captain."


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("en", "English"),
        ("pt-BR", "Portuguese"),
        ("auto", "the user's language"),
        ("xx", "the language xx"),
    ],
)
def test_language_codes_are_written_as_names(code: str, name: str) -> None:
    assert language_name(code) == name


def test_the_date_is_one_short_line() -> None:
    line = date_line(datetime(2026, 3, 1, 9, 5, tzinfo=UTC))
    assert line == "(It is Sunday 1 March 2026 09:05.)"


@pytest.mark.parametrize(
    ("words", "cues"),
    [
        ("What time is it?", "dated asks exact"),
        ("Remind me on Friday.", "dated asks"),
        ("How old is the bridge?", "dated asks exact past"),
        ("Who won in 1998?", "dated asks"),
        ("When did I go to Oslo?", "dated asks exact past"),
        ("How long have I had the cello?", "asks exact past"),
        ("Which day is the dentist?", "dated asks exact"),
        ("Where did I live before?", "asks past"),
        ("What was my old job?", "dated asks past"),
        ("Where do I live?", "asks"),
        ("Is the maybe list knowledgeable?", "asks"),
        ("Tell me a joke.", "asks"),
        ("Whenever.", ""),
        ("It rains.", ""),
    ],
)
def test_the_words_of_a_question_decide_what_the_prompt_needs(words: str, cues: str) -> None:
    found = QuestionCues.of(words, "en-GB")
    named = [name for name in ("dated", "asks", "exact", "past") if getattr(found, name)]
    assert " ".join(named) == cues


def test_in_other_languages_all_words_count_as_a_dated_question() -> None:
    assert QuestionCues.of("Es regnet.", "de") == QuestionCues("Es regnet.", dated=True, asks=True)
