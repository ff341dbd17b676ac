"""Code that both adapters share: documents, metadata, models and stores of a framework."""
