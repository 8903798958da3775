"""Routes of muscles in MuJoCo: fixed and moving points, and surfaces between them."""
