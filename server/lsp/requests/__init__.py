"""One adapter for each message: protocol values in, plain values to the session, protocol values out."""
