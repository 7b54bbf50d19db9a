"""Views: rows of (text, role) built from a session; knows no terminal library."""
