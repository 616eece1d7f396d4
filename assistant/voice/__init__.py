"""The voice loop: audio devices, turn detection, and the pipeline from microphone to
loudspeaker."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.voice.background_tasks import TaskSet
    from assistant.voice.claims import ClaimDetector
    from assistant.voice.dialogue import Dialogue
    from assistant.voice.latency import LatencyLog
    from assistant.voice.pipeline import AudioIO, VoiceLoop
    from assistant.voice.ringing import Ringing
    from assistant.voice.turns.pipecat_models import (
        EndOfTurn,
        GatedVoiceDetector,
        SileroVoice,
        SmartTurn,
        VoiceDetector,
    )
else:
    __getattr__ = exports(__name__)

__all__ = [
    "AudioIO",
    "ClaimDetector",
    "Dialogue",
    "EndOfTurn",
    "GatedVoiceDetector",
    "LatencyLog",
    "Ringing",
    "SileroVoice",
    "SmartTurn",
    "TaskSet",
    "VoiceDetector",
    "VoiceLoop",
]
