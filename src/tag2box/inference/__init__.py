"""Scores into detections: merging, test-time augmentation."""
