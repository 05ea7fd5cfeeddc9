"""The policy `content` and its helpers."""
