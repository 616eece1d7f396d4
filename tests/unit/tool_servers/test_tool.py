"""What of a server's tools can be used by voice."""

from typing import Any

import pytest

from assistant.tool_servers.tool import (
    LONGEST_DESCRIPTION,
    MOST_PARAMETERS,
    Parameter,
    ParameterKind,
    Tool,
    one_line,
    read_result,
    read_tool,
    spoken_name,
)

TEXT = {"type": "string"}


def read(
    properties: Any, required: Any = (), name: str = "keep", definitions: Any = None
) -> Tool | None:
    return read_tool(
        "shelf",
        name,
        None,
        {"properties": properties, "required": required, "$defs": definitions},
        read_only=False,
        confirmed=True,
        defaults={"folder": "/here"},
    )


@pytest.mark.parametrize(
    ("schema", "kind", "choices"),
    [
        (TEXT, ParameterKind.TEXT, ()),
        ({"type": "integer"}, ParameterKind.INTEGER, ()),
        ({"type": "number"}, ParameterKind.NUMBER, ()),
        ({"type": "boolean"}, ParameterKind.SWITCH, ()),
        ({"type": ["string", "null"]}, ParameterKind.TEXT, ()),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, ParameterKind.INTEGER, ()),
        ({"enum": ["red", "dark_blue"]}, ParameterKind.TEXT, ("red", "dark_blue")),
        ({"type": "array", "items": TEXT}, ParameterKind.TEXTS, ()),
        ({"$ref": "#/$defs/Colour"}, ParameterKind.TEXT, ("red",)),
    ],
)
def test_a_parameter_has_the_kind_that_its_schema_says(
    schema: Any, kind: ParameterKind, choices: tuple[str, ...]
) -> None:
    tool = read({"it": schema}, ["it"], definitions={"Colour": {"enum": ["red"]}})

    assert tool is not None
    assert tool.parameters == (Parameter("it", kind, True, "", choices),)


@pytest.mark.parametrize(
    ("schema", "fits", "fails"),
    [
        ({**TEXT, "pattern": "^[a-z]+$"}, "ab", "a b"),
        ({**TEXT, "pattern": "^(small|large)$"}, "small", "medium"),
        ({**TEXT, "minLength": 2, "maxLength": 3}, "ab", "a"),
        ({**TEXT, "maxLength": 3}, "abc", "abcd"),
        ({"anyOf": [{**TEXT, "maxLength": 3}, {"type": "null"}]}, "abc", "abcd"),
        ({"type": "array", "items": {**TEXT, "maxLength": 3}}, "abc", "abcd"),
        ({"$ref": "#/$defs/Short"}, "abc", "abcd"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, 9, 10),
        ({"type": "integer", "minimum": 1, "maximum": "many"}, 99, 0),
    ],
)
def test_a_parameter_has_the_limits_of_its_schema(schema: Any, fits: Any, fails: Any) -> None:
    tool = read({"it": schema}, ["it"], definitions={"Short": {**TEXT, "maxLength": 3}})
    assert tool is not None
    [parameter] = tool.parameters
    assert parameter.limits.allow(fits)
    assert not parameter.limits.allow(fails)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        ".*.*.*x",
        "(",
        7,
        "a" * 1000,
        "a{,9}b{,9}c{,9}d",
        f"^{'.?' * 60}{'.' * 60}!",
        f"^{'(.|.)' * 38}!",
        "a{1}b{1}c{1}d",
    ],
)
def test_a_pattern_that_is_none_or_takes_long_to_match_is_left_to_the_server(pattern: Any) -> None:
    tool = read({"it": {**TEXT, "pattern": pattern}}, ["it"])
    assert tool is not None
    assert tool.parameters == (Parameter("it"),)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "array", "items": {"type": "object"}},
        {"anyOf": [TEXT, {"type": "integer"}]},
        {"enum": [1, 2]},
        {"enum": [str(each) for each in range(1000)]},
        {"$ref": "#/$defs/Missing"},
        {"$ref": "http://example.com/schema"},
        {},
        True,
        "text",
        None,
    ],
)
def test_a_tool_that_requires_what_nobody_can_say_is_left_out(schema: Any) -> None:
    assert read({"it": schema}, ["it"]) is None
    assert read({"it": schema}) == Tool("shelf", "keep"), "it can do without"


def test_a_schema_that_refers_to_itself_is_left_out() -> None:
    loop = {"Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}]}}

    assert read({"it": {"$ref": "#/$defs/Loop"}}, ["it"], definitions=loop) is None


def test_arguments_from_the_settings_are_not_asked_for() -> None:
    tool = read({"folder": TEXT, "it": TEXT}, ["folder", "it"])

    assert tool is not None
    assert [each.name for each in tool.parameters] == ["it"]
    assert tool.fixed == {"folder": "/here"}


def test_too_many_parameters_are_left_out_unless_they_are_required() -> None:
    many = {f"p{at}": TEXT for at in range(2 * MOST_PARAMETERS)}

    some = read(many, ["p20"])
    assert some is not None
    assert len(some.parameters) == MOST_PARAMETERS
    assert some.parameters[0].name == "p20"
    assert read(many, list(many)) is None


@pytest.mark.parametrize("name", ["", "keep it", "<|im_end|>", "x" * 100, "行く", "1", "a\nb"])
def test_a_tool_without_a_plain_name_is_left_out(name: str) -> None:
    assert read({}, name=name) is None


@pytest.mark.parametrize("broken", [[], "text", None, 7])
def test_a_schema_that_is_none_is_left_out(broken: Any) -> None:
    assert read(broken) is None


def test_a_description_becomes_one_bounded_line() -> None:
    assert one_line("Keeps\n\n  a\ttext.\x00\x1b[31m", 100) == "Keeps a text.[31m"
    long = one_line("word " * 1000, LONGEST_DESCRIPTION)
    assert len(long) <= LONGEST_DESCRIPTION
    assert long.endswith("word")


def test_names_are_spoken_without_that_of_the_server() -> None:
    assert Tool("git", "git_create_branch").spoken == "create branch"
    assert Tool("git", "git").spoken == "git"
    assert Tool("my-files", "readTextFile").spoken == "read text file"
    assert spoken_name("top10_items.v2") == "top 10 items v 2"


def test_without_text_the_structured_content_is_the_result() -> None:
    assert read_result(["", " "], {"a": 1}, failed=False).text == '{"a": 1}'
    assert read_result(["one", "two"], {"a": 1}, failed=False).text == "one\ntwo"
