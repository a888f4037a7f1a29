"""Five pre-trainings on the same text at equal numbers of tokens, and one fine-tuning: no paper's, the suite's own."""
