"""Five pre-trainings on one text at equal numbers of tokens, and one fine-tuning: the suite's own study."""
