"""Further parts of an OpenSim model: markers, motors, springs and meshes."""
