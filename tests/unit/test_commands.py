import pytest

from assistant.voice.commands import Kind, addressed, recognise


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Stop.", Kind.STOP),
        ("Okay, stop talking.", Kind.STOP),
        ("Ada, be quiet please!", Kind.STOP),
        ("That’s enough, thanks.", Kind.STOP),
        ("Go to sleep.", Kind.SLEEP),
        ("Hey Ada, go to sleep now", Kind.SLEEP),
        ("Wake up!", Kind.WAKE),
        ("Stop by the shop tomorrow.", None),
        ("I can't go to sleep.", None),
        ("When did I wake up?", None),
        ("Is that enough sugar?", None),
        ("", None),
    ],
)
def test_a_command_is_all_of_what_was_said(text: str, kind: Kind | None) -> None:
    command = recognise(text, ("hey Ada", "Ada"))
    assert (command.kind if command else None) is kind


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Hey Ada, what time is it?", "what time is it?"),
        ("Hey Aida what time is it?", "what time is it?"),
        ("hey ada", ""),
        ("Heyada. Lights on.", "Lights on."),
        ("What did Ada say?", None),
        ("Hey, add a lemon to the list", None),
        ("Hey", None),
        ("", None),
    ],
)
def test_the_wake_phrase_stands_first_and_may_be_misheard(text: str, rest: str | None) -> None:
    call = addressed(text, "hey Ada")
    assert (call.rest if call else None) == rest


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Computer, lights on.", "lights on."),
        ("Computer.", ""),
        ("Compute this sum.", None),
        ("Commuter trains are late.", None),
    ],
)
def test_a_wake_phrase_of_one_word_must_be_nearly_right(text: str, rest: str | None) -> None:
    call = addressed(text, "computer")
    assert (call.rest if call else None) == rest
