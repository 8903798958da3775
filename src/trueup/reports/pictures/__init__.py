"""Figures as pictures without a script: SVG from the same plain data as plotly.js."""
