"""The equations of CPDAE written a second time, from the text and its readings alone, a scalar at a time.

Vectors are lists of numbers (`tests.papers.scalars` or floats).
"""

import math

from tests.papers.scalars import erf, exp, log, power, sqrt


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


def gelu(number):
    """The activation of §3.1.2: x times the standard normal's distribution function."""
    return number * 0.5 * (1.0 + erf(number / math.sqrt(2.0)))


def layer_norm(vector, scales, shifts, *, epsilon=1e-12):
    """A vector less its mean, over its standard deviation, scaled and shifted."""
    mean, variance = 0.0, 0.0
    for number in vector:
        mean = mean + number / len(vector)
    for number in vector:
        variance = variance + power(number - mean, 2.0) / len(vector)
    root = sqrt(variance + epsilon)
    out = []
    for number, scale, shift in zip(vector, scales, shifts, strict=True):
        out.append((number - mean) / root * scale + shift)
    return out


def decoder(vector, *, first, second, norm, before=(), order="mlm-head"):
    """Eq. 2: two layers, GELU between them, a LayerNorm before the second or after it (`decoder-layers`).

    `before` is a layer with its LayerNorm that the vector passes first.
    """
    if before:
        vector = layer_norm([gelu(number) for number in dense(before[0], vector)], *before[1])
    hidden = [gelu(number) for number in dense(first, vector)]
    if order != "norm-last":
        return dense(second, layer_norm(hidden, *norm))
    return layer_norm(dense(second, hidden), *norm)


def sigmoid(number):
    """Eq. 3 for one value."""
    return 1.0 / (1.0 + exp(-number))


def labels(tokens, *, vocabulary, special=(), counted=False):
    """The y of Eq. 4: 1 for each word of the vocabulary that is in the text, 0 for the others."""
    out = []
    for word in range(vocabulary):
        present = False
        for token in tokens:
            if token == word and (counted or token not in special):
                present = True
        out.append(1 if present else 0)
    return out


def reconstruction(z, y, *, form="binary", reduction="mean", idf=None, both_terms=True):
    """Eqs. 3 and 4 for one text; with `idf` each word's term is weighted by its own (IDF-REC, §4.3).

    The printed form has log of the probability in both terms. Without `both_terms` words that do not occur
    keep weight 1.
    """
    loss = 0.0
    for j in range(len(z)):
        probability = sigmoid(z[j])
        absent = probability if form == "printed" else 1.0 - probability
        weight = 1.0 if idf is None else idf[j]
        if y[j] == 1:
            loss = loss + -(weight * log(probability))
        else:
            loss = loss + -((weight if both_terms else 1.0) * log(absent))
    return loss / len(z) if reduction == "mean" else loss


def smooth_idf(frequencies, texts, *, normalise=True):
    """The weights of IDF-REC: ln((1 + n) / (1 + df)) + 1, over their mean where `normalise` asks for it."""
    weights = []
    for frequency in frequencies:
        weights.append(math.log((1 + texts) / (1 + frequency)) + 1)
    if normalise:
        mean = 0.0
        for weight in weights:
            mean += weight / len(weights)
        weights = [weight / mean for weight in weights]
    return weights


def distribution(z, *, how="sum"):
    """The words of §3.2.2, normalised: the sigmoids over their sum, or a softmax of z, which needs no sigmoid
    (`distribution-normalisation`).
    """
    values = []
    for number in z:
        if how == "softmax":
            values.append(exp(number))
        else:
            values.append(sigmoid(number))
    total = 0.0
    for number in values:
        total = total + number
    return [number / total for number in values]


def jensen_shannon(p, q):
    """The usual divergence: half of KL(p || m) and half of KL(q || m), m being halfway between p and q."""
    total = 0.0
    for x, y in zip(p, q, strict=True):
        middle = (x + y) / 2.0
        total = total + 0.5 * x * log(x / middle) + 0.5 * y * log(y / middle)
    return total


def equation_7(p, q):
    """Eq. 7 as printed, without its constant: minus twice the usual divergence, plus 2 ln 2."""
    total = 0.0
    for x, y in zip(p, q, strict=True):
        total = total - x * log(x) - y * log(y) + (x + y) * log(x + y)
    return total


def minus_divergence(*, scale=1.0):
    """The similarity of Eq. 5, by the usual divergence or by that of Eq. 7 (`divergence-scale`)."""
    return lambda p, q: -(jensen_shannon(p, q) * scale)


def cosine(one, other):
    """The cosine of two vectors, which CPDAE_R contrasts (`representation-similarity`)."""
    norm, other_norm = dot(one, one), dot(other, other)
    return dot(one, other) / (sqrt(norm) * sqrt(other_norm))


def dot(one, other):
    """The dot product of two vectors."""
    product = 0.0
    for x, y in zip(one, other, strict=True):
        product = product + x * y
    return product


def contrast(first, second, *, alike, temperature=1.0, direction="both", reduction="mean"):
    """Eq. 5 for both versions of m texts, word distributions or (CPDAE_R) vectors h.

    `direction`: "both" sums over all 2m masked texts, "first" over the first version of each; the denominator
    runs over the 2m - 1 others in any case (`contrastive-direction`).
    """
    m = len(first)
    everything = list(first) + list(second)
    loss, terms = 0.0, 0
    for i in range(2 * m if direction == "both" else m):
        partner = i + m if i < m else i - m
        denominator = 0.0
        for k in range(2 * m):
            if k != i:
                denominator = denominator + exp(alike(everything[i], everything[k]) / temperature)
        numerator = exp(alike(everything[i], everything[partner]) / temperature)
        loss = loss + -log(numerator / denominator)
        terms += 1
    return loss / terms if reduction == "mean" else loss


def masked_words(logits, targets, *, reduction="mean"):
    """The MLM loss of §3.2.3, over all masked words of the batch: logits [words][V] and what stood there."""
    loss = 0.0
    for row, target in zip(logits, targets, strict=True):
        denominator = 0.0
        for number in row:
            denominator = denominator + exp(number)
        loss = loss + -log(exp(row[target]) / denominator)
    return loss / len(targets) if reduction == "mean" else loss


def total(reconstructions, masked, contrastive, *, weight=0.1):
    """Eq. 6; Eq. 4 is of one text, and is averaged over the masked texts of a batch."""
    mean = 0.0
    for loss in reconstructions:
        mean = mean + loss / len(reconstructions)
    return mean + masked + weight * contrastive
