"""From any source to structured Markdown: pages of a PDF, plain text, HTML, with a model or by
rules."""
