"""``repro doctor``: what this machine can run, how fast it is, and whether everything works."""

from repro.cli.groups import views

command = views(
    "doctor",
    {
        "smoke": "train and score a few steps from nothing, for a CI of yours",
        "calibrate": "measure this machine, for estimates of hours",
    },
    default="machine",
    epilog="""\b
Examples:
  repro doctor
  repro --data /data doctor --format json
  repro doctor smoke
  repro doctor calibrate""",
)
