"""The last line that a measuring script prints can be read by any JSON reader."""

import json
import math

from scripts.common.last_line import last_line


def strict(line: str) -> object:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    return json.loads(line, parse_constant=refuse)


def test_a_figure_that_is_not_a_finite_number_is_null() -> None:
    found = {"precision": math.nan, "rows": {"100": [1.5, math.inf, "x", None, True]}, "machine": 1}
    assert strict(last_line(found)) == {
        "precision": None,
        "rows": {"100": [1.5, None, "x", None, True]},
        "machine": 1,
    }


def test_the_last_line_describes_the_machine() -> None:
    line = last_line({"p50": 1.0})
    assert "\n" not in line
    read = strict(line)
    assert isinstance(read, dict)
    assert read["machine"]["cores"] >= 1
    assert read["p50"] == 1.0
