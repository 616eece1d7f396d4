"""How smoothly the screen draws: the longest frames while memories scroll by and are searched.

python scripts/bench_screen.py --rows 10000 --json
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--rows", type=int, default=10_000, help="memories in the table")
    parser.add_argument("--json", action="store_true", help="one object in the last line, no more")
    args = parser.parse_args()
    from scripts.bench import screen_frames

    report = screen_frames.measure(args.rows)
    if not args.json:
        print(f"{args.rows:,} memories; a frame takes, in ms:")
        for what, frames in report["frames_ms"].items():
            figures = ", ".join(f"{name} {value:g}" for name, value in frames.items())
            print(f"  {what:<8} {figures}")
    else:
        print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
