"""Jobs against a broker of Kafka that is one."""
