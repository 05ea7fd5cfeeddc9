"""The example of docs/connectors.md, with Delta from its package."""
