"""The detector: backbone, region pooling and neck, heads."""
