"""MuJoCo Warp as second engine: worlds of one model in single precision, on a graphics card."""
