"""Published numbers beside what others state of them: how near, how far apart, and of which systems."""
