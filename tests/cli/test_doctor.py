"""``repro doctor``: the machine in one screen."""


def test_every_component_has_a_state_and_what_is_missing_a_remedy(repro, toy, monkeypatch):
    monkeypatch.setenv("REPRO_JAVA_HOME", "/nonexistent")
    said = repro("doctor --format json")
    assert said.status == 4
    components = {part["name"]: part for part in said.json}
    assert {"python", "java", "torch", "gpu", "cores", "memory", "disk", "data", "full scale"} <= set(
        components
    )
    assert {part["state"] for part in components.values()} <= {"ok", "note", "missing"}
    assert all(part["remedy"] for part in components.values() if part["state"] == "missing")


def test_it_fits_one_screen_and_ends_with_what_is_missing(repro, toy, folders, monkeypatch):
    said = repro("doctor")
    assert said.status == 0
    lines = said.err.splitlines()
    assert len(said.out.splitlines()) < 23 and lines[-1].startswith("Scale tiny can run. Scale full lacks ")
    assert f"{folders}/store" in said.out
    monkeypatch.setenv("REPRO_JAVA_HOME", "/nonexistent")
    assert repro("doctor").err.splitlines()[-1].startswith("Missing: java. ")


def test_without_data_it_says_what_full_scale_lacks_and_which_folder_is_looked_in(repro, folders):
    components = {part["name"]: part for part in repro("doctor --format json").json}
    full, data = components["full scale"], components["data"]
    assert full["state"] == "note" and "collections (" in full["detail"] and "checkpoints" in full["detail"]
    assert "repro data fetch --for PAPER/TABLE" in full["remedy"]
    assert data["detail"] == f"nothing yet in {folders}/user/repro-bench/collections"
