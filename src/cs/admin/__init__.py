"""The admin port: health, metrics, bounces, and a sandbox's clock."""
