"""Shows what "forget everything about my dog" would delete by meaning alone.

Topics are encoded like questions. For each topic, the program searches the project's own facts and
some of its distractors (data/evaluation), and prints every sentence that doesn't contain all words
of the topic, but has a cosine of 0.45 or more with it. You have to judge whether the sentence is
about the topic. The product deletes the sentence if the cosine is at least `LIKE`
(assistant/memory/forgetting).
"""

import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.attribution import stems
from assistant.memory.forgetting.selection import LIKE
from assistant.memory.retrieval.question import read_question
from scripts.common import program
from scripts.eval.encoders import add_encoder, of_documents, of_questions
from scripts.eval.recall_data import own_files, read_paraphrases
from scripts.eval.recall_methods import indexed, memory

OTHERS = 1_200
SHOWN = 0.45
FOUND = 50
TOPICS = (
    *("my pets", "my wife", "the accordion", "my brother-in-law's operation", "my health"),
    *("my allergies", "food I hate", "my holiday plans", "money", "my cousin's marriage"),
    *("the neighbours", "my parents", "music", "my sleep", "my knee", "the car", "school"),
    *("my childhood", "my phone number", "birthdays", "sport", "coffee", "my weight", "religion"),
    "my boss",
)


def work(options: program.Options) -> program.Figures:
    documents, topics = of_documents(options.encoder), of_questions(options.encoder)
    pool = read_paraphrases(*own_files("paraphrase"))
    facts = [turn for turn in pool.turns if turn.id.startswith("f")]
    others = [turn for turn in pool.turns if not turn.id.startswith("f")]
    turns = facts + Random(3).sample(others, OTHERS)
    vectors = documents.encode([turn.text for turn in turns])
    index = indexed(USER, [memory(turn, USER) for turn in turns], vectors)
    now = max(turn.when for turn in turns if turn.when) + timedelta(days=1)
    lexicon = TextAnalyzer("en")
    shown: list[tuple[float, str, str]] = []
    for topic in TOPICS:
        question = read_question(topic, [USER])
        vector = topics.encode([question.meaning])[0]
        for each in index.search(question, vector, k=FOUND, now=now):
            cosine = each.parts.get("meaning", 0.0)
            if cosine >= SHOWN and not stems(topic, lexicon) <= stems(each.text, lexicon):
                print(f"{cosine:.2f}  {topic}: {each.text}")
                shown.append((round(cosine, 3), topic, each.text))
    taken = sum(cosine >= LIKE for cosine, *_ in shown)
    print(
        f"{len(TOPICS)} topics, {len(turns)} sentences: {len(shown)} from {SHOWN}, {taken} deleted"
    )
    counts = {"topics": len(TOPICS), "sentences": len(turns), "taken": taken}
    return counts | {"shown": shown, "encoder": options.encoder}


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    add_encoder(parser)
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
