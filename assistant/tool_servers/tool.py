"""Describes those tools of servers that can be used by voice."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Any

from assistant.tool_server_settings import Value

MOST_PARAMETERS = 12
"""Maximum number of parameters of a tool. Tools that require more can't be used by voice."""
MOST_CHOICES = 20
DEEPEST = 4
"""Maximum depth to which a schema is read. A schema may refer to itself."""
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 240
"""Maximum number of characters of a description. The rest is cut off."""
LONGEST_RESULT = 20_000
"""Maximum number of characters of a result. The rest is cut off."""
LONGEST_PATTERN = 200
MOST_VARYING = 2
"""Maximum number of repetitions and groups in a pattern. Each one multiplies the ways in which a
text can match, so with more of them, matching could take too long."""

_NAME = re.compile(r"[A-Za-z][\w./-]*", re.ASCII)
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LINK = re.compile(r"#/(?:\$defs|definitions)/([^/]+)")
_VARYING = re.compile(r"[*+?{(]")
_REPEATED_GROUP = re.compile(r"\)[*+?{]|\\[1-9]|\(\?")


class ParameterKind(StrEnum):
    TEXT = "string"
    NUMBER = "number"
    INTEGER = "integer"
    SWITCH = "boolean"
    TEXTS = "array"
    """Several texts."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a schema demands of a text or a number, besides its type.

    Attributes:
        shortest, longest: minimum and maximum number of characters of a text.
        pattern: must be found in a text. None if any text will do, or if the pattern is not safe to
            use.
        least, most: a number's limits.
    """

    shortest: float = 0
    longest: float = inf
    pattern: re.Pattern[str] | None = None
    least: float = -inf
    most: float = inf

    def allow(self, value: Value) -> bool:
        if isinstance(value, str):
            fits = self.shortest <= len(value) <= self.longest
            return fits and (self.pattern is None or self.pattern.search(value) is not None)
        return isinstance(value, bool) or self.least <= value <= self.most


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool. `choices` are the only values that it takes; empty if it takes any.
    `limits` apply to the value or, if it consists of several texts, to each text."""

    name: str
    kind: ParameterKind = ParameterKind.TEXT
    required: bool = True
    description: str = ""
    choices: tuple[str, ...] = ()
    limits: Limits = Limits()

    @property
    def spoken(self) -> str:
        return spoken_name(self.name)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that can be used by voice.

    Attributes:
        server: the name that the user has given to its server.
        read_only: whether the server says that the tool changes nothing.
        confirmed: whether the user is asked before it is called.
        fixed: arguments from the settings.
    """

    server: str
    name: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    read_only: bool = False
    confirmed: bool = True
    fixed: Mapping[str, Value] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """A name that is unique among the tools of all servers."""
        return f"{self.server}.{self.name}"

    @property
    def spoken(self) -> str:
        """Its name in words, without its server's: "create branch" for `git_create_branch`."""
        words, server = spoken_name(self.name), spoken_name(self.server)
        return words.removeprefix(f"{server} ") or words

    @property
    def spoken_server(self) -> str:
        return spoken_name(self.server)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered. If `failed` is set, `text` says why, or is empty."""

    text: str
    failed: bool = False


def spoken_name(name: str) -> str:
    """Return a name in words that can be read aloud.

    >>> spoken_name("read_text-file"), spoken_name("listAllFiles")
    ('read text file', 'list all files')
    """
    words = re.findall(r"[A-Za-z]+|\d+", _HUMPS.sub(" ", name[:LONGEST_NAME]))
    return " ".join(words).lower()


def one_line(text: str, longest: int) -> str:
    """Return a server's text as one line, without control characters, cut off at a word.

    >>> one_line("Write a file.\\n\\nOverwrites it.", 20)
    'Write a file.'
    """
    plain = "".join(" " if each.isspace() else each for each in text[: 4 * longest])
    plain = "".join(each for each in plain if unicodedata.category(each)[0] != "C")
    line = " ".join(plain.split())
    if len(line) <= longest:
        return line
    return line[: longest + 1].rpartition(" ")[0] or line[:longest]


def read_tool(
    server: str,
    name: str,
    description: str | None,
    schema: Mapping[str, Any],
    *,
    read_only: bool,
    confirmed: bool,
    defaults: Mapping[str, Value],
) -> Tool | None:
    """Return the tool, or None if it can't be used by voice: its name is not a plain name, or it
    requires an argument that can't be said, such as a table.

    Args:
        schema: the JSON schema of its arguments, from the server.
        defaults: the server's setting of that name.
    """
    if len(name) > LONGEST_NAME or _NAME.fullmatch(name) is None or not spoken_name(name):
        return None
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    if not isinstance(properties, Mapping) or not isinstance(required, Sequence):
        return None
    fixed = {key: defaults[key] for key in properties if key in defaults}
    needed = {each for each in required if isinstance(each, str)} - fixed.keys()
    links = schema.get("$defs") or schema.get("definitions") or {}
    found = [
        parameter
        for key, value in properties.items()
        if key not in fixed
        and (parameter := _parameter(key, value, links, required=key in needed)) is not None
    ]
    found.sort(key=lambda each: not each.required)
    found = found[:MOST_PARAMETERS]
    if not needed <= {each.name for each in found}:
        return None
    text = one_line(description or "", LONGEST_DESCRIPTION)
    return Tool(server, name, text, tuple(found), read_only, confirmed, fixed)


def read_result(texts: Iterable[str], structured: object, *, failed: bool) -> ToolResult:
    """Return a result. If it contains no text, its structured content is used.

    Args:
        structured: JSON; None if there is none.
    """
    text = "\n".join(each for each in texts if each.strip())
    if not text and structured is not None:
        text = json.dumps(structured, ensure_ascii=False, default=str)
    return ToolResult(text[:LONGEST_RESULT], failed)


def _parameter(name: object, schema: object, links: object, *, required: bool) -> Parameter | None:
    """Return a parameter; None if its values can't be said."""
    if not isinstance(name, str) or len(name) > LONGEST_NAME or _NAME.fullmatch(name) is None:
        return None
    found = _resolved(schema, links)
    kind, choices = _kind(found, links)
    if found is None or kind is None:
        return None
    inner = _resolved(found.get("items"), links) if kind is ParameterKind.TEXTS else found
    told = schema.get("description") if isinstance(schema, Mapping) else None
    text = one_line(told, LONGEST_DESCRIPTION) if isinstance(told, str) else ""
    return Parameter(name, kind, required, text, choices, _limits(inner or {}))


def _resolved(schema: object, links: object, depth: int = DEEPEST) -> Mapping[str, Any] | None:
    """Follow a schema's references, and leave out null as an alternative. Return None if no schema,
    or more than one, is left."""
    schema = _followed(schema, links)
    if not isinstance(schema, Mapping) or not depth:
        return None
    several = schema.get("anyOf") or schema.get("oneOf")
    if not isinstance(several, Sequence):
        return schema
    rest = [_followed(each, links) for each in several]
    rest = [each for each in rest if isinstance(each, Mapping) and each.get("type") != "null"]
    return _resolved(rest[0], links, depth - 1) if len(rest) == 1 else None


def _kind(
    schema: Mapping[str, Any] | None, links: object
) -> tuple[ParameterKind | None, tuple[str, ...]]:
    """Return the kind of values that a schema describes, and the values if it lists them. The kind
    is None if the values can't be said."""
    if schema is None:
        return None, ()
    named = schema.get("type")
    if isinstance(named, list):
        rest = [each for each in named if each != "null"]
        named = rest[0] if len(rest) == 1 else None
    allowed = schema.get("enum")
    if isinstance(allowed, list):
        choices = tuple(each for each in allowed if isinstance(each, str) and _sayable(each))
        fits = 0 < len(choices) <= MOST_CHOICES and len(choices) == len(allowed)
        return (ParameterKind.TEXT, choices) if fits else (None, ())
    if named == ParameterKind.TEXTS:
        items = _resolved(schema.get("items", {"type": "string"}), links)
        texts = _kind(items, links) == (ParameterKind.TEXT, ())
        return (ParameterKind.TEXTS, ()) if texts else (None, ())
    known = [each.value for each in ParameterKind]
    return (ParameterKind(named), ()) if isinstance(named, str) and named in known else (None, ())


def _limits(schema: Mapping[str, Any]) -> Limits:
    """Return the limits that a schema sets. Limits that are not numbers or usable patterns are left
    out."""

    def number(name: str, default: float) -> float:
        value = schema.get(name)
        return value if isinstance(value, int | float) else default

    return Limits(
        number("minLength", 0),
        number("maxLength", inf),
        _safe_pattern(schema.get("pattern")),
        number("minimum", -inf),
        number("maximum", inf),
    )


def _safe_pattern(pattern: object) -> re.Pattern[str] | None:
    """Compile a server's pattern. Return None if it is not a pattern, or if matching it could take
    very long: the server then has to check the value itself."""
    if not isinstance(pattern, str) or len(pattern) > LONGEST_PATTERN:
        return None
    if _REPEATED_GROUP.search(pattern) or len(_VARYING.findall(pattern)) > MOST_VARYING:
        return None
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None


def _sayable(choice: str) -> bool:
    """Return whether a value can be read out as it stands: a short line with words."""
    plain = choice == one_line(choice, LONGEST_NAME)
    return plain and any(each.isalnum() for each in choice)


def _followed(schema: object, links: object) -> object:
    """Return the definition to which a schema refers, or the schema itself."""
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    found = _LINK.fullmatch(reference) if isinstance(reference, str) else None
    if found is None or not isinstance(links, Mapping):
        return schema
    return links.get(found[1])
