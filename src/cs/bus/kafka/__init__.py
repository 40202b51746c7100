"""The bus on Apache Kafka, through aiokafka: producer, group members, topics and rights."""
