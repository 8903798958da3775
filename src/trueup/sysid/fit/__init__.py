"""The gray-box problem, its windows and its fits."""
