"""Measures how many spoken commands are lost because they are misheard, and how many because they
are not understood.

Each command is understood twice: from its own text, and from what the recogniser heard when a voice
spoke the text. Only the recogniser is used, not the rest of the voice loop.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, NamedTuple

import numpy as np

from assistant.intents.command import ARGUMENTS, DELETING, CommandKind
from assistant.settings import Settings
from data import located
from models.interfaces import STT_SAMPLE_RATE, Samples, SpeechToText
from models.selection import select_models
from models.stt.whisper import FasterWhisper
from scripts.common.rows import InputUnusable
from scripts.common.utterances import EVALUATION, Utterance, read_utterances
from scripts.common.word_errors import edit_distance, normalised
from scripts.eval.commands import share
from scripts.eval.intents import (
    Understand,
    Understood,
    loaded_classifier,
    with_classifier,
)
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
PINK, BABBLE = "pink noise", "babble"
NOISE_S = 60
BABBLERS = 12
"""Number of utterances that babble is made of; they are not commands."""
WORST = 10
"""Number of recognition errors that are shown."""
LONGEST_S = 29.0
"""Maximum seconds of an utterance. The recogniser takes 30 s."""


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

    def mixed(
        self, sound: Samples, noises: Mapping[str, Wave], dice: np.random.Generator
    ) -> Samples:
        if self.noise is None or self.snr_db is None:
            return sound
        return noisy(sound, noises[self.noise], self.snr_db, dice)


class Heard(NamedTuple):
    """A spoken command, what the recogniser heard, and what the original text and the heard text
    were taken for."""

    condition: str
    heard: str
    from_text: Understood
    from_sound: Understood

    @property
    def command(self) -> Utterance:
        return self.from_text.wanted

    @property
    def done_wrongly(self) -> bool:
        """Whether another command would be carried out without asking."""
        return self.from_sound.done and not self.from_sound.right

    @property
    def deletes_wrongly(self) -> bool:
        return self.done_wrongly and self.from_sound.kind in DELETING

    @property
    def errors(self) -> tuple[int, int]:
        """The number of word errors, and the number of words that were said."""
        reference = normalised(self.command.said)
        return edit_distance(reference, normalised(self.heard)), len(reference)


def spoken(profile: str, count: int, of: str = EVALUATION) -> dict[str, Any]:
    """All figures: overall, for each condition, and for each kind of command.

    Args:
        profile: the profile whose recogniser listens.
        count: number of commands of part `dev`. Babble is made of utterances that are not commands.
        of: the file in `data` from which the utterances are drawn.

    Raises:
        InputUnusable: there are too few commands, or no voice.
        ModelError: a model is missing, damaged, or has failed.
        VoiceFailed: espeak-ng has failed.
    """
    utterances = read_utterances(located(of), "dev")
    commands = drawn(utterances, count)
    settings = Settings.model_validate({"general": {"profile": profile}})
    selection = select_models(settings)
    voices = voices_here(selection.store)
    if not voices:
        raise InputUnusable("There is no voice on this machine.", mend="assistant models pull")
    folder = selection.store.location(selection.profile.stt)
    recogniser = FasterWhisper(folder, threads=selection.hardware.listening_threads)
    recogniser.load()
    others = [each.said for each in utterances if each.kind is None]
    random.Random(SEED).shuffle(others)
    understand = with_classifier(loaded_classifier())
    heard = list(_heard(commands, others[:BABBLERS], voices, recogniser, understand))
    return {
        "recogniser": recogniser.name,
        "voices": sorted({voice.name for voice in voices}),
        "commands": len(commands),
        "overall": figures(heard),
        "conditions": _by(heard, lambda each: each.condition),
        "kinds": _by(heard, lambda each: str(each.command.kind)),
        "worst": [_told(each) for each in worst(heard)],
        "wrong": [_told(each) for each in heard if each.done_wrongly],
    }


def _by(heard: Sequence[Heard], key: Callable[[Heard], str]) -> dict[str, Any]:
    names = dict.fromkeys(map(key, heard))
    return {name: figures([each for each in heard if key(each) == name]) for name in names}


def drawn(utterances: Sequence[Utterance], count: int) -> list[Utterance]:
    """Commands of all kinds in turn; every call returns the same ones. Commands that begin in lower
    case or lack a mark at the end are left out, because many contain recognition errors or lack
    their beginning.

    Raises:
        InputUnusable: there are fewer than `count`.
    """
    dice = random.Random(SEED)
    kinds: dict[CommandKind, list[Utterance]] = {}
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


def _heard(
    commands: Sequence[Utterance],
    others: Sequence[str],
    voices: Sequence[Voice],
    recogniser: SpeechToText,
    understand: Understand,
) -> Iterator[Heard]:
    """Speak every command under every condition, and listen."""
    dice = np.random.default_rng(SEED)
    from_texts = [Understood(each, understand(each.said)) for each in commands]
    noises = _noises(others, voices, dice)
    for voice in voices:
        sounds = [with_margins(voice.say(each.said)) for each in commands]
        for condition in conditions_of(voice):
            for each, sound, from_text in zip(commands, sounds, from_texts, strict=True):
                mixed = condition.mixed(sound, noises, dice)
                heard = recogniser.transcribe(mixed[: int(LONGEST_S * STT_SAMPLE_RATE)]).text
                got = understand(heard) if heard.strip() else None
                yield Heard(condition.name, heard, from_text, Understood(each, got))


def conditions_of(voice: Voice) -> list[Condition]:
    """The condition without noise, plus each noise at each level if the voice speaks at its own
    pace."""
    noisily = [Condition(voice, noise, snr) for noise in (PINK, BABBLE) for snr in SNRS_DB]
    return [Condition(voice), *(noisily if voice.speed == 1.0 else ())]


def _noises(
    others: Sequence[str], voices: Sequence[Voice], dice: np.random.Generator
) -> Mapping[str, Wave]:
    spoken: list[Samples] = [
        voices[place % len(voices)].say(text) for place, text in enumerate(others)
    ]
    count = NOISE_S * STT_SAMPLE_RATE
    return {PINK: pink_noise(count, dice), BABBLE: babble(spoken, count, dice)}


def figures(heard: Sequence[Heard]) -> dict[str, Any]:
    """The shares of understood and of lost commands.

    `from_text` and `from_sound` are the shares of commands that are understood: from their own
    text, and from what the recogniser heard. `lost_hearing` is the share of commands that are lost
    although their text is understood; `lost_understanding` is the share of commands whose text
    isn't understood either. `arguments` is the share of right arguments among understood commands
    that may have one. `wer` is in per cent.
    """
    errors, words = (sum(counts) for counts in zip(*(each.errors for each in heard), strict=True))
    lost = [each for each in heard if not each.from_sound.right]
    misheard = [each for each in lost if each.from_text.right]
    worded = [
        each.from_sound
        for each in heard
        if each.from_sound.right and each.command.kind in ARGUMENTS and each.command.worded
    ]
    return {
        "spoken": len(heard),
        "wer": round(100 * errors / words, 1),
        "from_text": share(sum(each.from_text.right for each in heard), len(heard)),
        "from_sound": share(len(heard) - len(lost), len(heard)),
        "lost_hearing": share(len(misheard), len(heard)),
        "lost_understanding": share(len(lost) - len(misheard), len(heard)),
        "arguments": share(sum(each.right_argument for each in worded), len(worded)),
        "done_wrongly": sum(each.done_wrongly for each in heard),
        "deletes_wrongly": sum(each.deletes_wrongly for each in heard),
    }


def worst(heard: Sequence[Heard]) -> list[Heard]:
    """The commands lost by hearing that have the most word errors relative to their length. Each
    command occurs once."""

    def wrong(each: Heard) -> float:
        errors, words = each.errors
        return errors / words

    found: dict[str, Heard] = {}
    for each in sorted(heard, key=wrong, reverse=True):
        if each.from_text.right and not each.from_sound.right:
            found.setdefault(each.command.said, each)
    return list(found.values())[:WORST]


def _told(each: Heard) -> str:
    taken = each.from_sound.kind
    how = f" (taken as {taken})" if taken else ""
    said, heard = each.command.said, each.heard.strip() or "nothing"
    return f"{each.condition}: {each.command.kind}: {said} → {heard}{how}"


def table(found: Mapping[str, Any]) -> Iterator[str]:
    """The figures as lines of text."""
    heads = ("from_text", "from_sound", "lost_hearing", "lost_understanding", "arguments", "wer")
    yield f"{'':<58}" + "".join(f"{head.removeprefix('lost_'):>15}" for head in heads)
    rows = {**found["conditions"], **found["kinds"], "all": found["overall"]}
    for name, row in rows.items():
        yield f"{name:<58}" + "".join(f"{_text(row[head]):>15}" for head in heads)
    yield "\nWorst heard:"
    yield from found["worst"]
    if found["wrong"]:
        yield "\nAnother command carried out without asking:"
        yield from found["wrong"]


def _text(share: float | None) -> str:
    return "-" if share is None else f"{share:g}"
