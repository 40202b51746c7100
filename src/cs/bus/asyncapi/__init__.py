"""The AsyncAPI document of the topics, made from the types, and what a change to it breaks."""
