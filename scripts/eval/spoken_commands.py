"""Measures how many spoken commands are lost because they are misheard, and how many because they
are not understood.

Each command is understood twice: from its text as it was written, and from what the recogniser
heard when a voice spoke it. Only the recogniser is used, not the rest of the voice loop.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from assistant.intents.command import CommandKind, Intent
from assistant.settings import Settings
from models.download import ModelStore
from models.interfaces import STT_SAMPLE_RATE, Samples, SpeechToText
from models.selection import select_models
from models.stt.whisper import FasterWhisper
from scripts.common.rows import InputUnusable
from scripts.common.word_errors import edit_distance, normalised
from scripts.eval.voices import (
    Voice,
    Wave,
    babble,
    noisy,
    pink_noise,
    voices_here,
    with_margins,
)

SEED = 25
SNRS_DB = (20, 10)
NOISE_S = 60
BABBLERS = 12
"""Number of other utterances of which babble is made."""
WORST = 10
"""Number of mishearings that are shown."""
LONGEST_S = 29.0
"""Maximum seconds of an utterance. The recogniser takes 30 s."""
_PERIODS = (CommandKind.FORGET_SPAN, CommandKind.FORGET_TODAY)
"""They count as FORGET_PERIOD. Only the grammar tells them apart."""

Understand = Callable[[str], Intent | None]


class Labelled(Protocol):
    """An utterance with the kind of command that it is, or None."""

    @property
    def said(self) -> str: ...

    @property
    def kind(self) -> CommandKind | None: ...


AnUtterance = TypeVar("AnUtterance", bound=Labelled)


@dataclass(frozen=True, slots=True)
class Condition:
    """How the commands are spoken."""

    voice: Voice
    noise: str | None = None
    snr_db: int | None = None

    @property
    def name(self) -> str:
        told = f"{self.voice.name}, speed {self.voice.speed:g}"
        return f"{told}, {self.noise} at {self.snr_db} dB" if self.noise else told


class Heard(NamedTuple):
    """A spoken command, what the recogniser heard, and what either text was taken for."""

    condition: str
    said: str
    heard: str
    kind: CommandKind
    from_text: Intent | None
    from_sound: Intent | None

    @property
    def understood(self) -> bool:
        """Whether its text is understood, as a command that is carried out or asked about."""
        return _kind(self.from_text) == self.kind

    @property
    def recognised(self) -> bool:
        return _kind(self.from_sound) == self.kind

    @property
    def done_wrongly(self) -> bool:
        """Whether another command would be carried out without asking."""
        return self.from_sound is not None and self.from_sound.sure and not self.recognised

    @property
    def deletes_wrongly(self) -> bool:
        kind = _kind(self.from_sound)
        return self.done_wrongly and kind is not None and kind.value.startswith("forget")

    @property
    def errors(self) -> tuple[int, int]:
        """The number of word errors, and that of the words that were said."""
        reference = normalised(self.said)
        return edit_distance(reference, normalised(self.heard)), len(reference)


def _kind(intent: Intent | None) -> CommandKind | None:
    kind = intent.command.kind if intent else None
    return CommandKind.FORGET_PERIOD if kind in _PERIODS else kind


def spoken_figures(
    utterances: Sequence[Labelled], understand: Understand, profile: str, count: int
) -> dict[str, Any]:
    """All figures: for each condition, by kind of command, and for everything together.

    Args:
        utterances: labelled utterances, from which the commands are drawn. Babble is made of those
            that are no commands.
        understand: finds out which command a text is.
        profile: the profile whose recogniser listens.
        count: number of commands.

    Raises:
        InputUnusable: there are too few commands, or no voice.
        ModelError: a model is missing, damaged, or has failed.
        VoiceFailed: espeak-ng has failed.
    """
    commands = drawn(utterances, count)
    settings = Settings.model_validate({"general": {"profile": profile}})
    selection = select_models(settings)
    voices = voices_here(selection.store)
    if not voices:
        raise InputUnusable("There is no voice on this machine.", mend="assistant models pull")
    recogniser = _recogniser(selection.store, selection.profile.stt, selection.hardware.cores)
    others = [each.said for each in utterances if each.kind is None]
    random.Random(SEED).shuffle(others)
    heard = list(_heard(commands, others[:BABBLERS], voices, recogniser, understand))
    conditions = list(dict.fromkeys(each.condition for each in heard))
    kinds = sorted({each.kind.value for each in heard})
    return {
        "recogniser": recogniser.name,
        "voices": list(dict.fromkeys(voice.name for voice in voices)),
        "commands": len(commands),
        "overall": figures(heard),
        "conditions": {
            name: figures([each for each in heard if each.condition == name]) for name in conditions
        },
        "kinds": {
            kind: figures([each for each in heard if each.kind.value == kind]) for kind in kinds
        },
        "worst": [_told(each) for each in worst(heard)],
        "wrong": [_told(each) for each in heard if each.done_wrongly],
    }


def drawn(utterances: Sequence[AnUtterance], count: int) -> list[AnUtterance]:
    """Commands of all kinds in turn, always the same. Left out are those in lower case or without
    a full stop, because many of these are mishearings already, or lack their beginning.

    Raises:
        InputUnusable: there are fewer than `count`.
    """
    dice = random.Random(SEED)
    kinds: dict[CommandKind, list[AnUtterance]] = {}
    for each in utterances:
        if each.kind and each.said[0].isupper() and each.said.endswith((".", "!", "?")):
            kinds.setdefault(each.kind, []).append(each)
    for of_kind in kinds.values():
        dice.shuffle(of_kind)
    in_turn = chain.from_iterable(zip_longest(*(kinds[kind] for kind in sorted(kinds))))
    found = [each for each in in_turn if each is not None]
    if len(found) < count:
        raise InputUnusable(f"Only {len(found)} commands can be spoken, not {count}.")
    return found[:count]


def _recogniser(store: ModelStore, name: str, cores: int) -> SpeechToText:
    found = FasterWhisper(store.location(name), threads=cores)
    found.load()
    return found


def _heard(
    commands: Sequence[Labelled],
    others: Sequence[str],
    voices: Sequence[Voice],
    recogniser: SpeechToText,
    understand: Understand,
) -> Iterator[Heard]:
    """Speak every command under every condition, and listen."""
    dice = np.random.default_rng(SEED)
    from_texts = [understand(each.said) for each in commands]
    noises = _noises(others or [each.said for each in commands], voices, dice)
    for voice in voices:
        sounds = [with_margins(voice.say(each.said)) for each in commands]
        for condition in conditions_of(voice):
            for each, sound, from_text in zip(commands, sounds, from_texts, strict=True):
                if condition.noise is not None and condition.snr_db is not None:
                    sound = noisy(sound, noises[condition.noise], condition.snr_db, dice)
                heard = recogniser.transcribe(sound[: int(LONGEST_S * STT_SAMPLE_RATE)]).text
                assert each.kind is not None
                got = understand(heard) if heard.strip() else None
                yield Heard(condition.name, each.said, heard, each.kind, from_text, got)


def conditions_of(voice: Voice) -> list[Condition]:
    """Without noise, and if the voice speaks at its own pace, with each noise at each level."""
    noisily = [
        Condition(voice, noise, snr) for noise in ("pink noise", "babble") for snr in SNRS_DB
    ]
    return [Condition(voice), *(noisily if voice.speed == 1.0 else ())]


def _noises(
    others: Sequence[str], voices: Sequence[Voice], dice: np.random.Generator
) -> Mapping[str, Wave]:
    spoken: list[Samples] = [
        voices[place % len(voices)].say(text) for place, text in enumerate(others)
    ]
    count = NOISE_S * STT_SAMPLE_RATE
    return {"pink noise": pink_noise(count, dice), "babble": babble(spoken, count, dice)}


def figures(heard: Sequence[Heard]) -> dict[str, Any]:
    """What is recognised and lost.

    `from_text` and `from_sound` are the shares of commands that are carried out or asked about if
    the recogniser hears every word, and as it heard them. `lost_hearing` and `lost_understanding`
    are the shares of those that are lost although their text is understood, and of those whose
    text isn't understood either. `wer` is in percent.
    """
    errors, words = (sum(counts) for counts in zip(*(each.errors for each in heard), strict=True))

    def share(chosen: Sequence[bool]) -> float:
        return round(sum(chosen) / len(heard), 4)

    return {
        "spoken": len(heard),
        "wer": round(100 * errors / words, 1),
        "from_text": share([each.understood for each in heard]),
        "from_sound": share([each.recognised for each in heard]),
        "lost_hearing": share([each.understood and not each.recognised for each in heard]),
        "lost_understanding": share(
            [not each.understood and not each.recognised for each in heard]
        ),
        "done_wrongly": sum(each.done_wrongly for each in heard),
        "deletes_wrongly": sum(each.deletes_wrongly for each in heard),
    }


def worst(heard: Sequence[Heard]) -> list[Heard]:
    """The mishearings that cost most words, of commands that would be understood. Each command
    occurs once."""
    lost = [each for each in heard if each.understood and not each.recognised]
    by_errors = sorted(lost, key=lambda each: each.errors[0] / each.errors[1], reverse=True)
    return list({each.said: each for each in reversed(by_errors)}.values())[::-1][:WORST]


def _told(each: Heard) -> str:
    taken = _kind(each.from_sound)
    how = f" (taken as {taken})" if taken else ""
    return f"{each.condition}: {each.kind}: {each.said} → {each.heard or 'nothing'}{how}"


def table(found: Mapping[str, Any]) -> Iterator[str]:
    """The figures as lines to read."""
    heads = ("from_text", "from_sound", "lost_hearing", "lost_understanding", "wer")
    yield f"{'':<48}" + "".join(f"{head.removeprefix('lost_'):>15}" for head in heads)
    rows = {**found["conditions"], **found["kinds"], "all": found["overall"]}
    for name, row in rows.items():
        yield f"{name:<48}" + "".join(f"{row[head]:>15}" for head in heads)
    yield "\nWorst heard:"
    yield from found["worst"]
    if found["wrong"]:
        yield "\nAnother command carried out without asking:"
        yield from found["wrong"]
