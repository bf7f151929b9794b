"""Junk calls: everything public, with arguments that nobody means. Whatever comes, it is a result or an exception, soon.

A call follows from its seed. `python -m junk --show 17` says what call that is and makes it.
"""
