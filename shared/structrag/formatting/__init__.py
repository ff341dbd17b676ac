"""Any source to structured Markdown, with a model or by rules."""
