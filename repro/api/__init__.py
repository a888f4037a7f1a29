"""The suite as a library: what the verbs of the command line call, re-exported lazily by ``repro`` itself."""
