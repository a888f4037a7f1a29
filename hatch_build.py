"""``[project.urls]`` of a distribution, from the one variable that says where the repository is.

The workflow that builds a release sets REPOSITORY_URL, as the one that publishes the documentation does.
Without it a distribution names no address.
"""

import os

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Addresses(MetadataHookInterface):
    def update(self, metadata: dict) -> None:
        """Add the addresses to the metadata that pyproject.toml declares dynamic."""
        repository = os.environ.get("REPOSITORY_URL", "").rstrip("/")
        if repository:
            metadata["urls"] = addresses(repository)


def addresses(repository: str) -> dict[str, str]:
    """The places of a project that lies at an address such as ``https://host/owner/name``."""
    return {
        "Repository": repository,
        "Documentation": f"{repository}/tree/main/docs",
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        "Issues": f"{repository}/issues",
        "Releases": f"{repository}/releases",
    }
