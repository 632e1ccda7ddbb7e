"""INeurAL and NeurONAL: their parameters, River's methods, and the lock around each call."""
