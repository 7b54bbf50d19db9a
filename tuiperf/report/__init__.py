"""Reports: a run written down in the formats that others read."""
