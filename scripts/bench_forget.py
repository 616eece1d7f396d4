"""What it costs to forget for good: one memory of many, and a thousand in one go.

Each exchange that goes leaves the transcript, and its two memories the table; then the table is
written anew, and every file, version and row is searched for what is gone. `cpu` is processor time
of this process, in which a busy machine shows less. The words are made up, and so are the vectors.
Before that, `--hide` times: how long it takes until an exchange is out of recall and window and
noted, how long "forget that" takes after a question, and how long the event loop is held by it.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.encryption.keys import MasterKey
from scripts.bench.forget import measured
from scripts.common import program


def work(options: argparse.Namespace) -> dict[str, Any]:
    key = MasterKey.new() if options.encrypted else None
    found: dict[str, Any] = {}
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
    count = program.at_least(1)
    parser.add_argument("--rows", type=count, nargs="+", default=[10_000], help="memories")
    parser.add_argument("--forget", type=count, nargs="+", default=[1, 1_000], help="of them")
    parser.add_argument("--hide", type=int, default=50, help="exchanges to hide and bring back")
    parser.add_argument("--dimensions", type=count, default=384, help="of the vectors")
    parser.add_argument("--encrypted", action="store_true", help="with encryption at rest")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
