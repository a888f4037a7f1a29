"""What users bring, in the tables of the papers."""
