"""Selection of a servo's friction model and terms, and comparison of models."""
