"""What both adapters share: metadata, names, limits and documents of a host framework."""
