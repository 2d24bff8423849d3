"""The one function of vLLM that SGLang asks for on a machine without CUDA; see `_custom_ops`."""
