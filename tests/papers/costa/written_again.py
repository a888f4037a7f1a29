"""The equations of COSTA written a second time, from the text and its readings alone, a scalar at a time.

Vectors are lists of numbers (`tests.papers.scalars` or floats); words count from 1, as the paper has it.
"""

import math

from tests.papers.scalars import erf, exp, log, sqrt, tanh

LEVELS = {"phrase": (4, 16), "sentence": (16, 64), "paragraph": (64, 128)}  # §4.5.1, shortest and longest


def bounds(words, *, shortest, longest, start="inclusive"):
    """The bounds of Eq. 1 in a text of so many words, where every span has a start (`short-text`: clip)."""
    room = words - 1 if start == "printed" else words
    return (min(shortest, room), min(longest, room))


def span_length(fraction, *, shortest, longest, rounding="floor"):
    """Eq. 1: the length that a draw of Beta(4, 2) gives, in whole words (`span-length-rounding`)."""
    length = fraction * (longest - shortest) + shortest
    return int(length) if rounding == "floor" else int(length + 0.5)


def starts(words, length, *, reading="inclusive"):
    """Eq. 2: the words, from 1, at which a span may start, each as likely as the others."""
    last = words - length if reading == "printed" else words - length + 1
    return list(range(1, last + 1))


def span(start, length):
    """Eq. 3: the words, from 1, of a span, whose end is exclusive."""
    end = start + length
    words = []
    at = start
    while at < end:
        words.append(at)
        at += 1
    return words


def word_spans(pieces, stop_words):
    """The word-level spans of §3.2: (start, end) from 1, end exclusive, of each whole word but stop words.

    `pieces` are BERT's, of which two hash signs continue the word before (`word-boundaries`). The tail of a
    word at the text's beginning is no whole word, a mark is no word.
    """
    found, at = [], 0
    while at < len(pieces) and pieces[at].startswith("##"):
        at += 1
    while at < len(pieces):
        end, word = at + 1, pieces[at]
        while end < len(pieces) and pieces[end].startswith("##"):
            word += pieces[end][2:]
            end += 1
        if word not in stop_words and any(letter.isalnum() for letter in pieces[at]):
            found.append((at + 1, end + 1))
        at = end
    return found


def words_of_pieces(pieces):
    """Every word of a text, marks too: the number of its pieces (`span-unit`: words)."""
    sizes = []
    for piece in pieces:
        if piece.startswith("##") and sizes:
            sizes[-1] += 1
        else:
            sizes.append(1)
    return sizes


def in_pieces(words, sizes):
    """The pieces, from 1, that words, from 1, are written in."""
    found, at = [], 1
    for number, size in enumerate(sizes, start=1):
        found += list(range(at, at + size)) if number in words else []
        at += size
    return found


def dense(layer, vector):
    """One feed-forward layer: `layer` is (rows of weights, biases)."""
    weights, biases = layer
    out = []
    for row, bias in zip(weights, biases, strict=True):
        total = bias
        for weight, number in zip(row, vector, strict=True):
            total = total + weight * number
        out.append(total)
    return out


def projector(layers, vector):
    """Eqs. 5 and 6: a feed-forward network of one layer, or of two with GELU between them, and then tanh."""
    *inner, last = layers
    for layer in inner:
        vector = [x * 0.5 * (1.0 + erf(x / math.sqrt(2.0))) for x in dense(layer, vector)]
    return [tanh(number) for number in dense(last, vector)]


def average(hidden, start, end):
    """Eq. 7: the mean of h_start to h_(end-1); `hidden` is h_0, the vector of [CLS], to h_n."""
    width = len(hidden[0])
    out = []
    for axis in range(width):
        total, count = 0.0, 0
        for at in range(start, end):
            total = total + hidden[at][axis]
            count += 1
        out.append(total / count)
    return out


def similarity(one, other, kind="dot"):
    """The dot product of Eq. 8, or the cosine (`span-similarity`)."""
    product, norm, other_norm = 0.0, 0.0, 0.0
    for x, y in zip(one, other, strict=True):
        product = product + x * y
        norm = norm + x * x
        other_norm = other_norm + y * y
    return product if kind == "dot" else product / (sqrt(norm) * sqrt(other_norm))


def group_contrastive(texts, spans, *, temperature=0.1, kind="dot", reduction="mean", base=None):
    """Eq. 8 for the texts' vectors [N][H] and those of their spans [N][4T][H].

    A text without spans is no text of the batch (`short-text`: drop). As printed it is a sum over the texts
    (`loss-reduction`); `base` multiplies by temperature / base, as the public loss does that the equation
    resembles (`contrastive-loss-scale`).
    """
    there = [i for i in range(len(texts)) if spans[i]]
    everything = [("text", i, texts[i]) for i in there]
    for i, group in enumerate(spans):
        for vector in group:
            everything.append(("span", i, vector))
    loss = 0.0
    for i in there:
        anchor = texts[i]
        denominator = 0.0
        for sort, j, vector in everything:
            if not (sort == "text" and j == i):
                denominator = denominator + exp(similarity(anchor, vector, kind) / temperature)
        inner = 0.0
        for positive in spans[i]:
            inner = inner + log(exp(similarity(anchor, positive, kind) / temperature) / denominator)
        loss = loss + -inner / len(spans[i])
    if reduction == "mean":
        loss = loss / len(there)
    return loss if base is None else loss * (temperature / base)


def masked_words(logits, targets, *, reduction="mean"):
    """Eq. 9 for the logits [words][V] of all masked words of the batch and what stood there."""
    loss = 0.0
    for row, target in zip(logits, targets, strict=True):
        denominator = 0.0
        for number in row:
            denominator = denominator + exp(number)
        loss = loss + -log(exp(row[target]) / denominator)
    return loss / len(targets) if reduction == "mean" else loss


def total(contrast, masked, *, weight=0.1):
    """The total loss of §3.3, after Eq. 9."""
    return weight * contrast + masked
