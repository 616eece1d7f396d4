"""What encryption at rest costs: everything twice, plain and encrypted, turn by turn in one run.

Storing an exchange in the transcript, writing its two memories and their vectors to the table,
loading a table as a start does, and opening the home. `cpu` is processor time of this process, in
which a busy machine shows less; `same` is the share of the ten nearest that both find. Vectors are
made up.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench.encryption import measured, measured_once
from scripts.common import program


def work(options: argparse.Namespace) -> dict[str, Any]:
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
    count = program.at_least(1)
    rows = [1_000, 10_000, 100_000]
    parser.add_argument("--rows", type=count, nargs="+", default=rows, help="memories")
    parser.add_argument("--dimensions", type=count, default=384, help="of the vectors")
    parser.add_argument("--exchanges", type=count, default=400, help="to store")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
