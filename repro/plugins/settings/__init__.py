"""The plan held against what papers and their released scripts state, and objectives against released code.

Its YAML is papers/*/settings.yaml (``schema``) and papers/*/oracles (``oracles``).
"""

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
def part_of_cell(cell, page):
    """Say how the row of a cell is planned, and what its work was held against."""
    if page is None:
        return None
    from repro.plugins.settings.view import SettingsOfCell

    return SettingsOfCell(cell, page.known)


@answer
def part_of_paper(sources):
    """Add sections on settings and on released code."""
    from repro.plugins.settings.settings_sections import SettingsPart

    return SettingsPart(sources)
