"""The compiled bench simulator: candidates x logs, with exact derivatives."""
