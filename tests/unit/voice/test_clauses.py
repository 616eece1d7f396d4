"""How an answer is read aloud, where it may be cut, and which part of it has been heard."""

import random

import pytest

from assistant.voice.speech.clauses import Clause, ClauseSplitter
from assistant.voice.transport import heard_text


def clauses(text: str, language: str = "en") -> list[Clause]:
    splitter = ClauseSplitter(language)
    return [*splitter.feed(text), *splitter.finish()]


def read_aloud(text: str, language: str = "en") -> str:
    return " ".join(clause.spoken for clause in clauses(text, language))


READ_ALOUD = {
    "Just plain words.": "Just plain words.",
    # Thoughts.
    "<think>Let me see.\n\nYes</think>\n\nHello.": "Hello.",
    "Well<think>hm</think>, no.": "Well, no.",
    "<THINKING>a < b</THINKING>Fine.": "Fine.",
    "</think>Fine.": "Fine.",
    "<think>never closed": "",
    "The tag `<think>` is special.": "The tag is special.",
    "1 <thin line": "1 thin line",
    # Markdown.
    "A **very bold** and *slanted* __strong__ word.": "A very bold and slanted strong word.",
    "# The title\nText.": "The title Text.",
    "### Deep **title**\n\nText.": "Deep title Text.",
    "- one\n- two\n* three\n": "one two three",
    "1. Boil water.\n2) Add tea.": "1, Boil water. 2, Add tea.",
    "> quoted words": "quoted words",
    "- [ ] milk\n- [x] eggs": "milk eggs",
    "Above\n\n---\n\nBelow": "Above Below",
    "See [the docs](https://docs.example.com/a/b?c=d) now.": "See the docs now.",
    'See [the docs](https://example.com "A title here"), then.': "See the docs, then.",
    "![A red cat](cat.png) sits.": "A red cat sits.",
    "~~old~~ new": "old new",
    "| Name | Age |\n|:---|---:|\n| Ann | 5 |\n": "Name, Age, Ann, 5,",
    "|Name|Age|\n|---|---|\n|Ann|5|": "Name, Age Ann, 5",
    "line<br>break and <b>bold</b>": "linebreak and bold",
    "snake_case and *a*": "snake case and a",
    # Code.
    "Use `pip install x` here.": "Use pip install x here.",
    "Call `foo_bar()` first.": "Call foo bar first.",
    "Look:\n```python\nprint('<think>')\n```\nDone.": "Look: Code omitted. Done.",
    "Look:\n```\nnever closed": "Look: Code omitted.",
    "~~~\na\n~~~\nb": "Code omitted. b",
    "````md\n```\nx\n```\n````\nAfter.": "Code omitted. After.",
    # Addresses.
    "Go to https://www.example.com/path?q=1.": "Go to example dot com.",
    "Go to <https://example.com>, please.": "Go to example dot com, please.",
    "Try example.com today.": "Try example dot com today.",
    "Write to ann.lee@example.com now": "Write to ann dot lee at example dot com now",
    "Open main.py.": "Open main dot py.",
    # Emoji and the like.
    "Great! 😊🎉 Bye 👋🏽.": "Great! Bye.",
    "Family 👨‍👩‍👧 time ❤️": "Family time",
    "Sure :) yes": "Sure yes",
    "Trade™ mark ©": "Trade mark",
    # Symbols.
    "It is 20 °C or 68°F.": "It is 20 degrees Celsius or 68 degrees Fahrenheit.",
    "Up 5%, or 5 %.": "Up 5 percent, or 5 percent.",
    "Salt & pepper, AT&T": "Salt and pepper, AT and T",
    "A → B -> C": "A to B to C",
    "2 + 2 = 4": "2 plus 2 equals 4",
    "2 * 3": "2 times 3",
    "x ≤ 5 and y != 3": "x at most 5 and y is not equal to 3",
    "between 5-10 and 10–12": "between 5 to 10 and 10 to 12",
    "-5 or ~7": "minus 5 or about 7",
    "No. #1 and C# or C++": "No. number 1 and C sharp or C plus plus",
    "and/or": "and or",
    "60 km/h": "60 kilometers per hour",
    "A well-known word": "A well-known word",
    "This—that": "This, that",
    "This — that": "This, that",
    "“Quoted” ‘it’s’ (really)": "Quoted 'it's' really",
    "And so on…": "And so on.",
    # Money.
    "It is $5.": "It is 5 dollars.",
    "$1 or $5.50?": "1 dollar or 5 dollars and 50 cents?",
    "About $3.2 million, yes.": "About 3.2 million dollars, yes.",
    "$5 each": "5 dollars each",
    "$5-$10 or 5%-10%": "5 dollars to 10 dollars or 5 percent to 10 percent",
    "£2.01 and €7k": "2 pounds and 1 penny and 7 thousand euros",
    # Abbreviations.
    "Use e.g. tea, i.e. a drink.": "Use for example tea, that is a drink.",
    "Cats vs. dogs w/ fur": "Cats versus dogs with fur",
    # Formulas.
    r"\(\frac{1}{2}\) is $x^2$": "1 over 2 is x squared",
    r"$$a \times b$$": "a times b",
    r"\[ \sqrt{x} \]": "square root of x",
    "": "",
    "  \n\n ": "",
    "***": "",
}


@pytest.mark.parametrize(("text", "spoken"), READ_ALOUD.items())
def test_text_is_prepared_for_reading_aloud(text: str, spoken: str) -> None:
    assert read_aloud(text) == spoken


def test_symbols_in_other_languages_are_left_to_the_voice() -> None:
    assert read_aloud("Das kostet **5 €** & 3 % 😊.", "de") == "Das kostet 5 € & 3 %."
    assert read_aloud("你好。**我很好**！", "zh") == "你好。 我很好！"


CUTS = {
    "Sure! I can do that.": ["Sure!", "I can do that."],
    "Yes, that is right.": ["Yes, that is right."],
    "Well now, let me see what there is.": ["Well now,", "let me see what there is."],
    "Here is the thing: it works.": ["Here is the thing:", "it works."],
    "Dr. Smith lives in the U.S. now.": ["Dr. Smith lives in the U.S. now."],
    "Pi is 3.14 or so. It goes on.": ["Pi is 3.14 or so.", "It goes on."],
    "No. That is not so.": ["No.", "That is not so."],
    "So do I. You too?": ["So do I.", "You too?"],
    "J. R. Tolkien wrote it.": ["J. R. Tolkien wrote it."],
    'He said "stop." Then he left.': ["He said stop.", "Then he left."],
    "It was **bold.** Then not.": ["It was bold.", "Then not."],
    "Item one\nItem two": ["Item one", "Item two"],
    "We have tea — or coffee.": ["We have tea,", "or coffee."],
}


@pytest.mark.parametrize(("text", "expected"), CUTS.items())
def test_clauses_end_at_the_right_places(text: str, expected: list[str]) -> None:
    assert [clause.spoken for clause in clauses(text)] == expected


def test_the_first_clause_is_ready_before_the_sentence_ends() -> None:
    splitter = ClauseSplitter()
    assert splitter.feed("I think that") == []
    given = splitter.feed(" the weather will be very nice today and ")
    assert [clause.spoken for clause in given] == ["I think that the weather will be very"]


def test_a_clause_without_punctuation_ends_at_the_maximum_length() -> None:
    spoken = [clause.spoken.split() for clause in clauses(" ".join(f"word{n}" for n in range(80)))]
    assert [len(words) for words in spoken] == [8, 16, 30, 26]
    assert [word for words in spoken for word in words] == [f"word{n}" for n in range(80)]


def test_later_clauses_are_longer_than_the_first() -> None:
    text = "One two, three four. Five six, seven eight nine, ten. A, b c, d e f."
    assert [clause.spoken for clause in clauses(text)] == [
        "One two,",
        "three four.",
        "Five six, seven eight nine, ten.",
        "A, b c, d e f.",
    ]


LONG = """<think>The user wants

a list.</think>

## Plans for $5 million

Sure! Here's **what** I'd do, e.g. at https://example.com/x: first

1. Call Dr. Smith — soon.
2. Read [the docs](https://a.org/b "T t") & rest 😊

```python
x = 1
```

| a | b |
|---|---|
| 1 | 2 |

It is 20 °C… `foo_bar()` costs $5.50, or £3 at a<b 你好。好！ (really) *ok* end<think>x</think>"""


def test_clauses_do_not_depend_on_how_the_text_was_cut_into_deltas() -> None:
    whole = clauses(LONG)
    assert len(whole) > 8
    dice = random.Random(3)
    for _ in range(200):
        splitter, given, at = ClauseSplitter(), list[Clause](), 0
        while at < len(LONG):
            step = dice.choice((1, 1, 2, 3, 5, 17))
            given += splitter.feed(LONG[at : at + step])
            at += step
        assert [*given, *splitter.finish()] == whole


def test_each_word_has_its_place_in_the_text() -> None:
    heard_to = 0
    for clause in clauses(LONG):
        at = 0
        for word in clause.words:
            assert clause.spoken[at : word.spoken_end] == word.text
            assert heard_to <= word.source_end <= len(LONG)
            at, heard_to = word.spoken_end + 1, word.source_end
        assert at == len(clause.spoken) + 1


def test_the_heard_text_is_the_answer_up_to_the_last_heard_word() -> None:
    answer = "<think>easy</think>It costs **exactly $5** at [Joe's place](http://joe.com). Bye!"
    words = [word for clause in clauses(answer) for word in clause.words]
    heard = {word.text: heard_text(answer, word.source_end) for word in words}
    assert heard["costs"] == "It costs"
    assert heard["exactly"] == "It costs **exactly"
    assert heard["5"] == "It costs **exactly"  # half of "$5" doesn't count
    assert heard["dollars"] == "It costs **exactly $5**"
    assert heard["place."] == "It costs **exactly $5** at [Joe's place](http://joe.com)."
    assert heard_text(answer, words[-1].source_end) == heard_text(answer)
    assert heard_text("<think>only thoughts") == ""


def test_code_counts_as_heard_with_its_remark() -> None:
    answer = "So:\n```\na = 1\n```\nThere."
    remark = clauses(answer)[1]
    assert remark.spoken == "Code omitted."
    assert heard_text(answer, remark.words[0].source_end) == "So:"
    assert heard_text(answer, remark.words[-1].source_end).endswith("a = 1\n```")
