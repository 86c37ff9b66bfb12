"""What scripts/plant_faults.py is made of."""
