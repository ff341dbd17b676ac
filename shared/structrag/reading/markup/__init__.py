"""Text markups that stay the document's own text: their headings and blocks, with exact offsets."""
