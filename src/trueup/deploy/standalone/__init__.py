"""Runtimes without a simulator: numpy, torch, ONNX and C."""
