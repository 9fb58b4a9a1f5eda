"""Rules about loops, resources and budgets."""
