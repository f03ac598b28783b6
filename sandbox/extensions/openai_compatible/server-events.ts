/** Longest line that a server may send; a tool call's whole arguments can be one. */
const MAX_LINE = 4 * 1024 * 1024;

/** The `data` of server-sent events, in batches as the network delivers them. Other fields and comments are left out. */
export async function* serverEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  let data: string | null = null;
  for await (const bytes of body) {
    const text = rest + decoder.decode(bytes, { stream: true });
    const events: string[] = [];
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      const line = text.charCodeAt(end - 1) === 13 && end > from ? text.slice(from, end - 1) : text.slice(from, end);
      from = end + 1;
      if (line === '') {
        if (data !== null) events.push(data);
        data = null;
      } else {
        data = withLine(data, line);
      }
    }
    rest = text.slice(from);
    if (rest.length + (data?.length ?? 0) > MAX_LINE) throw new Error(`the server sent a line of more than ${MAX_LINE} characters`);
    if (events.length > 0) yield events;
  }
  data = withLine(data, rest + decoder.decode());
  if (data !== null) yield [data]; // some servers leave out the last empty line
}

function withLine(data: string | null, line: string): string | null {
  if (!line.startsWith('data:')) return data;
  const value = line.slice(line.charCodeAt(5) === 32 ? 6 : 5);
  return data === null ? value : `${data}\n${value}`;
}
