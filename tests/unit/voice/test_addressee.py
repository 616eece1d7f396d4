"""The wake phrase is recognised even if it is misheard."""

import pytest

from assistant.voice.turns.addressee import without_wake_phrase


@pytest.mark.parametrize(
    ("wake_phrase", "text", "rest"),
    [
        ("hey Ada", "Hey Ada, what time is it?", "what time is it?"),
        ("hey Ada", "Hey Aida what time is it?", "what time is it?"),
        ("hey Ada", "hey ada", ""),
        ("hey Ada", "Heyada. Lights on.", "Lights on."),
        ("hey Ada", "What did Ada say?", None),
        ("hey Ada", "Hey, add a lemon to the list", None),
        ("hey Ada", "Hey", None),
        ("hey Ada", "", None),
        # One word must be nearly right.
        ("computer", "Computer, lights on.", "lights on."),
        ("computer", "Computer.", ""),
        ("computer", "Compute this sum.", None),
        ("computer", "Commuter trains are late.", None),
    ],
)
def test_the_wake_phrase_comes_first_and_may_be_misheard(
    wake_phrase: str, text: str, rest: str | None
) -> None:
    assert without_wake_phrase(text, wake_phrase) == rest
