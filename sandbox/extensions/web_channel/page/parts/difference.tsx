import type { VNode } from 'preact';

interface Row {
  readonly before: string | null;
  readonly after: string | null;
}

interface DifferenceProps {
  readonly patch: string;
  /** What is on the left and on the right. */
  readonly titles?: readonly [string, string];
}

/** What a unified patch changes, side by side. */
export function Difference({ patch, titles: [before, after] = ['Now', 'Proposed'] }: DifferenceProps): VNode {
  const rows = rowsOf(patch);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="What changes">
      <table class="difference">
        <thead>
          <tr>
            <th scope="col">{before}</th>
            <th scope="col">{after}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at} class={row.before === row.after ? '' : 'changed'}>
              <td class={row.after === row.before ? '' : 'out'}>{row.before}</td>
              <td class={row.after === row.before ? '' : 'in'}>{row.after}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function rowsOf(patch: string): readonly Row[] {
  const rows: Row[] = [];
  let [out, inn]: [string[], string[]] = [[], []];
  const flush = (): void => {
    for (let at = 0; at < Math.max(out.length, inn.length); at += 1) rows.push({ before: out[at] ?? null, after: inn[at] ?? null });
    [out, inn] = [[], []];
  };
  const lines = patch.split('\n');
  for (const line of lines.slice(
    Math.max(
      0,
      lines.findIndex((each) => each.startsWith('@@')),
    ),
  )) {
    const [mark, text] = [line[0], line.slice(1)];
    if (mark === '-') out.push(text);
    else if (mark === '+') inn.push(text);
    else {
      flush();
      if (mark === ' ') rows.push({ before: text, after: text });
      if (mark === '@') rows.push({ before: '…', after: '…' });
    }
  }
  flush();
  return rows;
}
