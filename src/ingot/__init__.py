"""Ingot delivers disks to virtual machines."""
