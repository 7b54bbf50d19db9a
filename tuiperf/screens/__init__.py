"""Screens: one file a screen."""
