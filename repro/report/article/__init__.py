"""A study as an article: prose of a paper's folder, with numbers, tables and pictures of its results."""
