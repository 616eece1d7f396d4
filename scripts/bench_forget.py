"""Measures what it costs to forget for good: one memory out of many, and a thousand together.

Each forgotten exchange is deleted from the transcript, and its two memories from the table; then
the table is rewritten, and every file, version and row is searched for the deleted text. `cpu` is
the processor time of this process, which depends less on other programs. Before that, exchanges are
hidden and brought back. This measures how long it takes until an exchange is gone from recall and
the context window and is recorded on disk as hidden, how long "forget that" takes after a question,
and how long either blocks the event loop. Words and vectors are artificial.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.encryption.keys import MasterKey
from scripts.bench.forget import measured
from scripts.common import program
from scripts.common.program import add_number


def work(options: program.Options) -> program.Figures:
    key = MasterKey.new() if options.encrypted else None
    found: program.Figures = {}
    for rows in options.rows:
        each = measured(rows, options.forget, options.hide, options.dimensions, key)
        for what, figures in each["hiding"].items():
            print(f"{rows:>7} memories, {what}: {figures}")
        for count, figures in each["forget"].items():
            print(f"{rows:>7} memories, {count} forgotten: {figures}")
        found[str(rows)] = each
    return {"encrypted": options.encrypted, "rows": found}


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    add_number(parser, "--rows", [10_000], "numbers of memories", nargs="+")
    add_number(parser, "--forget", [1, 1_000], "memories to forget", nargs="+")
    add_number(parser, "--hide", 50, "exchanges to hide and bring back", least=0)
    add_number(parser, "--dimensions", 384, "dimensions of the vectors")
    parser.add_argument("--encrypted", action="store_true", help="with encryption at rest")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
