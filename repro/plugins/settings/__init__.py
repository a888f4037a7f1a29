"""The planned parameters, compared with settings.yaml (``schema``): settings of papers and of released
scripts."""
