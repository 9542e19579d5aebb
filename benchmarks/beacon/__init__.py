"""Does a trained beacon memory remember? A tiny model of our own, synthetic texts, and four ways to read them."""
