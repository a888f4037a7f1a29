"""A user's runs and encoders as rows of papers' tables, scored and tested like all others."""
