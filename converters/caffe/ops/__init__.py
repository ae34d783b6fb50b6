"""Handlers of Caffe's layers, named as their types: bottoms, then blobs, then what *_param say."""
