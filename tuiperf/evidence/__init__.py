"""Evidence: looks at this host and its links. Thin readers beside pure decoders; never fatal."""
