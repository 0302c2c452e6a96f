#!/usr/bin/env python3
"""sa: a workload function that reads a dictionary from local storage and then computes.

Loads the sentiment dictionary lexicon.tsv and scores a sentence by it, `repeat` times. A word's score is turned around by a negation
among the three words before it, and made larger or smaller by a degree word just before it. The result is the sum divided by the
root of sum^2 + 15, between -1 and 1.

Standard input: {"sentence": "...", "repeat": 1}, both optional, or nothing. Standard output: one JSON object with score and label.
Exit 2: the input is not valid; exit 1: the dictionary cannot be read; standard error says why.
"""

import json
import math
import os
import re
import sys

REPEAT_MAX = 10_000_000
SENTENCE_MAX = 65_536
LEXICON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lexicon.tsv")
SENTENCE = (
    "The start was not slow at all, the answer came quickly and the whole trip felt wonderfully calm, "
    "but the bill at the end was a rather nasty surprise and nobody seemed very helpful about it."
)
NEGATIONS = {"not", "no", "never", "nobody", "nothing", "neither", "nor", "without", "hardly", "scarcely"}
DEGREES = {"very": 1.3, "really": 1.3, "extremely": 1.5, "so": 1.2, "rather": 0.9, "somewhat": 0.7, "barely": 0.5}
NEGATION_REACH = 3
NEGATION_FACTOR = -0.75
EVENNESS = 15
WORD = re.compile(r"[a-z']+")


def lexicon():
    scores = {}
    with open(LEXICON, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                word, score = line.rstrip("\n").split("\t")
                scores[word] = float(score)
    return scores


def score_of(sentence, scores):
    words = WORD.findall(sentence.lower())
    total = 0.0
    for position, word in enumerate(words):
        score = scores.get(word, 0.0)
        if score == 0.0:
            continue
        if position > 0:
            score *= DEGREES.get(words[position - 1], 1.0)
        if any(before in NEGATIONS for before in words[max(0, position - NEGATION_REACH) : position]):
            score *= NEGATION_FACTOR
        total += score
    return total / math.sqrt(total * total + EVENNESS)


def parameters(text):
    request = json.loads(text or "{}")
    if not isinstance(request, dict):
        raise ValueError("the input is not a JSON object")
    sentence = request.get("sentence", SENTENCE)
    if not isinstance(sentence, str) or len(sentence) > SENTENCE_MAX:
        raise ValueError(f"sentence is not text of at most {SENTENCE_MAX} characters")
    repeat = request.get("repeat", 1)
    if isinstance(repeat, bool) or not isinstance(repeat, int) or not 1 <= repeat <= REPEAT_MAX:
        raise ValueError(f"repeat is not an integer from 1 to {REPEAT_MAX}")
    return sentence, repeat


def main():
    try:
        sentence, repeat = parameters(sys.stdin.read())
    except ValueError as error:
        print(f"sa: {error}", file=sys.stderr)
        return 2
    try:
        scores = lexicon()
    except (OSError, ValueError) as error:
        print(f"sa: {error}", file=sys.stderr)
        return 1
    score = 0.0
    for _ in range(repeat):
        score = score_of(sentence, scores)
    label = "positive" if score > 0.05 else "negative" if score < -0.05 else "neutral"
    print(json.dumps({"application": "sa", "repeat": repeat, "words": len(scores), "score": round(score, 4), "label": label}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
