"""Design of the next logs of a servo on its bench."""
