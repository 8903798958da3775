"""Networks step by step: numpy, compiled code, and inside MuJoCo."""
