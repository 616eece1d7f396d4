"""Makes the included demo: a real conversation between a synthesised voice and real models.

The memory contains what somebody said on other days. The assistant is asked to do three things.
Then it is asked a question, interrupted, told to remember and to forget, and asked again. Writes
data/recordings/demo.jsonl after some minutes. The speaker and everything they say are invented.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import soundfile

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.context.conversation import Conversation
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home, models_cache
from assistant.voice.audio.interfaces import MIC_RATE
from assistant.voice.audio.resampling import Resampler
from models import catalogue
from models.download.cache import ModelStore
from models.interfaces import Samples
from models.tts.piper import Piper
from scripts.common import program
from scripts.common.assistant_process import ROOT, Ended

DEMO = ROOT / "data" / "recordings" / "demo.jsonl"
VOICE = "piper-en-us-joe-medium"
EARLIER = (
    (21, "My dog is called Max, and he loves to fetch sticks in the park.", "What a good dog."),
    (12, "I'm allergic to walnuts, so I always read the label.", "I will keep that in mind."),
    (9, "My sister Clara moved to Lisbon last spring.", "How exciting for her."),
    (5, "On Thursdays I play the cello with three dentists.", "That sounds like a fine quartet."),
    (3, "For my birthday I would like a red bicycle.", "A red one would suit you."),
    (2, "The spare key lies under the blue flower pot.", "Good to know."),
)
"""Earlier exchanges: how many days ago, the user's words, and the answer."""
STORY = "Tell me a long story about a sailor and an old lighthouse."
STORY_S = 11.0
"""Silence before the story is interrupted; a busy machine needs some seconds to begin."""
TALK: tuple[tuple[float | str, ...], ...] = (
    (15.0, "Set a timer for five minutes."),
    (0.3, "Add milk, eggs and bread to my shopping list."),
    (0.3, "What is seventeen times twenty-three?"),
    (0.3, "Where did my sister move to?"),
    (0.3, STORY, STORY_S, "Okay, wait. What does my dog love to do in the park?"),
    (0.3, "Remember that my parking space is number forty-two."),
    (0.3, "Forget that."),
    (0.3, "Undo that."),
    (0.3, "What number is my parking space?"),
)
"""Recordings, each made of silence (in seconds) and words. Each is played once the previous one has
been answered. During the first silence, the assistant loads the memories."""
SETTINGS = (
    "encryption.mode=off",
    "forget.grace_s=3600",
    "llm.temperature=0",
    "llm.max_answer_tokens=160",
)
TIMEOUT_S = 600
LOUDER_DB = 3.0
"""Microphone levels that differ by less than this from the last one kept are left out, to keep the
file small."""


def tell_earlier(home: Home) -> None:
    """Store conversations of other days in the transcript. The assistant adds them to the memory
    when it starts."""
    with closing(Transcript.open(home.transcript)) as transcript:
        for days, said, answer in EARLIER:
            at = datetime.now(UTC) - timedelta(days=days)
            talk = Conversation.begin("me")
            talk.append_user(1, said, at)
            transcript.store(talk, talk.complete(1, answer, ended=at + timedelta(seconds=9)))


def speak(folder: Path) -> list[Path]:
    """Make recordings of everything that is said."""
    voice = Piper(ModelStore(models_cache(), catalogue.read()).weights(VOICE))
    voice.load()
    paths = []
    for number, parts in enumerate(TALK):
        sound = [
            said(voice, part) if isinstance(part, str) else np.zeros(int(part * MIC_RATE), np.int16)
            for part in parts
        ]
        paths.append(folder / f"{number}.wav")
        soundfile.write(paths[-1], np.concatenate(sound), MIC_RATE)
    return paths


def said(voice: Piper, text: str) -> Samples:
    sound = np.concatenate([chunk.samples for chunk in voice.synthesize(text)])
    return Resampler(voice.sample_rate, MIC_RATE).process(sound)


def small(lines: list[str]) -> list[str]:
    """The lines, minus microphone levels that hardly changed."""
    kept, shown = [], 0.0
    for line in lines:
        event = json.loads(line).get("event", {})
        if event.get("type") == "MicrophoneLevel":
            if abs(event["dbfs"] - shown) < LOUDER_DB:
                continue
            shown = event["dbfs"]
        kept.append(line)
    return kept


def record(folder: Path, profile: str) -> list[str]:
    """The lines of the recording. Raises Ended: the assistant failed."""
    home = Home(folder / "home").create()
    tell_earlier(home)
    file = folder / "demo.jsonl"
    command = [sys.executable, "-m", "ui.commands.main", "--home", str(home.root)]
    command += ["--profile", profile, *(f"--set={each}" for each in SETTINGS)]
    command += ["talk", "--record", str(file), *(f"--input={path}" for path in speak(folder))]
    try:
        subprocess.run(command, cwd=ROOT, check=True, timeout=TIMEOUT_S)
    except subprocess.CalledProcessError as error:
        raise Ended(f"The assistant ended with exit code {error.returncode}.") from error
    except subprocess.TimeoutExpired as error:
        raise Ended(f"The assistant did not end within {TIMEOUT_S} s.") from error
    return small(file.read_text("utf-8").splitlines())


def work(options: program.Options) -> program.Figures:
    with tempfile.TemporaryDirectory() as folder:
        lines = record(Path(folder), options.profile)
    DEMO.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    print(f"{DEMO}: {len(lines):,} lines, {DEMO.stat().st_size / 1000:,.0f} kB")
    return {"file": str(DEMO), "lines": len(lines)}


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_profile(parser, "small")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
