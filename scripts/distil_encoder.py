"""Let some of a sentence encoder's layers encode questions as all of them do.

The teacher is the encoder with its adapter, as it is prepared. The student has the layers N of it,
counted from 0. A low-rank adapter (LoRA) of these layers is trained until a text's vector, and its
ranking of what was said, are the teacher's (after Sanh et al. 2019). It learns on all texts of
`data/training`, since a turn may ask or tell. Memories are still encoded by all layers, so no
vector of theirs changes. The adapter is written to FOLDER in peft's form; `models/catalogue.toml`
names those in use. Some questions are held out, and reported on before and after: the mean cosine
to the teacher's vector, and how often a question finds its utterance among all. The evaluation
sets are not read.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program
from scripts.common.program import add_number
from scripts.train.training_data import FILES, read_pairs


def work(options: program.Options) -> program.Figures:
    from scripts.train.distillation import Plan, distilled  # brings torch: not for `--help`

    told = [each for name in FILES for each in read_pairs(name, options.limit)]
    figures = distilled(told, program.fill(Plan, options))
    for name, value in figures.items():
        print(f"{name}: {value}")
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument(
        "--layers",
        type=int,
        nargs="+",
        required=True,
        metavar="N",
        help="layers to keep, from 0 on",
    )
    parser.add_argument(
        "--encoder",
        default="all-minilm-l6-v2",
        metavar="NAME",
        help="encoder in the catalogue",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder to write the adapter to")
    add_number(parser, "--rank", 64, "of the adapter")
    add_number(parser, "--epochs", 3, "passes over the data")
    parser.add_argument(
        "--rate", type=float, default=1e-3, metavar="R", help="highest learning rate"
    )
    add_number(parser, "--hold-out", 28, "hold out every Nth question")
    add_number(parser, "--limit", None, "take only N utterances of each file")
    add_number(parser, "--seed", 0, "of the order", least=0)
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
