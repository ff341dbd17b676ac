"""Formats of data and messages: tables as text, and others."""
