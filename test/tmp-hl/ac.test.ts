import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { it } from 'vitest';
import { skillFilesOf } from '@pith/skill-files';
import { adviseOn } from '../../sandbox/extensions/skill_lint/advise-on.ts';
it('runs', async () => {
  const files = await skillFilesOf('/tmp/hl/ac/skills', '/');
  const out = (await adviseOn(files)).flatMap(({ diagnostics }) =>
    diagnostics.map((d) => `${d.severity} ${d.code}\t${path.relative('/tmp/hl/ac/skills', d.file!)}:${d.line}\t${d.message}; ${d.cure}`),
  );
  writeFileSync(process.env['OUT']! + '.ac', out.sort().join('\n') + '\n');
}, 60000);
