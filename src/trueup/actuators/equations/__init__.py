"""Equations of servos: motor, firmware law and friction models M1 to M6."""
