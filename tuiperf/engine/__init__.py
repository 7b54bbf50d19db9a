"""The engine measures. Standard library alone; imports nothing of tuiperf but the events."""
