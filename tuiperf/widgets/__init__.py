"""Widgets: one file a thing on the screen."""
