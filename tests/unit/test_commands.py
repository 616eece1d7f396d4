import pytest

from assistant.voice.commands import Command, Kind, addressed, answer, recognise

NAMES = ("hey Ada", "Ada")


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


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("forget that", Command(Kind.FORGET_THAT)),
        ("Uh, Ada, could you please forget I said that?", Command(Kind.FORGET_THAT)),
        ("Never mind, don't remember that.", Command(Kind.FORGET_THAT)),
        ("Would you mind forgetting that?", Command(Kind.FORGET_THAT)),
        ("four get dat", Command(Kind.FORGET_THAT)),
        ("scratch at", Command(Kind.FORGET_THAT)),
        ("Please forgot that.", Command(Kind.FORGET_THAT)),
        ("Forget that, forget that!", Command(Kind.FORGET_THAT)),
        ("Forget that, it was private.", Command(Kind.FORGET_THAT)),
        ("That was meant for my sister, forget that.", Command(Kind.FORGET_THAT)),
        ("Forget it.", Command(Kind.FORGET_THAT)),
        ("Unsay that. I mean, forget what I said.", Command(Kind.FORGET_THAT)),
        ("The last ten minutes, forget them.", Command(Kind.FORGET_SPAN, minutes=10)),
        ("I'd like the last hour erased.", Command(Kind.FORGET_SPAN, minutes=60)),
        ("Forget everything I told you today.", Command(Kind.FORGET_TODAY)),
        ("Forget this conversation.", Command(Kind.FORGET_CONVERSATION)),
        ("Forget everything you know about me.", Command(Kind.FORGET_ALL)),
        ("Forget about my dog, please.", Command(Kind.FORGET_ABOUT, about="my dog")),
        (
            "Delete what I told you about, um, Dr. Patel, okay?",
            Command(Kind.FORGET_ABOUT, about="Dr. Patel"),
        ),
        (
            "Forget everything about Ann, Ben and Carla.",
            Command(Kind.FORGET_ABOUT, about="Ann, Ben and Carla"),
        ),
        ("Forget where I live.", Command(Kind.FORGET_ABOUT, about="where I live")),
        ("Oops, undo.", Command(Kind.UNDO)),
        ("What do you know about Anna?", Command(Kind.KNOW, about="Anna")),
        ("So what do you know about me, Ada?", Command(Kind.KNOW)),
        ("Let's go off the record.", Command(Kind.OFF_RECORD)),
        ("Okay, back on the record.", Command(Kind.ON_RECORD)),
        ("Stop, stop, stop!", Command(Kind.STOP)),
        ("Could you say that again?", Command(Kind.REPEAT)),
    ],
)
def test_a_command_may_be_said_freely(text: str, command: Command) -> None:
    assert recognise(text, NAMES) == command


@pytest.mark.parametrize(
    "text",
    [
        "I always forget my keys.",
        "Don't let me forget that.",
        "Don't forget that.",
        "Did you forget that?",
        "Can you forget things?",
        "Forget that?",
        "She told me to forget that.",
        "If I tell you a secret, forget that.",
        "Forget it, let's go to the cinema.",
        "Forget that, what's the time?",
        "Never mind.",
        "Never mind, forget it.",
        "Forget about it.",
        "Forget about him.",
        "Forget about dinner, I'm not hungry.",
        "Forget about the dishes for now.",
        "Forget everything you know about pizza and try this one.",
        "You can forget about your pocket money.",
        "You can say that again.",
        "Forgot that.",
        "Undo the top button.",
        "What do you know about that?",
        "Are we off the record?",
        "Off the record, she's leaving.",
        "Repeat after me.",
        "forget " * 40,
    ],
)
def test_talk_about_forgetting_is_no_command(text: str) -> None:
    assert recognise(text, NAMES) is None


def test_a_name_may_be_misheard_but_is_not_taken_from_what_is_named() -> None:
    assert recognise("Aida, forget that.", NAMES) == Command(Kind.FORGET_THAT)
    assert recognise("What do you know about Ada?", NAMES) == Command(Kind.KNOW, about="Ada")
    assert recognise("Forget about my friend Adam.", NAMES) == Command(
        Kind.FORGET_ABOUT, about="my friend Adam"
    )


@pytest.mark.parametrize(
    ("text", "agreed"),
    [
        ("Yes.", True),
        ("Yeah, sure, go ahead.", True),
        ("Yes please, forget all of them, Ada.", True),
        ("uh-huh", True),
        ("No.", False),
        ("Know.", False),
        ("Nope, keep it.", False),
        ("Of course not.", False),
        ("Never mind.", False),
        ("Yes, no.", None),
        ("Yes?", None),
        ("I don't know.", None),
        ("Forget it.", None),
        ("Only the first one.", None),
        ("Yes, but not the last one.", None),
        ("", None),
    ],
)
def test_an_answer_is_yes_or_no_or_neither(text: str, agreed: bool | None) -> None:
    assert answer(text, NAMES) is agreed
