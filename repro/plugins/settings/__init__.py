"""The plan held against papers/*/settings.yaml (``schema``): settings of texts and of released scripts."""

from collections import Counter

from repro.hooks import Command, answer


@answer
def commands():
    """Offer the view of settings."""
    line = "published and released settings, held against what would be run"
    return {"show settings": Command(line, "repro.plugins.settings.view:command")}


@answer
def public_names():
    """Offer the settings to programs."""
    return {"settings": "repro.plugins.settings.checked:settings"}


@answer
def part_of_cell(cell, known):
    """Say how the row of a cell is planned."""
    from repro.plugins.settings.view import SettingsOfCell

    return SettingsOfCell(cell)


@answer
def part_of_paper(sources):
    """Add a section on settings."""
    from repro.plugins.settings.page import SettingsPart

    return SettingsPart(sources)


@answer
def tallies_of_tables(source):
    """Count the cells of tables of settings by the state in which the plan at full has them."""
    from repro.manifest.cells import cells_of
    from repro.plugins.settings.checked import of_tables

    states: dict[str, Counter[str]] = {}
    if any(cell.is_setting for cell in cells_of(source)):
        for place, item in of_tables(source).items():
            states.setdefault(place.split("/")[1], Counter())[item.state] += 1
    return states


@answer
def remarks(cells):
    """Say how many settings papers publish, and in which states they are planned."""
    from repro.plugins.settings.view import of_whole_papers

    return list(of_whole_papers(cells))
