"""MuJoCo Playground: function for domain randomisation of a model."""
