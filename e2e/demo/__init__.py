"""The demo: three tenants, one slot, real Jobs on a real control plane."""
