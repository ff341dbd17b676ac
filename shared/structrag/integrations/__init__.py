"""What both adapters need of a framework: documents, metadata, models and stores."""
