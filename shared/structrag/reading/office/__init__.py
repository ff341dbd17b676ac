"""Office files become Markdown: their packages, tables, and a module for each format."""
