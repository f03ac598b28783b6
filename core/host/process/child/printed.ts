/** Resolves when what was printed has gone out: the last words of an extension reach the log, and are counted with the rest. */
export async function printed(): Promise<void> {
  for (const stream of [process.stdout, process.stderr])
    if (stream.writableLength > 0) await new Promise<void>((resolve) => stream.write('', () => resolve()));
}
