pytest_plugins = ["servers.fixtures", "cluster.fixtures"]
