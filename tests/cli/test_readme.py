"""What the README's commands run on every push."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run_on_every_push() -> list[list[str]]:
    """The arguments of each ``repro run`` in a block that begins with "```bash ci"."""
    blocks = re.findall(
        r"^```bash ci\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    commands = [command for line in "".join(blocks).splitlines() for command in line.split(" && ")]
    return [shlex.split(command)[2:] for command in commands if command.startswith("repro run ")]


def stages_and_objectives(nodes: list[dict]) -> tuple[set[str], set[str]]:
    objectives = {node["params"]["objective"]["name"] for node in nodes if "objective" in node["params"]}
    return {node["stage"] for node in nodes}, objectives


def test_every_objective_and_stage_of_the_recipes_is_run_on_every_push(repro):
    """The README's commands run every objective, and every stage but those whose own tests do."""
    nodes = []
    for arguments in run_on_every_push():
        nodes += repro("plan", *(word for word in arguments if word != "--json"), "--json").json
    stages, objectives = stages_and_objectives(nodes)
    every = repro("plan", "--all", "--scale", "smoke", "--json").json
    assert {node["params"].get("max_steps") for node in every if "objective" in node["params"]} == {2}
    all_stages, all_objectives = stages_and_objectives(every)
    assert objectives == all_objectives
    assert all_stages - stages == {"mine_answers"}
    assert "mine_answers.run(" in (ROOT / "tests/stages/test_mine_answers.py").read_text()
