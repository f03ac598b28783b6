import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { it } from 'vitest';
import { adviseOn } from '../../sandbox/extensions/skill_lint/advise-on.ts';
import { skillSandbox } from '../extensions/skill_registry/skill-sandbox.ts';
it('runs', async () => {
  const box = await skillSandbox();
  const files: string[] = [];
  for (const line of readFileSync('/work/shared/corpus/skills.jsonl', 'utf8').trim().split('\n')) {
    const { repo, path: file, text, resources } = JSON.parse(line) as { repo: string; path: string; text: string; resources: string[] };
    files.push(await box.write(path.join(repo, file), text));
    for (const name of resources) if (!name.endsWith('/')) await box.write(path.join(repo, path.dirname(file), name), 'x');
  }
  const out = (await adviseOn(files)).flatMap(({ diagnostics }) =>
    diagnostics.map((d) => `${d.severity} ${d.code}\t${path.relative(box.project, d.file!)}:${d.line}\t${d.message}; ${d.cure}`),
  );
  writeFileSync(process.env['OUT']!, out.sort().join('\n') + '\n');
}, 60000);
