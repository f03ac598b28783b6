import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from 'pith';

const LATE = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

/**
 * Closes a connection whose next headers do not arrive within `ms`. Node's own limit counts the time in which the process was busy and
 * read nothing, and so closes connections of clients that have sent everything: here what has arrived is read before anything is closed.
 */
export function limitHeaders(server: Server, ms: number, clock: Pick<Clock, 'after'>): void {
  const requestsOf = new WeakMap<Socket, (outgoing: ServerResponse) => void>();
  server.on('connection', (socket: Socket) => {
    let answering = 0;
    let cancel = (): void => undefined;
    /** `before`: bytes that belong to what came before; without newer ones the connection is idle, and Node closes it soon. */
    const wait = (before: number): void => {
      let isOver = false;
      const stop = clock.after(ms, () =>
        setImmediate(() => {
          if (isOver) return;
          if (before === 0 || socket.bytesRead > before) socket.end(LATE, () => socket.destroy());
          else wait(before);
        }),
      );
      cancel = () => {
        isOver = true;
        stop();
      };
    };
    requestsOf.set(socket, (outgoing) => {
      answering += 1;
      cancel();
      outgoing.once('close', () => {
        answering -= 1;
        if (answering === 0 && !socket.destroyed) wait(socket.bytesRead);
      });
    });
    socket.once('close', () => cancel());
    wait(0);
  });
  server.on('request', ({ socket }: { readonly socket: Socket }, outgoing: ServerResponse) => requestsOf.get(socket)?.(outgoing));
}
