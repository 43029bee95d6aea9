"""Detections into files and reports."""
