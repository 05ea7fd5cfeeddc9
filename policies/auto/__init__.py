"""The policy `auto`: the written order, until another policy has shown that it is cheaper, everything counted."""
