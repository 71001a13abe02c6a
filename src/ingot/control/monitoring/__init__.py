"""What Prometheus is told of golden images, volumes, storage and the controllers themselves."""
