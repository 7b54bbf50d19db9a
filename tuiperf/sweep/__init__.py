"""The guided sweep: which experiment comes next and why (pure), and the driver that runs it."""
