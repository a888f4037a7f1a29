"""The equations of CoT-MAE v2's pre-training written a second time, from the text and its readings alone.

Vectors are lists of numbers (`tests.papers.scalars` or floats). The vocabulary's matrix E is [V][H].
"""

import math

from tests.papers.scalars import erf, exp, log, power, sqrt, value


def dense_view(hidden):
    """Eq. 3: the last hidden state of [CLS]."""
    return hidden[0]


def dot(one, other):
    """The dot product of two vectors."""
    product = 0.0
    for x, y in zip(one, other, strict=True):
        product = product + x * y
    return product


def transform(vector, *, weights, biases, scales, shifts, epsilon=1e-12):
    """BERT's layer before the vocabulary: dense, GELU, LayerNorm (`vocabulary-head`: mlm-head)."""
    hidden = []
    for row, bias in zip(weights, biases, strict=True):
        number = dot(row, vector) + bias
        hidden.append(number * 0.5 * (1.0 + erf(number / math.sqrt(2.0))))
    mean, variance = 0.0, 0.0
    for number in hidden:
        mean = mean + number / len(hidden)
    for number in hidden:
        variance = variance + power(number - mean, 2.0) / len(hidden)
    root = sqrt(variance + epsilon)
    return [(n - mean) / root * s + t for n, s, t in zip(hidden, scales, shifts, strict=True)]


def word_logits(vector, embeddings, biases, head=None):
    """Eq. 4 at one position: the product with each word's embedding, plus its bias."""
    vector = vector if head is None else transform(vector, **head)
    return [dot(vector, row) + bias for row, bias in zip(embeddings, biases, strict=True)]


def pooled_positions(tokens, *, cls_id, sep_id, pad_id, cls=False, sep=False):
    """The positions i of Eq. 5 (`sparse-pooling-positions`); `sep` as "between": all but the last token."""
    last, chosen = None, []
    for i, token in enumerate(tokens):
        if token != pad_id:
            last = i
    for i, token in enumerate(tokens):
        if token == pad_id:
            continue
        if token == cls_id and not cls:
            continue
        if (token == sep_id and not sep) or (sep == "between" and i == last):
            continue
        chosen.append(i)
    return chosen


def sparse_view(logits, positions):
    """Eqs. 5 and 6: per word the maximum over the positions of log(1 + ReLU(logit))."""
    out = []
    for j in range(len(logits[0])):
        best = None
        for i in positions:
            logit = logits[i][j]
            saturated = log(1.0 + logit) if value(logit) > 0.0 else 0.0
            if best is None or value(saturated) > value(best):
                best = saturated
        out.append(best)
    return out


def bottleneck(sparse, embeddings):
    """The product SPR E of Eq. 11, in which E is cut off from the gradient (footnote 1)."""
    out = []
    for axis in range(len(embeddings[0])):
        total = 0.0
        for frequency, row in zip(sparse, embeddings, strict=True):
            total = total + frequency * value(row[axis])
        out.append(total)
    return out


def decoder_input(vector, embedded, *, slot="replace"):
    """Eqs. 10 and 11: the vector, and the embedded context without [CLS] or with it (`bottleneck-slot`)."""
    return [vector, *(embedded[1:] if slot == "replace" else embedded)]


def surprise(row, target):
    """The minus log p of Eqs. 9, 12 and 13 for one predicted token."""
    denominator = 0.0
    for number in row:
        denominator = denominator + exp(number)
    return -log(exp(row[target]) / denominator)


def token_loss(texts, *, reduction="mean"):
    """Eqs. 9, 12 and 13, summed over all predicted tokens of a batch, or their mean (`token-loss-reduction`).

    `texts` holds for each text its predictions, (logits, target).
    """
    loss, count = 0.0, 0
    for predictions in texts:
        for row, target in predictions:
            loss = loss + surprise(row, target)
            count += 1
    return loss / count if reduction == "mean" else loss


def masked_predictions(logits, originals, masked):
    """The predictions of Eqs. 9 and 12: at the masked positions M, the token that stood there."""
    return [(logits[i], originals[i]) for i in range(len(originals)) if i in masked]


def causal_predictions(logits, tokens, *, sep_id, pad_id, with_sep=True):
    """The predictions of Eq. 13: each position predicts the next token; `logits[0]` is the bottleneck's."""
    length = 0
    for token in tokens:
        length += token != pad_id
    out = []
    for i in range(length - 1):
        if tokens[i + 1] == sep_id and i + 1 == length - 1 and not with_sep:
            continue
        out.append((logits[i], tokens[i + 1]))
    return out


def total(encoder, views, *, reduction="sum"):
    """Eq. 14, with (auto-encoding, auto-regressive) of each view, summed or averaged (`view-losses`)."""
    decoders = 0.0
    for auto_encoding, auto_regressive in views:
        decoders = decoders + auto_encoding + auto_regressive
    if reduction == "mean":
        decoders = decoders / len(views)
    return encoder + decoders
