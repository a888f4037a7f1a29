"""CPDAE (CIKM 2022): an autoencoder that predicts word distributions and contrasts them."""
