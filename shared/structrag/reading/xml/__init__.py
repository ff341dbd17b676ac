"""XML documents become Markdown."""
