"""COSTA's own fine-tuning code, a copy of Tevatron: the same comparisons as in ``oracles.tevatron``."""

from __future__ import annotations

from oracles import tevatron
from oracles.declaration import Declared, main
from oracles.written import ReleasedCode

ORACLE = Declared(
    file="costa/fine-tuning",
    objective="COSTA's fine-tuning: texts, passages of an epoch, in-batch contrastive loss",
    code=ReleasedCode(
        repository="Albert-Ma/COSTA",
        commit="3e431d474afbbc1b8ed7fb5091b3203fe1fde6ab",
        files=tuple(f"tevatron/{file}" for file in tevatron.FILES),
    ),
    nodes=tevatron.NODES,
    cases=tevatron.cases("."),
    mutations=(),
    shims=tevatron.SHIMS,
)

if __name__ == "__main__":
    main(ORACLE)
