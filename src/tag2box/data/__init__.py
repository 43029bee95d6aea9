"""Tagged photos in: readers by format, image decoding, the doctor, generated scenes."""
