"""The eddy as an operator of Spark Structured Streaming."""
