"""Measures how well requests to the assistant itself are understood, with and without the
classifier."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from assistant.compose.adapted_models import build_intent_classifier
from assistant.errors import ModelMissing
from assistant.intents.command import (
    ARGUMENTS,
    BY_MEANING,
    DELETING,
    PERIODS,
    Command,
    CommandKind,
    Intent,
)
from assistant.intents.command_text import normalised
from assistant.intents.intent_recogniser import intent_of, is_classified
from assistant.intents.periods import period
from assistant.intents.recogniser import recognise
from assistant.language.durations import seconds
from assistant.language.schedule import schedule
from assistant.settings import Settings
from assistant.skills.due.due_words import bare_name
from assistant.skills.lists.stored_lists import list_name
from assistant.skills.memory.forgetting import concerns_much, request_of
from data import located
from models.interfaces import IntentClassifier
from models.selection import select_models
from scripts.common.rows import read_rows
from scripts.common.statistics import summary
from scripts.common.utterances import EVALUATION, REQUESTS, Utterance, read_utterances
from scripts.eval.commands import NAMES, TALK, said_in, share
from scripts.eval.recall_data import read_locomo

PER = 500
"""Mistakes on talk are given per this many utterances."""
EVERYDAY = "everyday"
MOMENTS = (datetime(2026, 11, 18, 10, 20, tzinfo=UTC), datetime(2026, 11, 21, 20, 40, tzinfo=UTC))
"""When the utterances are said, for arguments that are times. At one moment alone, "seven" may be
the same as "seven in the evening"."""
GRAMMAR, BOTH = "grammar", "grammar and classifier"

Understand = Callable[[str], Intent | None]


class OnceClassifier:
    """Judges as another classifier does, each text only once."""

    def __init__(self, classifier: IntentClassifier) -> None:
        self.load = classifier.load
        self.classify = cache(classifier.classify)


class Understood(NamedTuple):
    """An utterance and what it was taken for."""

    wanted: Utterance
    got: Intent | None

    @property
    def kind(self) -> CommandKind | None:
        """The kind that it was taken for; all kinds of forgetting a period count as one."""
        if self.got is None:
            return None
        kind = self.got.command.kind
        return CommandKind.FORGET_PERIOD if kind in PERIODS else kind

    @property
    def right(self) -> bool:
        return self.kind == self.wanted.kind

    @property
    def done(self) -> bool:
        """Whether it is carried out without asking. Large deletions never are."""
        if self.got is None or not self.got.sure:
            return False
        if self.got.command.kind not in DELETING - {CommandKind.FORGET_THAT}:
            return True
        request = request_of(self.got.command, datetime.now(UTC))
        return request is not None and not concerns_much(request)

    @property
    def right_argument(self) -> bool:
        """Whether the arguments are right: whether they are the labelled words, without regard to
        case and punctuation, or are read by the skills as having the same meaning ("at seven" and
        "seven", "the rice" and "rice"). If the grammar has understood a span of time, it must
        understand the labelled words in the same way."""
        assert self.got is not None
        command = self.got.command
        if command.kind in PERIODS:
            frames = ("Forget {}.", "Forget what I said {}.", "Forget what I said in {}.")
            alike = (recognise(frame.format(self.wanted.words)) for frame in frames)
            return command in alike
        return all(
            _means_the_same(
                getattr(command, slot) or "",
                getattr(self.wanted, slot) or "",
                _readings(command.kind, slot),
            )
            for slot in ARGUMENTS.get(command.kind, ())
        )


def _readings(kind: CommandKind, slot: str) -> Sequence[Callable[[str], object]]:
    """How the skills read such an argument; each function returns None if it can't."""
    if slot == "name":
        lists = kind.value.startswith("list_")
        return (lambda words: (list_name(words) if lists else bare_name(words)).lower(),)
    if slot == "when":
        alarm = kind in (CommandKind.ALARM_SET, CommandKind.ALARM_CANCEL)
        return seconds, lambda words: _at_moments(partial(schedule, alarm=alarm), words)
    return (partial(_at_moments, period),) if kind is CommandKind.FORGET_PERIOD else ()


def _at_moments(read: Callable[[str, datetime], object], words: str) -> object:
    found = [read(words, now) for now in MOMENTS]
    return None if None in found else found


def _means_the_same(got: str, wanted: str, readings: Sequence[Callable[[str], object]]) -> bool:
    if normalised(got) == normalised(wanted):
        return True
    pairs = ((read(got), read(wanted)) for read in readings if got and wanted)
    return any(one is not None and one == other for one, other in pairs)


def by_grammar(text: str) -> Intent | None:
    command = recognise(text, NAMES)
    return Intent(command) if command else None


def with_classifier(classifier: IntentClassifier) -> Understand:
    """Makes a function that asks the grammar and the classifier, as the product does."""

    def understand(text: str) -> Intent | None:
        command = recognise(text, NAMES)
        found = classifier.classify(text) if is_classified(command) else None
        return intent_of(command, found, text)

    return understand


def without_requests(understand: Understand) -> Understand:
    """Makes a function that leaves out requests to skills, which are not measured here."""

    def narrower(text: str) -> Intent | None:
        intent = understand(text)
        return None if intent is not None and intent.command.kind in BY_MEANING else intent

    return narrower


def loaded_classifier() -> IntentClassifier:
    """The classifier of the default settings. Raises ModelError: it is missing or damaged."""
    settings = Settings()
    classifier = build_intent_classifier(select_models(settings), settings)
    if classifier is None:
        raise ModelMissing("The profile has no classifier of intents.")
    classifier.load()
    return classifier


def figures(understood: Sequence[Understood]) -> dict[str, Any]:
    """How many commands are rightly carried out or found, and how much else is taken for a command.

    `done_precision` is the share of rightly recognised commands among those carried out without
    asking. `found` is the share of commands that are carried out or asked about. `arguments` is the
    share of right arguments among rightly recognised commands that may have one. `taken` is the
    share of other utterances that are taken for a command.
    """
    done = [each for each in understood if each.done]
    deleted = [each for each in done if each.kind in DELETING]
    found = [each for each in understood if each.wanted.kind and each.right]
    worded = [each for each in found if each.kind in ARGUMENTS and each.wanted.worded]
    others = [each for each in understood if each.wanted.kind is None]
    return {
        "done": len(done),
        "done_precision": share(sum(each.right for each in done), len(done)),
        "deleted": len(deleted),
        "deleted_precision": share(sum(each.right for each in deleted), len(deleted)),
        **found_of(understood),
        "arguments": share(sum(each.right_argument for each in worded), len(worded)),
        "worded": len(worded),
        "others": len(others),
        "taken": share(sum(each.got is not None for each in others), len(others)),
    }


def found_of(understood: Sequence[Understood]) -> dict[str, Any]:
    """The shares of commands that are rightly carried out or asked about: among all commands, and
    among those that a person would be sure of."""
    commands = [each for each in understood if each.wanted.kind]
    sure = [each for each in commands if each.wanted.sure]
    return {
        "commands": len(commands),
        "found": share(sum(each.right for each in commands), len(commands)),
        "sure_commands": len(sure),
        "sure_found": share(sum(each.right for each in sure), len(sure)),
        "sure_done": share(sum(each.right and each.done for each in sure), len(sure)),
    }


def on_talk(understand: Understand, talk: Sequence[str]) -> dict[str, Any]:
    """How much ordinary talk is taken for a command."""
    got = [Understood(Utterance(text, None), understand(text)) for text in talk]
    done = sum(each.done for each in got)
    asked = sum(each.got is not None for each in got) - done
    return {
        "utterances": len(talk),
        "done": done,
        "asked": asked,
        f"done_per_{PER}": round(PER * done / len(talk), 2),
        f"asked_per_{PER}": round(PER * asked / len(talk), 2),
    }


def sets_of_talk(locomo: Path | None, speech: Path | None) -> dict[str, list[str]]:
    """Everyday talk: our own utterances, turns of conversations, and read speech.

    Raises:
        InputUnusable: a file can't be read, or is in another format.
    """
    found = {
        EVERYDAY: [
            text for name in TALK for row in read_rows(located(name)) for text in said_in(row)
        ]
    }
    if locomo is not None:
        found["locomo"] = [turn.text for pool in read_locomo(locomo) for turn in pool.turns]
    if speech is not None:
        rows = read_rows(speech / "manifest.jsonl", "file")
        found["read"] = [row["text"] for row in rows if row.get("text")]
    return {name: texts for name, texts in found.items() if texts}


def measured(
    part: str, locomo: Path | None, speech: Path | None, of: str = EVALUATION
) -> dict[str, Any]:
    """All figures on a part of the utterances in the file `of`, and on everyday talk.

    Raises:
        ModelError: the classifier is missing or damaged.
        InputUnusable: a file can't be read.
    """
    utterances = read_utterances(located(of), part)
    talk = sets_of_talk(locomo, speech)
    both = with_classifier(loaded_classifier())
    systems = {GRAMMAR: by_grammar, BOTH: both if of == REQUESTS else without_requests(both)}
    if of == REQUESTS:
        talk.pop(EVERYDAY)  # many of its utterances are requests
    recognise("warm")  # loads the language's data
    found: dict[str, Any] = {"part": part, "utterances": len(utterances), "systems": {}}
    for name, understand in systems.items():
        understood, times = [], []
        for each in utterances:
            began = time.perf_counter()
            got = understand(each.said)
            times.append((time.perf_counter() - began) * 1000)
            understood.append(Understood(each, got))
        kinds = sorted({each.kind.value for each in utterances if each.kind})
        found["systems"][name] = {
            **figures(understood),
            "kinds": {
                kind: found_of([each for each in understood if each.wanted.kind == kind])
                for kind in kinds
            },
            "talk": {each: on_talk(understand, texts) for each, texts in talk.items()},
            "ms": summary(times, (50, 99), 2),
            "mistakes": [mistake(each) for each in understood if is_mistake(each)],
        }
    return found


def is_mistake(each: Understood) -> bool:
    return not each.right or (each.kind in ARGUMENTS and not each.right_argument)


def mistake(each: Understood) -> str:
    """One line that says what an utterance was taken for."""

    def told(kind: CommandKind | None, command: Command | Utterance | None) -> str:
        words = command.words if command else None
        return f"{kind or 'none'}{f' [{words}]' if words else ''}"

    doubt = "" if each.wanted.sure else " (unsure)"
    how = "" if each.got is None else " done" if each.got.sure else " asked"
    wanted = told(each.wanted.kind, each.wanted)
    got = told(each.kind, each.got.command if each.got else None)
    return f"{wanted}{doubt} -> {got}{how}: {each.wanted.said}"
