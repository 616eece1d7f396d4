"""Measures how well interruptions are distinguished from a listener's remarks ("mm-hmm").

The texts are in `data/evaluation/interruptions.jsonl`: what people say while the assistant speaks.
Reports the share of interruptions that stop the voice, and the share of remarks that don't, each
with a 95 % interval. Since the first words of a remark may already stop the voice, it also reports
the share of remarks of which no beginning does. The model of turns must have been prepared. Choose
thresholds on part `dev` only.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.compose.adapted_models import build_turn_judge
from assistant.errors import ModelMissing
from assistant.settings import Settings
from assistant.voice.turns.barge_in import BEGINS_TO_INTERRUPT, INTERRUPTS
from models.interfaces import TurnJudge
from models.selection import select_models
from scripts.common import program
from scripts.common.spoken_turns import JUDGED_INTERRUPTIONS, Interruption, read_interruptions
from scripts.common.statistics import auc, interval


def beginnings(said: str) -> list[str]:
    """All beginnings of an utterance that are shorter than itself, in words."""
    words = said.split()
    return [" ".join(words[:count]) for count in range(1, len(words))]


def share(right: Sequence[bool]) -> dict[str, object]:
    """The share of right judgements, with its interval."""
    bounds = interval(right, lambda some: sum(some) / len(some))
    return {
        "share": round(sum(right) / len(right), 3) if right else None,
        "interval": [round(each, 3) for each in bounds] if bounds else None,
    }


def judged(judge: TurnJudge, some: Sequence[Interruption]) -> program.Figures:
    odds = [judge.interrupts(each.said, each.speaking) for each in some]
    stops = [value for value, each in zip(odds, some, strict=True) if each.stops]
    others = [each for each in some if not each.stops]
    goes_on = [value for value, each in zip(odds, some, strict=True) if not each.stops]
    begun = [
        all(
            judge.interrupts(begun, each.speaking) < BEGINS_TO_INTERRUPT
            for begun in beginnings(each.said)
        )
        for each in others
    ]
    return {
        "utterances": len(some),
        "auc": round(auc(goes_on, stops), 3),
        "stopped": share([value >= INTERRUPTS for value in stops]),
        "went_on": share([value < INTERRUPTS for value in goes_on]),
        "went_on_at_every_beginning": share(begun),
    }


def work(options: program.Options) -> program.Figures:
    settings = Settings()
    judge = build_turn_judge(select_models(settings), settings)
    if judge is None:
        raise ModelMissing("The profile has no model of turns.")
    judge.load()
    found = judged(judge, read_interruptions(JUDGED_INTERRUPTIONS, options.limit, options.part))
    for name, value in found.items():
        print(f"{name:28} {value}")
    return found


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument("--part", default="dev", choices=("dev", "test"))
    program.add_number(parser, "--limit", None, "use only N utterances")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
