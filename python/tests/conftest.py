"""What holds for all tests."""

import signal

# Whoever runs the tests in the background may ignore Ctrl-C, and what is ignored stays so in the processes that tests
# start and interrupt. What has a handler begins there with the default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
