"""Trains a language model to answer as this assistant should.

Learns from `data/training/answers_about_people.jsonl` (people who tell the assistant about their
lives, and ask about it later) and `data/training/answers_everyday.jsonl` (everyday conversations).
First, all conversations are had with the product, with the written answers in place of a language
model's. This gives the prompts that a language model would have read. It takes some minutes;
with `--reuse`, the prompts of an earlier run are taken from the file `--lessons`.

Then a low-rank adapter (LoRA) of the model's upper layers is trained. The model's own weights stay
as they are in its GGUF file. The adapter is written as a GGUF file, too, and llama.cpp adds it to
the model. `models/catalogue.toml` names the adapters in use. The model and both encoders must have
been pulled. `scripts/eval_answers.py` measures the answers.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from models.selection.profiles import STRONG
from scripts.common import program


def work(options: program.Options) -> program.Figures:
    from scripts.eval import answer_lessons
    from scripts.train.answers import Plan, trained, weights_of  # imports torch: not for `--help`

    weights = weights_of(options.model)
    if not options.reuse:
        answer_lessons.write(weights, options.lessons, options.seed)
    figures = trained(program.fill(Plan, options))
    for name, value in figures.items():
        print(f"{name}: {value}")
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument("--model", default=STRONG[-1], metavar="NAME", help="model to adapt")
    parser.add_argument(
        "--lessons", type=Path, required=True, metavar="FILE", help="file with the prompts"
    )
    parser.add_argument(
        "--reuse", action="store_true", help="use the prompts that FILE has already"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to write the adapter to")
    program.add_number(parser, "--rank", 4, "rank of the adapter")
    program.add_number(parser, "--first", 9, "first layer that is adapted", least=0)
    program.add_number(parser, "--pack", 600, "tokens per step, without the system message")
    parser.add_argument(
        "--rate", type=float, default=3e-4, metavar="R", help="highest learning rate"
    )
    program.add_number(parser, "--epochs", 1, "passes over the data")
    program.add_number(parser, "--seed", 1, "seed of the order", least=0)
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
