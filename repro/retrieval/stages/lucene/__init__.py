"""Lucene behind a process boundary: BM25 indexing and search through pyserini, in a child.

A Java virtual machine that fails while it boots takes its process down without an exception, and pyserini
costs a second to import; so no caller loads either. ``java`` finds a Java, ``process`` starts the child,
``__main__`` is the child.
"""
