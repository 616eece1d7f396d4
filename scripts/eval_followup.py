"""Measures how well follow-up questions such as "and when is it?" find their memory.

Each of the project's own follow-ups comes after an exchange, and asks for one of the facts hidden
among distractors (data/evaluation). `ours` is the product's method. `plain` uses only the question.
`joined` encodes the question and the earlier words as one text. `always` adds the earlier vectors
and words, even if the question is not a follow-up. The category `new topic` has self-contained
questions, each after an exchange about something else; for these, ours must not be worse than
`plain`. In `first half`, ours searches for the same questions by all their words, but by the
meaning of only their first half. This is the fallback if the deadline is missed while the user is
transcribed word by word. The other methods use no meaning in this category. Intervals are bootstrap
95 % over questions.
"""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.memory.retrieval.encoding import QueryEncoder
from data import located
from scripts.common import program
from scripts.eval.encoders import add_encoder, of_documents, of_questions
from scripts.eval.followup import FOLLOW_UPS, Bench, figures, measured, read
from scripts.eval.recall_data import own_files, read_paraphrases
from scripts.eval.recall_metrics import METRICS, table


def work(options: program.Options) -> program.Figures:
    documents = of_documents(options.encoder)
    pool = read_paraphrases(*own_files("paraphrase"))
    with closing(QueryEncoder(of_questions(options.encoder), documents)) as encoder:
        bench = Bench(pool, encoder, documents.encode)
        values = asyncio.run(measured(bench, read(pool, located(FOLLOW_UPS))))
    found = figures(values)
    for kind, of_kind in values.items():
        low, high = found[kind]["intervals"]["ours"][METRICS[0]]
        print(f"{kind}, {found[kind]['questions']} questions\n{table(of_kind)}")
        print(f"ours {METRICS[0]}: 95 % between {low:.3f} and {high:.3f}\n")
    return found | {"encoder": options.encoder}


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    add_encoder(parser)
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
