"""Which models write and embed here, are they up, how much may they read, and what may they be sent?"""
