"""Network paths with known faults, in network namespaces, on one machine and without hardware."""
