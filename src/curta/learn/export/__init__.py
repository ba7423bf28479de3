"""Trained models as safetensors files, and a PyTorch module that reads them."""
