import { readFileSync, writeFileSync } from 'node:fs';
import { it } from 'vitest';
import { eachTerm } from '@pith/word-ranker';
const T = (t: string) => {
  const s = new Set<string>();
  eachTerm(t, (x) => void s.add(x));
  return s;
};
it('runs', () => {
  const rows: { id: string; name: string; description: string }[] = [];
  for (const l of readFileSync('/work/shared/retrieval/pool-1000.jsonl', 'utf8').trim().split('\n')) rows.push(JSON.parse(l));
  for (const l of readFileSync('/work/shared/corpus/skills.jsonl', 'utf8').trim().split('\n')) {
    const d = JSON.parse(l);
    const m = /^description:\s*(.*)$/m.exec(d.text);
    const n = /^name:\s*(.*)$/m.exec(d.text);
    rows.push({ id: 'CORPUS/' + d.path, name: n?.[1] ?? '', description: m?.[1] ?? '' });
  }
  const S = rows.map((r) => {
    const name = r.id
      .replace(/\/SKILL.md$/, '')
      .split('/')
      .pop()!;
    return { r, name, d: T(r.description), n: T(name) };
  });
  const out: string[] = [];
  const w = (k: number, a: (typeof S)[0], b: (typeof S)[0]) => {
    let c = 0,
      u = 0;
    const all = new Set([...a.d, ...a.n, ...b.d, ...b.n]);
    for (const t of all) {
      const x = a.n.has(t) || b.n.has(t) ? k : 1;
      u += x;
      if ((a.d.has(t) || a.n.has(t)) && (b.d.has(t) || b.n.has(t))) c += x;
    }
    return c / u;
  };
  const counts: Record<string, number> = {};
  const weights: Record<string, number> = {};
  for (let i = 0; i < S.length; i++)
    for (let j = 0; j < i; j++) {
      const [a, b] = [S[i]!, S[j]!];
      if (a.d.size < 4 || b.d.size < 4) continue;
      let c = 0;
      for (const t of a.d) if (b.d.has(t)) c++;
      const d = c / (a.d.size + b.d.size - c);
      if (d < 0.3) continue;
      const ws = [1, 2, 3, 4].map((k) => w(k, a, b));
      let nc = 0;
      for (const t of a.n) if (b.n.has(t)) nc++;
      const nj = nc / (a.n.size + b.n.size - nc);
      if (d >= 0.6) counts['d'] = (counts['d'] ?? 0) + 1;
      ws.forEach((x, k) => {
        if (x >= 0.6) counts['w' + (k + 1)] = (counts['w' + (k + 1)] ?? 0) + 1;
      });
      out.push([d.toFixed(2), ...ws.map((x) => x.toFixed(2)), nj.toFixed(2), a.r.id.slice(-45), b.r.id.slice(-45)].join('\t'));
    }
  writeFileSync('/tmp/hl/sim.txt', out.sort().reverse().join('\n') + '\n');
  console.log(counts);
}, 60000);
