"""`fl.debug`: what is asked of the debugger, and what it says."""

import os

import pytest

import fluvial as fl
from fluvial import debug


class Engine:
    """Notes what it is asked for, and listens nowhere."""

    def __init__(self):
        self.asked, self.address, self.builds = [], None, False

    def debug_address(self):
        return self.address

    def debug_listen(self, port, wait, token):
        self.asked.append((port, wait, token))
        self.address = (port or 50001, token)
        return self.address

    def debug_stop(self):
        self.address = None

    def is_building(self):
        return self.builds

    def debug_breakpoint(self):
        self.asked.append("breakpoint")


@pytest.fixture
def engine(monkeypatch):
    engine = Engine()
    monkeypatch.setattr(debug, "_core", engine)
    return engine


class TestListen:
    def test_a_free_port_has_a_random_token(self, engine):
        address = debug.listen()
        ((port, wait, token),) = engine.asked
        assert (port, wait, address.port) == (0, False, 50001)
        assert address.token == token and len(token) == 16
        engine.debug_stop()
        assert debug.listen().token != token

    @pytest.mark.parametrize("token, expected", [(None, None), ("", None), ("word", "word")])
    def test_a_port_of_the_user_has_the_token_that_is_given(self, engine, token, expected):
        assert debug.listen(4711, token=token).token == expected
        assert engine.asked == [(4711, False, expected)]

    def test_no_token_is_wanted_at_all(self, engine):
        assert debug.listen(token="").token is None

    def test_twice_is_once(self, engine):
        first = debug.listen(4711)
        assert debug.listen() == debug.listen(4711) == first
        assert len(engine.asked) == 1
        with pytest.raises(RuntimeError, match="listens at port 4711 already"):
            debug.listen(4712)
        debug.listen(4711, wait=True)
        assert engine.asked[1:] == [(4711, True, None)]

    def test_stop(self, engine):
        assert not debug.is_listening()
        debug.listen(4711)
        assert debug.is_listening()
        debug.stop()
        assert not debug.is_listening()

    @pytest.mark.parametrize("port", [-1, 65536])
    def test_no_port(self, engine, port):
        with pytest.raises(ValueError, match=rf"test_debug.py:\d+: {port} is not a port\n  remedy: "):
            debug.listen(port)
        assert engine.asked == []

    def test_breakpoint(self, engine):
        fl.debug.breakpoint()
        assert engine.asked == []
        engine.builds = True
        fl.debug.breakpoint()
        assert engine.asked == ["breakpoint"]


class TestAddress:
    def test_it_says_how_to_connect(self):
        text = str(debug.Address(4711, "word"))
        assert "127.0.0.1:4711" in text and "token word" in text
        assert '"debugServer": 4711, "token": "word"' in text
        assert repr(debug.Address(4711, "word")) == "<debugger at 127.0.0.1:4711, token word>"

    def test_without_a_token(self):
        address = debug.Address(4711, None)
        assert "token" not in str(address) + repr(address)
        assert address.configuration["debugServer"] == 4711
        assert len({address, debug.Address(4711, None), debug.Address(4712, None)}) == 2
        assert address != 4711


class TestVariable:
    @pytest.mark.parametrize(
        "wish, asked",
        [
            ("4711", [(4711, False, None)]),
            ("4711:word", [(4711, False, "word")]),
            ("wait:4711", [(4711, False, None), (4711, True, None)]),
            (" wait:4711:word ", [(4711, False, "word"), (4711, True, "word")]),
        ],
    )
    def test_wishes(self, engine, capsys, wish, asked):
        debug.listen_as_asked(wish)
        assert engine.asked == asked
        captured = capsys.readouterr()
        assert "127.0.0.1:4711" in captured.err and captured.out == ""

    def test_quiet(self, engine, capsys, monkeypatch):
        monkeypatch.setenv("FLUVIAL_DEBUG_QUIET", "1")
        debug.listen_as_asked("4711")
        captured = capsys.readouterr()
        assert captured.out + captured.err == "" and len(engine.asked) == 1
        # Scripts that this one starts are not concerned.
        assert "FLUVIAL_DEBUG_QUIET" not in os.environ

    @pytest.mark.parametrize("wish", ["0", "wait", "wait:0"])
    def test_any_port(self, engine, wish):
        debug.listen_as_asked(wish)
        assert engine.asked[0][0] == 0 and engine.asked[0][2]
        assert [wait for _, wait, _ in engine.asked] == [False, True][: 1 + ("wait" in wish)]

    @pytest.mark.parametrize("wish", ["yes", "65536", "-1", "4711:a:b", "wait:", "wait:now"])
    def test_nonsense(self, engine, wish):
        with pytest.raises(ValueError, match=f'FLUVIAL_DEBUG is "{wish}"'):
            debug.listen_as_asked(wish)
        assert engine.asked == []
