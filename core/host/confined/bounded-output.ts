import type { Readable } from 'node:stream';

/** What two streams said, up to a number of bytes that they share. */
export interface BoundedOutput {
  /** The text of one of them so far. */
  text(stream: Readable): string;
  readonly truncated: boolean;
}

/** Reads until there is too much, tells that once, and reads no further. */
export function readBounded(streams: readonly Readable[], most: number, exceeded: () => void): BoundedOutput {
  const chunks = new Map<Readable, Buffer[]>(streams.map((stream) => [stream, []]));
  let left = most;
  let truncated = false;
  for (const stream of streams) {
    stream.on('error', () => undefined); // its process is gone
    stream.on('data', (chunk: Buffer) => {
      if (truncated) return;
      chunks.get(stream)?.push(chunk.length > left ? chunk.subarray(0, left) : chunk);
      truncated = chunk.length > left;
      left = Math.max(0, left - chunk.length);
      if (!truncated) return;
      for (const each of streams) each.destroy();
      exceeded();
    });
  }
  return {
    // A character that was cut at the limit is left out.
    text: (stream) => new TextDecoder().decode(Buffer.concat(chunks.get(stream) ?? []), { stream: true }),
    get truncated() {
      return truncated;
    },
  };
}
