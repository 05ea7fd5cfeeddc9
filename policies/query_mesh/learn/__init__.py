"""Classes from samples: attributes, cuts and the decision tree."""
