"""The admin port: health, metrics, the API's description, bounces, and a sandbox's clock."""
