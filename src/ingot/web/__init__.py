"""What people and programs outside reach by HTTPS: the endpoint for uploads, and its other end in the pod."""
