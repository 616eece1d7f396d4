"""Opens a profile's models, and listens to recordings and spoken turns with them."""

from dataclasses import dataclass
from pathlib import Path

from assistant.compose.adapted_models import build_turn_judge
from assistant.compose.engines import build_recogniser, build_voice
from assistant.settings import Settings
from assistant.voice.turns.pipecat_models import SmartTurn
from models.selection import select_models
from scripts.bench.turns import spoken
from scripts.bench.turns.pauses import Heard, Listener
from scripts.bench.voice.labels import read_clips
from scripts.common.rows import InputUnusable
from scripts.common.spoken_turns import EVALUATION, read_turns


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to listen to.

    Attributes:
        clips: a folder of recordings; None for none.
        part: the part of the evaluation set whose turns are spoken; None for none.
        limit: maximum number of recordings, and of turns; None for all.
    """

    profile: str
    clips: Path | None
    part: str | None
    limit: int | None
    seed: int


def heard(wanted: Wanted) -> dict[str, list[Heard]]:
    """What a profile's models hear, by the name of the set.

    Raises:
        AssistantError: a model is missing or damaged, or a recording can't be read.
        InputUnusable: there is nothing to listen to.
    """
    settings = Settings.model_validate({"general": {"profile": wanted.profile}})
    selection = select_models(settings)
    stt, words = build_recogniser(selection, settings), build_turn_judge(selection, settings)
    stt.load()
    if words is not None:
        words.load()
    listener = Listener(stt, words, SmartTurn())
    found: dict[str, list[Heard]] = {}
    if wanted.clips is not None:
        clips = read_clips(wanted.clips)[: wanted.limit]
        found["recordings"] = [listener.listen(each) for each in clips]
    if wanted.part is not None:
        voice = build_voice(selection, settings)
        voice.load()
        turns = read_turns(EVALUATION, wanted.limit, wanted.part)
        made = spoken.clips(turns, voice, wanted.seed)
        found["spoken"] = [listener.listen(each.clip, each.question) for each in made]
    if not any(found.values()):
        raise InputUnusable("There is nothing to listen to: name --clips or --spoken.")
    return found
