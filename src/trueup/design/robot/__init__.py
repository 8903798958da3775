"""The robot whose next recording is designed, and the information of its motions."""
