"""Defines the profiles, and chooses the language model that suits this machine.

A profile names a model for each role.
"""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from assistant.errors import ModelUnavailable, SettingsError
from models.download.cache import ModelState, ModelStore, PullResult
from models.download.sources import Report, silent
from models.hardware import Hardware, expected_speed, stream_rate
from models.selection.machine_records import (
    FIRST_CLAUSE_S,
    SPEECH_TOKENS_PER_S,
    Notes,
    Speed,
    notes_in,
)
from models.selection.untried import best_untried, worth_trying

ENOUGH_RAM_BYTES = 7 << 30
"""Minimum bytes of memory for a model with 1.5 billion weights. Machines sold with 8 GB report
somewhat less than 8 GB."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The catalogue names of the models for each role.

    Attributes:
        stand_in: a faster encoder, which recall uses if the results of `encoder` come too late;
            None if the profile has only one encoder.
    """

    name: str
    stt: str
    llm: str
    tts: str
    encoder: str
    stand_in: str | None = None

    @property
    def encoders(self) -> tuple[str, ...]:
        """The names of the encoders, the faster one first."""
        return (self.encoder,) if self.stand_in is None else (self.stand_in, self.encoder)

    @property
    def models(self) -> tuple[str, ...]:
        return (self.stt, self.llm, self.tts, *self.encoders)


VOICE = "piper-en-us-joe-medium"
TINY = Profile("tiny", "whisper-tiny.en", "smollm2-135m-instruct", VOICE, "all-minilm-l6-v2")
SMALL = Profile(
    "small",
    "whisper-base",
    "qwen2.5-coder-0.5b-instruct",
    VOICE,
    "all-mpnet-base-v2",
    stand_in="all-minilm-l6-v2",
)
"""Compared with the faster encoder, the stronger one finds a third more paraphrases, but takes five
times as long for a question. On two cores, that is too long for recall's deadline, unless encoding
starts while the user is still speaking."""
PROFILE_NAMES = ("tiny", "small", "default")

STRONG = ("qwen2.5-1.5b-instruct", "qwen2.5-coder-1.5b-instruct")
"""Language models for a CPU, best first. The first is a general chat model, which only the hub
offers. The second can also be downloaded in wheels."""

APPLE_MODELS = ("qwen2.5-1.5b-instruct-mlx", *STRONG)


class Ground(StrEnum):
    """The reason for a choice of language model. A change of the reason is reported to the user."""

    FIXED = "fixed"
    """The profile names the model."""
    FITS = "fits"
    """The best model suits this machine."""
    MEMORY = "memory"
    """There is too little memory for a better model."""
    SPEED = "speed"
    """A better model would be too slow."""
    ABSENT = "absent"
    """Another model would be more suitable, but is not on this machine."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A profile for this machine, and the reason for it.

    Attributes:
        reason: one or two sentences for the user. They also say what a better model would need.
        candidates: language models that suit this machine, best first. The profile uses one of
            them, or another language model if only that one is on this machine.
        worth_trying: a sentence about a better language model that nobody has tried yet; None if
            there is none. It ends with a command, so it must come last in a message.
    """

    profile: Profile
    reason: str
    candidates: tuple[str, ...]
    ground: Ground = Ground.FIXED
    worth_trying: str | None = None

    @property
    def absent(self) -> str | None:
        """The best candidate, if the profile does not use any of the candidates; otherwise None."""
        return None if self.profile.llm in self.candidates else self.candidates[0]

    @property
    def reason_and_advice(self) -> str:
        """The reason, followed by `worth_trying` if there is such a model."""
        return self.reason if self.worth_trying is None else f"{self.reason} {self.worth_trying}"

    def is_news(self, hardware: Hardware, notes: Notes) -> bool:
        """Return whether this choice differs from the last one reported to the user.

        If so, record this choice as reported.
        """
        reported = f"{self.profile.llm} {self.ground}"
        if notes.of(hardware).get("told") == reported:
            return False
        notes.add(hardware, told=reported)
        return True


def choose_profile(
    name: str,
    hardware: Hardware,
    store: ModelStore,
    probe: Callable[[int], float] = stream_rate,
    *,
    anew: bool = False,
) -> Choice:
    """Choose the models of a profile. Needs no network; `default` probes the processor once.

    For `default`, the language model is the first of these that exists:

    - the best suitable model on this machine
    - another model of `default` on this machine, so that an assistant that worked yesterday needs
      no download today
    - the suitable model that was downloaded last
    - the best suitable model

    Args:
        anew: choose for a download. The processor is probed again, in case it was busy the first
            time, and the better result counts. An unsuitable model is not chosen, even if it is the
            only one on this machine.

    Raises:
        SettingsError: there is no such profile.
    """
    if name not in PROFILE_NAMES:
        raise SettingsError(
            f"There is no profile `{name}`.", mend=f"Choose one of: {', '.join(PROFILE_NAMES)}."
        )
    if name != "default":
        fixed = TINY if name == "tiny" else SMALL
        title = store.catalogue.get(fixed.llm).title
        return Choice(fixed, f"{title}, as the profile {name} specifies.", (fixed.llm,))
    notes = notes_in(store.cache)
    candidates, ground, why = _for_machine(hardware, store, notes, probe, anew)
    before = notes.of(hardware).get("llm")
    ready = _ready(store, candidates)
    llm = ready[0] if ready else before if before in candidates else candidates[0]
    others = (SMALL.llm,) if ground is Ground.MEMORY else (*STRONG, SMALL.llm)
    if not ready and not anew and (substitutes := _ready(store, others)):
        suitable = store.catalogue.get(candidates[0]).title
        why = f"{suitable} would suit this machine, but has not been downloaded; {why}"
        llm, ground = substitutes[0], Ground.ABSENT
    reason = f"{store.catalogue.get(llm).title}: {why}"
    untried = best_untried(store.catalogue, hardware, notes, llm, STRONG)
    trying = None if untried is None else worth_trying(untried, hardware)
    profile = replace(SMALL, name="default", llm=llm)
    return Choice(profile, reason, candidates, ground, trying)


def to_measure(hardware: Hardware, store: ModelStore) -> str | None:
    """Return the model whose measured speed decides which model `default` uses.

    This is the best strong model on this machine, even if it was too slow to be used. Returns None
    if there is no strong model, or if the choice on this machine doesn't depend on speed.
    """
    if hardware.ram_bytes < ENOUGH_RAM_BYTES or hardware.apple_silicon:
        return None
    ready = _ready(store, STRONG)
    return ready[0] if ready else None


def _ready(store: ModelStore, models: tuple[str, ...]) -> list[str]:
    return [each for each in models if store.state(each) is ModelState.READY]


def _for_machine(
    hardware: Hardware,
    store: ModelStore,
    notes: Notes,
    probe: Callable[[int], float],
    anew: bool,
) -> tuple[tuple[str, ...], Ground, str]:
    """Return the language models for this machine, best first, and why they were chosen.

    The reason is returned as a `Ground` and as the rest of a sentence.
    """
    memory = f"this machine has {hardware.ram_bytes / 1e9:.1f} GB of memory"
    if hardware.ram_bytes < ENOUGH_RAM_BYTES:
        return (SMALL.llm,), Ground.MEMORY, f"{memory}. A 1.5B model would need 8 GB."
    if hardware.apple_silicon:
        return APPLE_MODELS, Ground.FITS, f"{memory} and an Apple processor."
    has = f"{memory} and {hardware.cores} core{'s' if hardware.cores > 1 else ''}"
    here = _ready(store, STRONG)
    measured = notes.speed(hardware, (*here, *STRONG))
    if measured is not None:
        if not measured.keeps_up:
            return (SMALL.llm,), Ground.SPEED, f"{has}. {_too_slow(measured)}"
        wrote = f"a 1.5B model wrote {_rate(measured.writing)} tokens a second"
        return STRONG, Ground.FITS, f"{has}, and {wrote} when nothing else was running."
    rate = float(notes.of(hardware).get("stream_rate", 0))
    if anew or not rate:
        rate = max(rate, probe(hardware.threads))
        notes.add(hardware, stream_rate=rate)
    expected = expected_speed(rate, store.catalogue.get(STRONG[-1]).bytes)
    if expected < SPEECH_TOKENS_PER_S:
        would = f"on this processor, it is expected to write {_rate(expected)}"
        return (SMALL.llm,), Ground.SPEED, f"{has}. {_needs_writing()}; {would}."
    would = f"a 1.5B model is expected to write {_rate(expected)} tokens a second"
    return STRONG, Ground.FITS, f"{has}, and {would}."


def _needs_writing() -> str:
    enough = f"{SPEECH_TOKENS_PER_S:.0f} tokens a second"
    return f"A 1.5B model must write {enough}"


def _too_slow(measured: Speed) -> str:
    if measured.writing < SPEECH_TOKENS_PER_S:
        wrote = f"here it wrote {_rate(measured.writing)} when nothing else was running"
        return f"{_needs_writing()}; {wrote}."
    took = math.ceil(10 * measured.first_clause_s) / 10
    return (
        f"A 1.5B model must finish the first clause of an answer within {FIRST_CLAUSE_S:.0f} s; "
        f"here it took {took:.1f} s when nothing else was running."
    )


def _rate(tokens_per_s: float) -> str:
    """Format a speed, rounded down, so that a speed just below a limit doesn't seem to meet it."""
    tenths = math.floor(10 * tokens_per_s)
    return f"{tenths // 10}" if tokens_per_s >= 10 else f"{tenths / 10:g}"


def pull_choice(
    store: ModelStore,
    choice: Choice,
    hardware: Hardware,
    report: Report = silent,
    stop: threading.Event | None = None,
    arrived: Callable[[PullResult], None] = lambda _pulled: None,
) -> Choice:
    """Download a profile's models, including the best language model that a source serves.

    Returns the choice, with the language model that was downloaded.

    Args:
        arrived: called with each downloaded model.

    Raises:
        ModelUnavailable: no source could serve a model.
        ModelFailed: a model could not be prepared.
        StoreError: the disk is full or the cache can't be written.
        PullStopped: `stop` was set.
    """
    others = [name for name in choice.profile.models if name != choice.profile.llm]
    store.pull(others, report, stop, arrived)
    llm = choice.profile.llm
    wanted = (llm,) if store.state(llm) is ModelState.READY else choice.candidates
    refused: list[ModelUnavailable] = []
    for name in wanted:
        try:
            store.pull([name], report, stop, arrived)
        except ModelUnavailable as error:
            refused.append(error)
            continue
        if choice.profile.name == "default":
            notes_in(store.cache).add(hardware, llm=name)
        return _after_download(choice, name, store, refused)
    raise refused[-1]


def _after_download(
    choice: Choice, llm: str, store: ModelStore, refused: list[ModelUnavailable]
) -> Choice:
    reason = choice.reason
    if llm != choice.profile.llm:
        title = store.catalogue.get(choice.profile.llm).title
        reason = store.catalogue.get(llm).title + reason.removeprefix(title)
    if refused:
        reason = f"{reason} A better model could not be downloaded. {refused[0]}"
    return replace(choice, profile=replace(choice.profile, llm=llm), reason=reason)
