"""How do several windows and processes of one user share one server and one index?"""
