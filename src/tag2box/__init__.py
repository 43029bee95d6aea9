"""tag2box: image tags in, object boxes out."""
