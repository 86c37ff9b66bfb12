"""torch.nn.modules: the layers stand in torch.nn."""
