"""Modules that give each environment of a simulator its own draw."""
