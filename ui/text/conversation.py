"""Prints a conversation for the plain loop: as lines to read, or as one JSON object per line."""

import json
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Protocol, TextIO

from assistant.events import (
    AnswerHeard,
    AnswerText,
    Event,
    ForgettingBegan,
    ForgettingDone,
    ForgettingUndone,
    MemoriesRead,
    ModelsReady,
    Notice,
    Phase,
    PhaseChanged,
    RecordChanged,
    RecordingChanged,
    Remarked,
    SessionEnded,
    Severity,
    SpeechIgnored,
    TurnEnded,
    TurnHeard,
)


class View(Protocol):
    def show(self, event: Event) -> None: ...

    def ready(self, *, hears: bool) -> None: ...

    def flush(self) -> None:
        """Flush buffers, if anyone reads them."""


def turn_object(turn: TurnEnded) -> dict[str, Any]:
    """A turn as printed by `--json`; all times in ms since the end of the user's speech."""
    return {
        "event": "turn",
        "turn": turn.turn,
        "user": turn.user,
        "assistant": turn.assistant,
        "interrupted": turn.interrupted,
        "latency_ms": asdict(turn.latency_ms),
        "memories": [
            {"id": memory.id, "text": memory.text, "score": round(memory.score, 4)}
            for memory in turn.memories
        ],
        "context_tokens": turn.context_tokens,
        "read_tokens": turn.read_tokens,
    }


class JsonView:
    """Turns, notices and phases, for programs."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def ready(self, *, hears: bool) -> None:
        self._print({"event": "ready", "hears": hears})

    def show(self, event: Event) -> None:
        if isinstance(event, TurnEnded):
            self._print(turn_object(event))
        elif isinstance(event, Notice):
            self._print(
                {
                    "event": "notice",
                    "severity": event.severity.value,
                    "text": event.text,
                    "mend": event.mend,
                }
            )
        elif isinstance(event, PhaseChanged):
            self._print({"event": "phase", "phase": event.phase.value})
        elif isinstance(event, TurnHeard):
            self._print({"event": "heard", "turn": event.turn, "user": event.text})
        elif isinstance(event, Remarked):
            self._print({"event": "remark", "text": event.text})
        elif isinstance(event, SpeechIgnored):
            self._print({"event": "ignored", "reason": event.reason, "text": event.text})
        elif isinstance(event, ModelsReady):
            self._print({"event": "models", **event.names})
        elif isinstance(event, MemoriesRead):
            self._print({"event": "memories", "count": event.count})
        elif isinstance(event, ForgettingBegan):
            row = {"event": "forgetting", "id": event.id, "due": event.due.isoformat()}
            counts = {"exchanges": len(event.exchanges), "memories": len(event.memories)}
            self._print(row | counts)
        elif isinstance(event, ForgettingUndone):
            self._print({"event": "undone", "id": event.id})
        elif isinstance(event, ForgettingDone):
            self._print({"event": "forgotten", **asdict(event)})
        elif isinstance(event, RecordChanged):
            self._print({"event": "record", "off": event.off})
        elif isinstance(event, RecordingChanged):
            self._print({"event": "recording", "path": event.path})
        elif isinstance(event, SessionEnded):
            self._print({"event": "ended", "turns": event.turns})

    def flush(self) -> None:
        with suppress(BrokenPipeError):
            self._out.flush()

    def _print(self, value: dict[str, Any]) -> None:
        print(json.dumps(value, ensure_ascii=False), file=self._out, flush=True)


class PlainView:
    """The conversation as it happens; the answer appears as it is spoken."""

    def __init__(self, out: TextIO, name: str) -> None:
        self._out = out
        self._name = name
        self._turn: int | None = None
        self._shown = ""
        self._written = ""

    def ready(self, *, hears: bool) -> None:
        if hears:
            self._line(f"{self._name} is listening. Speak, or type a line. Ctrl-C ends.")
        else:
            self._line(f"Type to {self._name}, one line per turn. Ctrl-C ends.")

    def show(self, event: Event) -> None:
        if isinstance(event, TurnHeard):
            self._line(f"you: {event.text}")
            self._turn, self._shown, self._written = event.turn, "", ""
            print(f"{self._name}: ", end="", file=self._out, flush=True)
        elif isinstance(event, AnswerText) and event.turn == self._turn:
            self._written += event.text
        elif isinstance(event, AnswerHeard) and event.turn == self._turn:
            self._say(event.text)
        elif isinstance(event, TurnEnded):
            self._say(event.assistant)
            self._turn = None
            first = event.latency_ms.first_audio or event.latency_ms.first_token
            mark = " — interrupted" if event.interrupted else ""
            took = f"  ({first / 1000:.1f} s)" if first is not None else ""
            print(f"{mark}{took}", file=self._out, flush=True)
        elif isinstance(event, Remarked):
            self._line(f"{self._name}: {event.text}")
        elif isinstance(event, Notice):
            arrow = f" → {event.mend}" if event.mend else ""
            sign = "·" if event.severity is Severity.INFO else "!"
            self._line(f"{sign} {event.text}{arrow}")
        elif isinstance(event, PhaseChanged) and event.phase in (Phase.ASLEEP, Phase.MUTED):
            self._line(f"· {event.phase.value}")
        elif isinstance(event, RecordChanged):
            self._line("· off the record" if event.off else "· on the record")
        elif isinstance(event, ForgettingDone):
            self._line(
                "· deleted, no traces found" if event.clean else "· deleted, but traces may remain"
            )
        elif isinstance(event, RecordingChanged):
            self._line(f"· recording to {event.path}" if event.path else "· no longer recording")
        elif isinstance(event, ModelsReady):
            self._line("· " + ", ".join(f"{role} {name}" for role, name in event.names.items()))

    def flush(self) -> None:
        with suppress(BrokenPipeError):
            self._out.flush()

    def _say(self, heard: str) -> None:
        if heard.startswith(self._shown):
            print(heard[len(self._shown) :], end="", file=self._out, flush=True)
            self._shown = heard

    def _line(self, text: str) -> None:
        if self._turn is not None:
            print(file=self._out)
            self._turn = None
        print(text, file=self._out, flush=True)
