"""Answer metrics by the papers' rules: F1, ROUGE-L, exact match, accuracy, BABILong (papers' spec, section 6).

Owns the rules. Knows no model and no file. All give shares between 0 and 1, the best over several gold answers.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from importlib.util import find_spec

from ..repoeval.metrics import score_completion
from ..similarity import common_length
from .values import Sample

Metric = Callable[[Sample, str], dict[str, float]]

FIRST_LINE_ONLY = ("trec", "triviaqa", "samsum", "lsht")
"""LongBench's tasks whose answer ends with its line."""


def score(sample: Sample, prediction: str) -> dict[str, float]:
    """Every figure that the sample's metric gives."""
    if sample.dataset in FIRST_LINE_ONLY:
        prediction = prediction.lstrip("\n").split("\n")[0]
    return METRICS[sample.metric](sample, prediction)


# LongBench.


def f1(prediction: str, gold: str) -> float:
    """Words in common, each as often as both have it; case, punctuation and articles aside."""
    return _overlap(normalised(prediction).split(), normalised(gold).split())


def f1_zh(prediction: str, gold: str) -> float:
    """The same of Chinese words; of single characters where jieba is not installed (see `chinese_by`)."""
    return _overlap(*([word for word in map(_bare, chinese_words(text)) if word] for text in (prediction, gold)))


def normalised(text: str) -> str:
    """Lower case, without ASCII punctuation and English articles, with single spaces."""
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def rouge_l(prediction: str, gold: str) -> float:
    """ROUGE-L as LongBench has it: that of the package rouge 1.0.1, sentence by sentence over sets of words."""
    given, wanted = _sentences(prediction), _sentences(gold)
    n_given, n_wanted = ({word for sentence in each for word in sentence} for each in (given, wanted))
    if not n_given or not n_wanted:
        return 0.0
    common = {word for want in wanted for give in given for word in common_words(want, give)}
    precision, recall = len(common) / len(n_given), len(common) / len(n_wanted)
    return 2 * precision * recall / (precision + recall + 1e-8)


def rouge_l_zh(prediction: str, gold: str) -> float:
    return rouge_l(" ".join(chinese_words(prediction)), " ".join(chinese_words(gold)))


def rouge_l_plain(prediction: str, gold: str) -> float:
    """F1 of the longest common subsequence of words in lower case, as QRMeM tells new questions from old ones."""
    given, wanted = prediction.lower().split(), gold.lower().split()
    common = common_length(given, wanted)
    return 2 * common / (len(given) + len(wanted)) if common else 0.0


def code_similarity(prediction: str, gold: str) -> float:
    """LongBench's, for lcc and repobench-p: the first line that is neither a fence nor a comment, in whole percent."""
    lines = prediction.lstrip("\n").split("\n")
    line = next((line for line in lines if not any(mark in line for mark in ("`", "#", "//"))), "")
    longest = len(line) + len(gold)
    return round(200 * common_length(line, gold) / longest) / 100 if longest else 0.0


# Exact match.


def em_strict(prediction: str, gold: str) -> float:
    return float(normalised(prediction) == normalised(gold))


def em_contains(prediction: str, gold: str) -> float:
    """Whether the answer holds the gold text: most likely what QRMeM calls EM (papers' spec 3.4)."""
    return float(normalised(gold) in normalised(prediction))


# BABILong.

ROOMS = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
TASK_LABELS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("qa1", "qa2", "qa3", "qa4"), ROOMS),
    "qa5": ("bill", "fred", "jeff", "mary", "apple", "football", "milk"),
}


def babilong(prediction: str, target: str, question: str, labels: Collection[str]) -> float:
    """Whether the target is the only label in the first sentence, labels of the question aside."""
    said = prediction.lower().split(".")[0].split("<context>")[0].split("<example>")[0]
    asked = question.lower()
    found = {label for label in map(str.lower, labels) if label in said and label not in asked}
    targets = {part.strip() for part in target.lower().split(",")} if "," in target else {target.lower()}
    return float(found == targets)


def babilong_older(prediction: str, target: str) -> float:
    """The older rule: the target occurs anywhere in the answer."""
    return float(target.lower() in prediction.lower())


# Multiple choice.

LETTERS = string.ascii_uppercase


def chosen(prediction: str, choices: Sequence[str]) -> int | None:
    """Which choice an answer names, from 0; None when it names none or several.

    A letter alone or marked as one counts first, then a choice that is quoted whole.
    """
    letters = LETTERS[: len(choices)]
    for pattern in (
        rf"\A\W*([{letters}])\W*\Z",
        rf"(?i:answer|choice|option)\W+(?i:is\W+)?\(?([{letters}])\b",
        rf"[(\[]([{letters}])[)\]]",
        rf"\A\W*([{letters}])(?:[.:,]|\n)",
        rf"\b([{letters.replace('A', '')}])\b",  # “A” in the middle of a sentence is an article
    ):
        if found := set(re.findall(pattern, prediction)):
            return letters.index(found.pop()) if len(found) == 1 else None
    said = normalised(prediction)
    quoted = [place for place, choice in enumerate(choices) if normalised(choice) and normalised(choice) in said]
    return quoted[0] if len(quoted) == 1 else None


# Chinese.


def chinese_by() -> str:
    """The tokenizer of Chinese: LongBench uses jieba."""
    return "jieba" if find_spec("jieba") else "characters"


def chinese_words(text: str) -> list[str]:
    if find_spec("jieba"):
        from jieba import cut  # type: ignore[import-not-found, import-untyped, unused-ignore]

        return list(cut(text, cut_all=False))
    return re.findall(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+|[^\w\s]", text)


def _bare(word: str) -> str:
    """The word without punctuation and space."""
    return "".join(letter for letter in word.lower() if letter.isalnum())


def _overlap(given: Sequence[str], wanted: Sequence[str]) -> float:
    common = (Counter(given) & Counter(wanted)).total()
    return 2 * common / (len(given) + len(wanted)) if common else 0.0


def _sentences(text: str) -> list[list[str]]:
    return [sentence.split() for sentence in text.split(".") if sentence]


def common_words(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """The longest common subsequence, last first; of several the one found first going back through `second`."""
    lengths = [[0] * (len(second) + 1)]
    for element in first:
        above, row = lengths[-1], [0]
        for place, other in enumerate(second):
            row.append(above[place] + 1 if element == other else max(above[place + 1], row[place]))
        lengths.append(row)
    found: list[str] = []
    i, j = len(first), len(second)
    while i and j:
        if first[i - 1] == second[j - 1]:
            i, j = i - 1, j - 1
            found.append(first[i])
        elif lengths[i - 1][j] > lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return found


def _best(**rules: Callable[[str, str], float]) -> Metric:
    """The best of each rule over the gold answers."""

    def scores(sample: Sample, prediction: str) -> dict[str, float]:
        return {
            name: max((rule(prediction, gold) for gold in sample.answers), default=0.0) for name, rule in rules.items()
        }

    return scores


def _choice(sample: Sample, prediction: str) -> dict[str, float]:
    """Accuracy, also under the name of the question's difficulty."""
    right = float(chosen(prediction, sample.question.choices) == sample.details["gold"])
    difficult = sample.details.get("difficult")
    by_difficulty = {} if difficult is None else {"accuracy_difficult" if difficult else "accuracy_easy": right}
    return {"accuracy": right, **by_difficulty}


def _babilong(sample: Sample, prediction: str) -> dict[str, float]:
    target, labels = sample.answers[0], sample.details["labels"]
    return {
        "babilong": babilong(prediction, target, sample.question.text, labels),
        "babilong_older": babilong_older(prediction, target),
    }


def _completion(sample: Sample, prediction: str) -> dict[str, float]:
    scores = [score_completion(gold, prediction) for gold in sample.answers]
    return {"em": max(each.exact_match for each in scores), "es": max(each.edit_similarity for each in scores)}


METRICS: dict[str, Metric] = {
    "f1": _best(f1=f1, em_strict=em_strict, em_contains=em_contains),
    "f1_zh": _best(f1_zh=f1_zh),
    "rouge_l": _best(rouge_l=rouge_l, rouge_l_plain=rouge_l_plain),
    "rouge_l_zh": _best(rouge_l_zh=rouge_l_zh),
    "code_similarity": _best(code_similarity=code_similarity),
    "accuracy": _choice,
    "babilong": _babilong,
    "completion": _completion,
    "none": lambda sample, said: {},
}
