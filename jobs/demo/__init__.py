"""The demo: policies that race over one stream."""
