import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { it } from 'vitest';
import { lintSkill } from '@pith/skill-files';
import { DEFECTS } from '../extensions/skill_registry/format/defects.ts';
it('x', async () => {
  const out: unknown[] = [];
  for (const [folder, , , cure] of DEFECTS) {
    const { diagnostics } = await lintSkill(folder, path.resolve('test/fixtures/skills'));
    out.push([folder, cure, diagnostics[0]?.cure ?? '', diagnostics.map((d) => `${d.code}: ${d.cure}`)]);
  }
  writeFileSync('/tmp/hl/cures.json', JSON.stringify(out));
});
