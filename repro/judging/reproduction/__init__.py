"""Published numbers beside what others report of them: how near, how far apart, and of which systems."""
