"""The voice loop: audio devices, turn detection, and the pipeline from microphone to
loudspeaker."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.voice.background_tasks import TaskSet
    from assistant.voice.dialogue import Dialogue
    from assistant.voice.latency import LatencyLog
    from assistant.voice.pipeline import AudioIO, Speech, VoiceLoop
    from assistant.voice.recalling import Recaller
    from assistant.voice.ringing import Ringing
    from assistant.voice.turns.end_of_turn import EndOfTurn, read_weights
    from assistant.voice.turns.pipecat_models import (
        GatedVoiceDetector,
        NoDetector,
        SileroVoice,
        SmartTurn,
        SoundJudge,
        VoiceDetector,
    )
    from assistant.voice.voice_control import VoiceControl
    from assistant.voice.voice_skill import VoiceSkill
else:
    __getattr__ = exports(__name__)

__all__ = [
    "AudioIO",
    "Dialogue",
    "EndOfTurn",
    "GatedVoiceDetector",
    "LatencyLog",
    "NoDetector",
    "Recaller",
    "Ringing",
    "SileroVoice",
    "SmartTurn",
    "SoundJudge",
    "Speech",
    "TaskSet",
    "VoiceControl",
    "VoiceDetector",
    "VoiceLoop",
    "VoiceSkill",
    "read_weights",
]
