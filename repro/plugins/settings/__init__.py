"""The planned parameters, compared with settings.yaml (``schema``): settings of papers and of released
scripts."""

from repro.hooks import Command, answer


@answer
def commands():
    """Offer ``show settings``."""
    line = "published and released settings compared with the planned ones"
    return {"show settings": Command(line, "repro.plugins.settings.view:command")}


@answer
def public_names():
    """Offer the settings to programs."""
    return {"settings": "repro.plugins.settings.checked:settings"}


@answer
def part_of_cell(cell, page):
    """Describe the planned parameters of a cell's row."""
    if page is None:
        return None
    from repro.plugins.settings.view import SettingsOfCell

    return SettingsOfCell(cell)


@answer
def part_of_paper(sources):
    """Add a section on settings."""
    from repro.plugins.settings.settings_sections import SettingsPart

    return SettingsPart(sources)
