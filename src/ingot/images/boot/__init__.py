"""What a guest will read of a disk when it boots, judged by the files on it."""
