"""Lessons: texts, calculators and questions, as data; whoever shows them draws."""
