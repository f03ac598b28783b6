import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { probeSandboxing } from '@pith/supervised-process';
import { describe, expect, it } from 'vitest';
import { contained, Containment } from '../../../sandbox/extensions/mcp/contained.ts';
import { folderWith, onDisk } from '../../places.ts';

onDisk();
const sandboxing = await probeSandboxing();

describe.skipIf(!sandboxing.available)('MCP servers', () => {
  it('P20: a server that is started here writes its files, and no skill', async () => {
    const cwd = folderWith({ 'sandbox/skills/old/SKILL.md': 'kept', '.claude/skills/x/SKILL.md': 'kept' });
    mkdirSync(path.join(cwd, 'empty'));
    const searchPath = process.env['PATH'] ?? '/usr/bin:/bin';
    const script =
      'echo x > mine.txt; for skill in sandbox/skills/old .claude/skills/x; do echo x > $skill/SKILL.md; rm -rf $skill; mkdir $skill/new; done; true';
    const containment = new Containment();
    const fixed = ['sandbox/skills', '.claude/skills', 'missing/skills'].map((name) => path.join(cwd, name));
    const program = await contained({ command: 'sh', args: ['-c', script] }, await containment.container(searchPath), {
      cwd,
      searchPath,
      fixed,
    });
    await promisify(execFile)(program.command, [...program.args], { cwd, env: { PATH: searchPath } });
    containment.end();
    const read = (name: string) => readFileSync(path.join(cwd, name), 'utf8');
    expect([read('mine.txt'), read('sandbox/skills/old/SKILL.md'), read('.claude/skills/x/SKILL.md')]).toEqual(['x\n', 'kept', 'kept']);
  });
});
