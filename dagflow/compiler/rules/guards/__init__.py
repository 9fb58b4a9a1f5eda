"""Rules about guards."""
