"""Measures what encryption at rest costs, by doing everything alternately plain and encrypted.

It measures storing an exchange in the transcript, writing its two memories and their vectors to the
table, loading a table as the assistant does when it starts, and opening the home. `cpu` is the
processor time of this process, which depends less on other programs. `same` is the share of the ten
nearest memories that both the plain and the encrypted table find. The vectors are random.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench.encryption import measured, measured_once
from scripts.common import program
from scripts.common.program import add_number


def work(options: program.Options) -> program.Figures:
    found = measured_once(options.exchanges)
    print(f"storing an exchange: {found['storing']}")
    print(f"opening a home: {found['opening']}")
    found["rows"] = {}
    for rows in options.rows:
        found["rows"][str(rows)] = each = measured(rows, options.dimensions)
        print(f"{rows:>7} rows: {each}")
    return found


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    rows = [1_000, 10_000, 100_000]
    add_number(parser, "--rows", rows, "numbers of memories", nargs="+")
    add_number(parser, "--dimensions", 384, "dimensions of the vectors")
    add_number(parser, "--exchanges", 400, "exchanges to store")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
