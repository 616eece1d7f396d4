"""Compares our speech recogniser's word errors and speed with those of the same model in pipecat.

DIR holds recordings and `manifest.jsonl`, with one object per line that has `file` and `text`; rows
without text are left out. The two recognisers take turns on each clip, so that load affects both
equally.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program
from scripts.common.program import add_number
from scripts.common.rows import InputUnusable
from scripts.eval.stt import clips, compared


def work(options: program.Options) -> program.Figures:
    audio = list(clips(options.clips))
    if not audio:
        raise InputUnusable(f"There is no recording with a text in {options.clips}.")
    results = [compared(folder, audio, options.threads) for folder in options.models]
    for result in results:
        print(result)
    return {"clips": len(audio), "results": results}


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument(
        "--clips", type=Path, required=True, metavar="DIR", help="folder of recordings"
    )
    parser.add_argument(
        "--models", type=Path, nargs="+", required=True, metavar="FOLDER", help="speech models"
    )
    add_number(parser, "--threads", 2, "processor threads")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
