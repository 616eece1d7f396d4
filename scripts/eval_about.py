"""What "forget everything about my dog" would take along by its meaning alone.

    python scripts/eval_about.py [--encoder NAME] [--json]

Topics, encoded as questions are, are looked up among the project's own facts and some of its
distractors (data/evaluation).
Printed is what has none of a topic's words together, yet a cosine of 0.45 or more; whether it is
about the topic is for the reader to judge. The product takes it from `meant.LIKE` on. With `--json`
the last line is one JSON object.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.errors import AssistantError
from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.attribution import stems
from assistant.memory.forgetting.selection import LIKE
from assistant.memory.retrieval.question import read_question
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.retrieval.user_index import UserIndex
from assistant.paths import models_cache
from models.encoder.onnx import OnnxEncoder
from scripts.common.last_line import last_line
from scripts.eval.recall_data import own_files, read_paraphrases
from scripts.eval.recall_methods import memory
from scripts.eval_recall import ENCODER, KeptVectors, as_asked

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


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--encoder", default=ENCODER, help="name in the catalogue")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    lexicon = TextAnalyzer("en")
    pool = read_paraphrases(*own_files("paraphrase"))
    facts = [turn for turn in pool.turns if turn.id.startswith("f")]
    others = [turn for turn in pool.turns if not turn.id.startswith("f")]
    turns = facts + Random(3).sample(others, OTHERS)
    folder = models_cache() / options.encoder
    encoder, topics = OnnxEncoder(folder), as_asked(folder)
    try:
        encoder.load()
        topics.load()
        vectors = KeptVectors(encoder, None)([turn.text for turn in turns])
    except (AssistantError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    index = UserIndex(USER, lexicon, vectors.shape[1], Ranking())
    index.add([memory(turn, USER) for turn in turns], vectors)
    now = max(turn.when for turn in turns if turn.when) + timedelta(days=1)
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
    print(f"{len(TOPICS)} topics, {len(turns)} sentences: {len(shown)} from {SHOWN}, {taken} taken")
    if options.json:
        counts = {"topics": len(TOPICS), "sentences": len(turns), "taken": taken}
        print(last_line(counts | {"shown": shown, "encoder": options.encoder}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
