import pytest

from assistant.intents.command import Command, CommandKind
from assistant.intents.confirmation import yes_or_no
from assistant.intents.recogniser import recognise
from assistant.voice.turns.addressee import addressed

NAMES = ("hey Ada", "Ada")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Stop.", CommandKind.STOP),
        ("Okay, stop talking.", CommandKind.STOP),
        ("Ada, be quiet please!", CommandKind.STOP),
        ("That’s enough, thanks.", CommandKind.STOP),
        ("Go to sleep.", CommandKind.SLEEP),
        ("Hey Ada, go to sleep now", CommandKind.SLEEP),
        ("Wake up!", CommandKind.WAKE),
        ("Stop by the shop tomorrow.", None),
        ("I can't go to sleep.", None),
        ("When did I wake up?", None),
        ("Is that enough sugar?", None),
        ("", None),
    ],
)
def test_a_command_is_all_of_what_was_said(text: str, kind: CommandKind | None) -> None:
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
        ("forget that", Command(CommandKind.FORGET_THAT)),
        ("Uh, Ada, could you please forget I said that?", Command(CommandKind.FORGET_THAT)),
        ("Never mind, don't remember that.", Command(CommandKind.FORGET_THAT)),
        ("Would you mind forgetting that?", Command(CommandKind.FORGET_THAT)),
        ("four get dat", Command(CommandKind.FORGET_THAT)),
        ("scratch at", Command(CommandKind.FORGET_THAT)),
        ("Please forgot that.", Command(CommandKind.FORGET_THAT)),
        ("Forget that, forget that!", Command(CommandKind.FORGET_THAT)),
        ("Forget that, it was private.", Command(CommandKind.FORGET_THAT)),
        ("That was meant for my sister, forget that.", Command(CommandKind.FORGET_THAT)),
        ("Forget it.", Command(CommandKind.FORGET_THAT)),
        ("Unsay that. I mean, forget what I said.", Command(CommandKind.FORGET_THAT)),
        ("The last ten minutes, forget them.", Command(CommandKind.FORGET_SPAN, minutes=10)),
        ("I'd like the last hour erased.", Command(CommandKind.FORGET_SPAN, minutes=60)),
        ("Forget everything I told you today.", Command(CommandKind.FORGET_TODAY)),
        ("Forget this conversation.", Command(CommandKind.FORGET_CONVERSATION)),
        ("Forget everything you know about me.", Command(CommandKind.FORGET_ALL)),
        ("Forget about my dog, please.", Command(CommandKind.FORGET_ABOUT, about="my dog")),
        (
            "Delete what I told you about, um, Dr. Patel, okay?",
            Command(CommandKind.FORGET_ABOUT, about="Dr. Patel"),
        ),
        (
            "Forget everything about Ann, Ben and Carla.",
            Command(CommandKind.FORGET_ABOUT, about="Ann, Ben and Carla"),
        ),
        ("Forget where I live.", Command(CommandKind.FORGET_ABOUT, about="where I live")),
        ("Oops, undo.", Command(CommandKind.UNDO)),
        ("What do you know about Anna?", Command(CommandKind.KNOW, about="Anna")),
        ("So what do you know about me, Ada?", Command(CommandKind.KNOW)),
        ("Let's go off the record.", Command(CommandKind.OFF_RECORD)),
        ("Okay, back on the record.", Command(CommandKind.ON_RECORD)),
        ("Stop, stop, stop!", Command(CommandKind.STOP)),
        ("Could you say that again?", Command(CommandKind.REPEAT)),
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
    assert recognise("Aida, forget that.", NAMES) == Command(CommandKind.FORGET_THAT)
    assert recognise("What do you know about Ada?", NAMES) == Command(CommandKind.KNOW, about="Ada")
    assert recognise("Forget about my friend Adam.", NAMES) == Command(
        CommandKind.FORGET_ABOUT, about="my friend Adam"
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
    assert yes_or_no(text, NAMES) is agreed
