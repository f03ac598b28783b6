import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { it } from 'vitest';
import { adviseOn } from '../../sandbox/extensions/skill_lint/advise-on.ts';
import { skillSandbox } from '../extensions/skill_registry/skill-sandbox.ts';
it('runs', async () => {
  const box = await skillSandbox();
  const files: string[] = [];
  for (const l of readFileSync('/work/shared/retrieval/pool-1000.jsonl', 'utf8').trim().split('\n')) {
    const r = JSON.parse(l) as { id: string; description: string };
    files.push(
      await box.write(path.join('pool', r.id, 'SKILL.md'), `---\nname: x\ndescription: ${JSON.stringify(r.description)}\n---\n\nText.\n`),
    );
  }
  const out = (await adviseOn(files)).flatMap(({ diagnostics }) =>
    diagnostics.filter((d) => d.code === 'description_similar').map((d) => `${path.relative(box.project, d.file!)}\t${d.message}`),
  );
  writeFileSync(process.env['OUT']!, out.sort().join('\n') + '\n');
}, 60000);
