"""Print the conversation of `assistant talk`, as text for people or as JSON for programs."""

from contextlib import suppress
from dataclasses import asdict
from typing import Any, TextIO

from assistant.events import (
    AnswerHeard,
    CommandHeard,
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
    RingingChanged,
    SessionEnded,
    Severity,
    SpeechIgnored,
    TurnEnded,
    TurnHeard,
)
from ui.process.console import print_json


class View:
    """Base class of the views, which print events on the stream `out`."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, event: Event) -> None:
        raise NotImplementedError

    def ready(self, *, hears: bool) -> None:
        raise NotImplementedError

    def flush(self) -> None:
        """Flush the output stream. Does nothing if the reader has closed the pipe."""
        with suppress(BrokenPipeError):
            self._out.flush()


class JsonView(View):
    """Prints turns, notices and other events as one JSON object per line."""

    def ready(self, *, hears: bool) -> None:
        print_json({"event": "ready", "hears": hears}, self._out)

    def show(self, event: Event) -> None:
        if (row := _row(event)) is not None:
            print_json(row, self._out)


def _row(event: Event) -> dict[str, Any] | None:
    """Return an event as a JSON object, or None if events of this type aren't printed.

    Latencies are in milliseconds since the end of the user's speech.
    """
    match event:
        case TurnEnded():
            memories = [
                {"id": memory.id, "text": memory.text, "score": round(memory.score, 4)}
                for memory in event.memories
            ]
            return {
                "event": "turn",
                "turn": event.turn,
                "user": event.user,
                "assistant": event.assistant,
                "interrupted": event.interrupted,
                "latency_ms": asdict(event.latency_ms),
                "memories": memories,
                "context_tokens": event.context_tokens,
                "read_tokens": event.read_tokens,
            }
        case Notice(text, severity, mend):
            return {"event": "notice", "severity": severity.value, "text": text, "mend": mend}
        case PhaseChanged(phase):
            return {"event": "phase", "phase": phase.value}
        case TurnHeard():
            return {"event": "heard", "turn": event.turn, "user": event.text}
        case CommandHeard():
            return {"event": "command", "user": event.text}
        case Remarked():
            return {"event": "remark", "text": event.text}
        case SpeechIgnored():
            return {"event": "ignored", "reason": event.reason, "text": event.text}
        case ModelsReady(names):
            return {"event": "models", **names}
        case MemoriesRead(count):
            return {"event": "memories", "count": count}
        case ForgettingBegan():
            row = {"event": "forgetting", "id": event.id, "due": event.due.isoformat()}
            counts = {"exchanges": len(event.exchanges), "memories": len(event.memories)}
            return row | counts
        case ForgettingUndone():
            return {"event": "undone", "id": event.id}
        case ForgettingDone():
            return {"event": "forgotten", **asdict(event)}
        case RecordChanged(off):
            return {"event": "record", "off": off}
        case RingingChanged(rings):
            return {"event": "ringing", "rings": rings}
        case RecordingChanged(path):
            return {"event": "recording", "path": path}
        case SessionEnded(turns):
            return {"event": "ended", "turns": turns}
    return None


class PlainView(View):
    """Prints the conversation as text. The answer is printed as it is spoken."""

    def __init__(self, out: TextIO, name: str) -> None:
        super().__init__(out)
        self._name = name
        self._turn: int | None = None
        self._shown = ""

    def ready(self, *, hears: bool) -> None:
        if hears:
            self._line(f"{self._name} is listening. Speak, or type a line. Ctrl-C ends.")
        else:
            self._line(f"Type to {self._name}, one line per turn. Ctrl-C ends.")

    def show(self, event: Event) -> None:
        match event:
            case TurnHeard():
                self._line(f"you: {event.text}")
                self._turn, self._shown = event.turn, ""
                print(f"{self._name}: ", end="", file=self._out, flush=True)
            case AnswerHeard() if event.turn == self._turn:
                self._say(event.text)
            case TurnEnded():
                self._say(event.assistant)
                self._turn = None
                first = event.latency_ms.first_audio or event.latency_ms.first_token
                mark = " — interrupted" if event.interrupted else ""
                took = f"  ({first / 1000:.1f} s)" if first is not None else ""
                print(f"{mark}{took}", file=self._out, flush=True)
            case CommandHeard():
                self._line(f"you: {event.text}")
            case Remarked():
                self._line(f"{self._name}: {event.text}")
            case Notice():
                arrow = f" → {event.mend}" if event.mend else ""
                sign = "·" if event.severity is Severity.INFO else "!"
                self._line(f"{sign} {event.text}{arrow}")
            case PhaseChanged(Phase.ASLEEP | Phase.MUTED):
                self._line(f"· {event.phase.value}")
            case RecordChanged(off):
                self._line("· off the record" if off else "· on the record")
            case ForgettingDone():
                traces = "no traces found" if event.clean else "but traces may remain"
                self._line(f"· deleted, {traces}")
            case RecordingChanged(path):
                self._line(f"· recording to {path}" if path else "· no longer recording")
            case ModelsReady(names):
                self._line("· " + ", ".join(f"{role} {name}" for role, name in names.items()))

    def _say(self, heard: str) -> None:
        if heard.startswith(self._shown):
            print(heard[len(self._shown) :], end="", file=self._out, flush=True)
            self._shown = heard

    def _line(self, text: str) -> None:
        if self._turn is not None:
            print(file=self._out)
            self._turn = None
        print(text, file=self._out, flush=True)
