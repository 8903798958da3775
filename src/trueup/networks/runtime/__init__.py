"""Stepwise inference of networks: in numpy, in compiled code, and inside MuJoCo."""
