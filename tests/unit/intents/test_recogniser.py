"""Recognition of commands in the user's words."""

import pytest

from assistant.intents.command import Command, CommandKind
from assistant.intents.recogniser import in_full, recognise

NAMES = ("hey Ada", "Ada")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("Stop.", Command(CommandKind.STOP)),
        ("Okay, stop talking.", Command(CommandKind.STOP)),
        ("Ada, be quiet please!", Command(CommandKind.STOP)),
        ("That’s enough, thanks.", Command(CommandKind.STOP)),
        ("Go to sleep.", Command(CommandKind.SLEEP)),
        ("Hey Ada, go to sleep now", Command(CommandKind.SLEEP)),
        ("Wake up!", Command(CommandKind.WAKE)),
        ("Aida, forget that.", Command(CommandKind.FORGET_THAT)),
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
        ("Forget about my dog, please.", Command(CommandKind.FORGET_ABOUT, words="my dog")),
        (
            "Delete what I told you about, um, Dr. Patel, okay?",
            Command(CommandKind.FORGET_ABOUT, words="Dr. Patel"),
        ),
        (
            "Forget everything about Ann, Ben and Carla.",
            Command(CommandKind.FORGET_ABOUT, words="Ann, Ben and Carla"),
        ),
        ("Forget where I live.", Command(CommandKind.FORGET_ABOUT, words="where I live")),
        ("Oops, undo.", Command(CommandKind.UNDO)),
        ("Forget about my friend Adam.", Command(CommandKind.FORGET_ABOUT, words="my friend Adam")),
        ("What do you know about Ada?", Command(CommandKind.KNOW, words="Ada")),
        ("What do you know about Anna?", Command(CommandKind.KNOW, words="Anna")),
        ("So what do you know about me, Ada?", Command(CommandKind.KNOW)),
        ("Let's go off the record.", Command(CommandKind.OFF_RECORD)),
        ("Okay, back on the record.", Command(CommandKind.ON_RECORD)),
        ("Stop, stop, stop!", Command(CommandKind.STOP)),
        ("Could you say that again?", Command(CommandKind.REPEAT)),
        ("Delete everything since lunch.", Command(CommandKind.FORGET_PERIOD, "since lunch")),
        ("Forget what I said yesterday.", Command(CommandKind.FORGET_PERIOD, "yesterday")),
        (
            "Ada, remember that my locker code is 4471.",
            Command(CommandKind.REMEMBER, "my locker code is 4471"),
        ),
        ("Make a note of that, please.", Command(CommandKind.REMEMBER)),
        (
            "Never forget that Tom is allergic to nuts.",
            Command(CommandKind.REMEMBER, "Tom is allergic to nuts", for_good=True),
        ),
        ("No, that's wrong.", Command(CommandKind.CORRECT)),
        ("That isn't right.", Command(CommandKind.CORRECT)),
        ("That was wrong, it's Tuesday.", Command(CommandKind.CORRECT, "it's Tuesday")),
        ("Why did you say that?", Command(CommandKind.WHY)),
        ("How do you know that?", Command(CommandKind.WHY)),
        ("When did I tell you about the leak?", Command(CommandKind.WHEN_TOLD, "the leak")),
        ("Don't call me Annie any more.", Command(CommandKind.LIFT, "Annie")),
        (
            "Cancel my wish about the weather.",
            Command(CommandKind.LIFT, "the weather", names_wish=True),
        ),
        ("Cancel the order of pizza.", Command(CommandKind.LIFT, "pizza")),
        ("Cancel my order of pizza.", Command(CommandKind.LIFT, "pizza")),
        ("Cancel the rule about my wishes.", Command(CommandKind.LIFT, "my wishes")),
    ],
)
def test_a_command_is_recognised_in_free_wording(text: str, command: Command) -> None:
    assert recognise(text, NAMES) == command


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Stop by the shop tomorrow.",
        "That was wrong.",
        "It wasn't right.",
        "It isn't true.",
        "I can't go to sleep.",
        "When did I wake up?",
        "Is that enough sugar?",
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
        "Remember that time in Rome?",
        "Remember that film we saw?",
        "I'll never forget that.",
        "Why did she say that?",
        "Could you not keep what I say this evening?",
        "forget " * 40,
    ],
)
def test_ordinary_talk_is_not_a_command(text: str) -> None:
    assert recognise(text, NAMES) is None


@pytest.mark.parametrize(
    ("text", "kind", "words", "for_good"),
    [
        ("Never forget that my code is 4471.", "remember", "my code is 4471", True),
        ("Don't ever forget that Tom is ill.", "remember", "Tom is ill", True),
        ("Never forget that.", "remember", None, True),
        ("Remember that I never forget.", "remember", "I never forget", False),
        ("That's wrong, it's Tuesday.", "correct", "it's Tuesday", False),
        ("That's not right. My name is Anna.", "correct", "My name is Anna", False),
    ],
)
def test_what_is_remembered_for_good_and_what_is_right_are_read(
    text: str, kind: str, words: str | None, for_good: bool
) -> None:
    assert recognise(text) == Command(CommandKind(kind), words, for_good=for_good)


@pytest.mark.parametrize("text", ["That's wrong, isn't it?", "That's wrong on so many levels."])
def test_talk_about_wrong_things_corrects_nothing(text: str) -> None:
    assert recognise(text) is None


@pytest.mark.parametrize(
    ("text", "names_wish"),
    [
        ("You can stop reading out the whole instructions.", False),
        ("You needn't wait for my order.", False),
        ("You may drop my rule now.", True),
        ("You needn't follow your instructions any more.", True),
    ],
)
def test_only_the_users_own_rule_is_certainly_a_wish(text: str, names_wish: bool) -> None:
    lift = Command(CommandKind.LIFT)
    assert in_full(lift, text) == Command(CommandKind.LIFT, names_wish=names_wish)


@pytest.mark.parametrize(
    ("text", "command", "every"),
    [
        ("Cancel all my timers.", Command(CommandKind.TIMER_CANCEL, name="all my timers"), True),
        ("Cancel both, please.", Command(CommandKind.TIMER_CANCEL), True),
        ("can you cancel all the timers", Command(CommandKind.TIMER_CANCEL), True),
        ("All right, cancel the timer.", Command(CommandKind.TIMER_CANCEL), False),
        (
            "Cancel the alarm every Monday.",
            Command(CommandKind.ALARM_CANCEL, when="every Monday"),
            False,
        ),
        (
            "Drop the reminder to call both sisters.",
            Command(CommandKind.REMINDER_CANCEL, "call both sisters"),
            False,
        ),
        ("Set a timer for all of us.", Command(CommandKind.TIMER_SET), False),
    ],
)
def test_whether_all_things_of_a_kind_are_meant(text: str, command: Command, every: bool) -> None:
    assert in_full(command, text).every is every
