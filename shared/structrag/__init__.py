"""Structure-aware splitting and retrieval: document -> sections -> chunks -> views -> index -> hits -> evidence."""
