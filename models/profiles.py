"""Profiles: which model plays which role, and which language model suits this machine."""

import json
import logging
import statistics
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assistant.errors import ModelUnavailable, SettingsError
from models.catalogue import Engine, Role
from models.hardware import Hardware, expected_speed, stream_rate
from models.sources import Report, silent
from models.store import ModelStore, Pulled, State

logger = logging.getLogger(__name__)

ENOUGH_RAM_BYTES = 7 << 30
"""For a model of the 1.5B class. Machines sold with 8 GB report somewhat less."""

ENOUGH_SPEED = 15.0
"""Tokens a second below which an answer is not written well ahead of the voice."""

SPEEDS_KEPT = 5
SPEEDS_NEEDED = 3
"""Measured speeds that outweigh the estimate; fewer may be a busy hour's."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Names in the catalogue, by role. `stand_in` is a quicker encoder, by which recall goes where
    the other one is late; None has one encoder alone."""

    name: str
    stt: str
    llm: str
    tts: str
    encoder: str
    stand_in: str | None = None

    @property
    def encoders(self) -> tuple[str, ...]:
        """The quick one first."""
        return (self.encoder,) if self.stand_in is None else (self.stand_in, self.encoder)

    @property
    def by_role(self) -> dict[Role, str]:
        return {
            Role.STT: self.stt,
            Role.LLM: self.llm,
            Role.TTS: self.tts,
            Role.ENCODER: self.encoder,
        }

    @property
    def models(self) -> tuple[str, ...]:
        others = [name for name in self.by_role.values() if name != self.encoder]
        return (*others, *self.encoders)


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
"""The stronger encoder finds a third more paraphrases; its questions take five times as long,
which on two cores is past the time of a recall unless it begins while the user still speaks."""
NAMES = ("tiny", "small", "default")

STRONG = ("qwen2.5-1.5b-instruct", "qwen2.5-coder-1.5b-instruct")
"""For a CPU, best first: the general chat model, which only the hub has, then a mirrored one."""

APPLE = ("qwen2.5-1.5b-instruct-mlx", *STRONG)


@dataclass(frozen=True, slots=True)
class Choice:
    """A profile for this machine and why. `candidates` are its language models, best first."""

    profile: Profile
    reason: str
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Notes:
    """What is known of the machines that share a cache; one JSON file. Losing it costs a probe."""

    path: Path

    def of(self, hardware: Hardware) -> dict[str, Any]:
        notes = self._all().get(hardware.key)
        return notes if isinstance(notes, dict) else {}

    def add(self, hardware: Hardware, **facts: Any) -> None:
        everything = self._all() | {hardware.key: self.of(hardware) | facts}
        fresh = self.path.with_suffix(".new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_text(json.dumps(everything, indent=2), encoding="utf-8")
            fresh.replace(self.path)
        except OSError as error:
            logger.warning("Notes on this machine could not be kept: %s", error)

    def _all(self) -> dict[str, Any]:
        try:
            notes = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return notes if isinstance(notes, dict) else {}

    def add_speed(self, hardware: Hardware, model: str, tokens_per_second: float) -> None:
        """Keep what a model really did; it replaces the estimate after a few."""
        speeds = dict(self.of(hardware).get("speeds", {}))
        kept = [*speeds.get(model, []), round(tokens_per_second, 1)][-SPEEDS_KEPT:]
        self.add(hardware, speeds=speeds | {model: kept})

    def speed(self, hardware: Hardware, models: tuple[str, ...]) -> float | None:
        """The usual speed of one of these models, where it was measured often enough."""
        speeds = self.of(hardware).get("speeds", {})
        for model in models:
            if len(speeds.get(model, [])) >= SPEEDS_NEEDED:
                return float(statistics.median(speeds[model]))
        return None


def notes_in(cache: Path) -> Notes:
    return Notes(cache / "machines.json")


def choose(
    name: str,
    hardware: Hardware,
    store: ModelStore,
    notes: Notes,
    probe: Callable[[int], float] = stream_rate,
    engine: Engine | None = None,
    *,
    anew: bool = False,
) -> Choice:
    """The models of a profile. Needs no network; `default` probes the processor once.

    Of equally suitable language models it names the best that is on the machine, else the one
    that was taken last time, else the best. `engine` keeps to the language models of one engine.
    `anew` probes again, in case the machine was busy the first time; the better probe counts.

    Raises:
        SettingsError: there is no such profile.
    """
    if name not in NAMES:
        raise SettingsError(
            f"There is no profile `{name}`.", mend=f"Choose one of: {', '.join(NAMES)}."
        )
    if name != "default":
        fixed = TINY if name == "tiny" else SMALL
        title = store.catalogue.get(fixed.llm).title
        return Choice(fixed, f"{title}, as the profile {name} has it.", (fixed.llm,))
    candidates, why = _for_machine(hardware, store, notes, probe, anew)
    if engine:
        everything = (*APPLE, SMALL.llm) if SMALL.llm not in candidates else candidates
        fitting = [each for each in everything if store.catalogue.get(each).engine is engine]
        candidates = tuple(fitting) or candidates
    before = notes.of(hardware).get("llm")
    ready = [each for each in candidates if store.state(each) is State.READY]
    llm = ready[0] if ready else before if before in candidates else candidates[0]
    title = store.catalogue.get(llm).title
    return Choice(replace(SMALL, name="default", llm=llm), f"{title}: {why}.", candidates)


def _for_machine(
    hardware: Hardware,
    store: ModelStore,
    notes: Notes,
    probe: Callable[[int], float],
    anew: bool,
) -> tuple[tuple[str, ...], str]:
    """Language models for this machine, best first, and the reason."""
    memory = f"this machine has {hardware.ram_bytes / 1e9:.1f} GB of memory"
    if hardware.ram_bytes < ENOUGH_RAM_BYTES:
        return (SMALL.llm,), f"{memory}, and larger models want 8 GB"
    if hardware.apple_silicon:
        return APPLE, f"{memory} and Apple's processor"
    speed = notes.speed(hardware, STRONG)
    known = "was measured" if speed is not None else "is expected"
    if speed is None:
        rate = float(notes.of(hardware).get("stream_rate", 0))
        if anew or not rate:
            rate = max(rate, probe(hardware.threads))
            notes.add(hardware, stream_rate=rate)
        speed = expected_speed(rate, store.catalogue.get(STRONG[-1]).bytes)
    cores = f"{hardware.cores} core{'s' if hardware.cores > 1 else ''}"
    if speed >= ENOUGH_SPEED:
        return STRONG, f"{memory} and {cores}, and {speed:.0f} tokens a second {known}"
    return (SMALL.llm,), (
        f"{memory} and {cores}, but with a 1.5B model only {speed:.0f} tokens a second {known}"
    )


def pull(
    store: ModelStore,
    choice: Choice,
    hardware: Hardware,
    notes: Notes,
    report: Report = silent,
    stop: threading.Event | None = None,
    arrived: Callable[[Pulled], None] = lambda _pulled: None,
) -> Choice:
    """Bring a profile's models; of its language models, the best that a source serves.

    Returns the choice as it came out; `arrived` is told of each model. Raises as
    `ModelStore.pull`.
    """
    others = [name for name in choice.profile.models if name != choice.profile.llm]
    store.pull(others, report, stop, arrived)
    llm = choice.profile.llm
    wanted = (llm,) if store.state(llm) is State.READY else choice.candidates
    refused: list[ModelUnavailable] = []
    for name in wanted:
        try:
            store.pull([name], report, stop, arrived)
        except ModelUnavailable as error:
            refused.append(error)
            continue
        if choice.profile.name == "default":
            notes.add(hardware, llm=name)
        return _as_it_came(choice, name, store, refused)
    raise refused[-1]


def _as_it_came(
    choice: Choice, llm: str, store: ModelStore, refused: list[ModelUnavailable]
) -> Choice:
    reason = choice.reason
    if llm != choice.profile.llm:
        title = store.catalogue.get(choice.profile.llm).title
        reason = store.catalogue.get(llm).title + reason.removeprefix(title)
    if refused:
        reason = f"{reason} A better one was not to be had. {refused[0]}"
    return Choice(replace(choice.profile, llm=llm), reason, choice.candidates)
