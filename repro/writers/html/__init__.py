"""The report as HTML: elements and styles, then cells, tables, papers and the whole page."""
