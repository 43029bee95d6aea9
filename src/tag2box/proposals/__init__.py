"""Candidate regions: any callable image -> boxes, computed once and cached."""
