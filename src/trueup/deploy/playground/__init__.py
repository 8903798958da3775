"""MuJoCo Playground: function that randomises a model."""
