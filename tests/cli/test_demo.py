"""``repro demo``: what is measured at once, what only with consent, and where to go on."""

from repro.cli.verbs import demo


def test_bm25_is_measured_the_rest_is_told_and_nothing_is_fetched_without_consent(repro, measured):
    said = repro("demo", "-o", measured / "r.html")
    assert said.status == 0, said.err
    first, second, third = (
        said.out.split("\n\n2. ")[0],
        said.out.split("\n2. ")[1],
        said.out.split("\n3. ")[1],
    )
    assert "costa/1 at scale tiny" in first and "BM25" in first
    assert (
        "2.8 MB to download; CC BY-NC 2.0" in second and "left out: `repro demo --yes` fetches it" in second
    )
    assert (measured / "r.html").is_file() and str(measured / "r.html") in third
    commands = [line.split("     ")[0].strip() for line in third.split("Next:\n")[1].splitlines()]
    assert [command.split()[1] for command in commands] == ["run", "show", "evaluate"]
    for command in commands[:2]:  # the third wants a model
        assert repro(*command.split()[1:], *(["--dry-run"] if "run " in command else [])).status in (0, 4)
    assert not (measured / "user" / "repro-bench" / "collections").exists()


def test_scifact_is_measured_exactly_where_it_is_at_hand(repro, measured, monkeypatch):
    asked = []
    monkeypatch.setattr(demo, "_at_hand", lambda yes: True)
    monkeypatch.setattr(demo, "_real", lambda cell, workspace: asked.append(cell.id) or 3)
    assert repro("demo", "-o", measured / "r.html").status == 3  # of what failed there
    assert asked == ["cotmae_v2/3/bm25/scifact"]
