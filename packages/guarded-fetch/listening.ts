import { connect } from 'node:net';

const TIMEOUT_MS = 200;

/** True when a server accepts connections at this http address. Sends nothing. The address must be one that a person or the code named. */
export function isListening(address: string, signal?: AbortSignal): Promise<boolean> {
  const { hostname, port, protocol } = new URL(address);
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || (protocol === 'https:' ? 443 : 80)),
      ...(signal && { signal }),
    });
    const end = (listens: boolean): void => {
      socket.destroy();
      resolve(listens);
    };
    socket.setTimeout(TIMEOUT_MS, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
