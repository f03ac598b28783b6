"""Runs a command on a terminal of its own. Waits until it shows `wanted`, types `typed` where that is given and waits for `then`; with
`close` it closes the terminal, else it waits. Prints as JSON how the command ended, what of its session is left, and whether the terminal
has its modes again."""
import fcntl, json, os, pty, select, struct, sys, termios, time

wanted, typed, then, close, *argv = sys.argv[1:]
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
before = termios.tcgetattr(slave)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for descriptor in (0, 1, 2):
        os.dup2(slave, descriptor)
    os.closerange(3, 20)
    os.execv(argv[0], argv)
shown = b""
until = time.monotonic() + 15


def read(text):
    global shown
    while text.encode() not in shown and time.monotonic() < until:
        if select.select([master], [], [], 1)[0]:
            shown += os.read(master, 65536)


def others():
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[3] == str(pid) and name != str(pid) and fields[0] != "Z":
            found.append(int(name))
    return found


read(wanted)
if typed:
    os.write(master, typed.encode())
    if then:
        read(then)
if close == "close":
    os.close(slave)
    os.close(master)
ended = 0
while not ended and time.monotonic() < until:
    if close != "close" and select.select([master], [], [], 0.1)[0]:
        shown += os.read(master, 65536)
    ended, status = os.waitpid(pid, os.WNOHANG)
    time.sleep(0.01)
if not ended:
    os.kill(pid, 9)
    ended, status = os.waitpid(pid, 0)
while others() and time.monotonic() < until:
    time.sleep(0.02)
restored = close == "close" or termios.tcgetattr(slave)[:4] == before[:4]
print(json.dumps({"code": os.waitstatus_to_exitcode(status), "left": others(), "restored": restored, "shown": shown.decode("utf8", "replace")}))
