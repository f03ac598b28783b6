import { describe, expect, it } from 'vitest';
import { kernelOf } from '../../places.ts';

const agent = 'id: editor\nversion: 1.0.0\nagent:\n  description: Edits.\n  uses_tools: [core_tools]\n';

describe.each([{ wire: false }, { wire: true }])('core tools in the kernel (wire: $wire)', ({ wire }) => {
  it('K60 P1 P3 work through the gate: notes are free, code waits for a person, a new skill is a draft, an existing one is refused', async () => {
    const files = { 'agents/editor/manifest.yaml': agent, 'skills/old/SKILL.md': '---\nname: old\ndescription: Old.\n---\nBody\n' };
    const { kernel } = await kernelOf({ wire, files });
    /** `ok`, or the code with which it was refused. */
    const outcome = async (name: string, input: Record<string, string>) => {
      const result = await kernel.agents.callTool('editor', name, input);
      return result.ok ? 'ok' : result.error.code;
    };
    const write = (path: string, content = 'x') => outcome('file', { action: 'write', path, content });
    expect(await write('notes/a.md', 'one\n')).toBe('ok');
    expect(await outcome('apply_patch', { patch: '--- a/notes/a.md\n+++ b/notes/a.md\n@@ -1 +1 @@\n-one\n+two\n' })).toBe('ok');
    const read = kernel.agents.callTool('editor', 'file', { action: 'read', path: 'notes/a.md' });
    expect(await read).toMatchObject({ ok: true, output: { text: 'two\n' } });
    for (const name of ['manifest.yaml', 'main.ts']) expect(await write(`.staging/extensions/x/${name}`)).toBe('ok');
    expect(await write('extensions/x/main.ts')).toBe('approval_needed');
    expect(await write('skills/new/SKILL.md')).toBe('ok');
    expect(await kernel.agents.callTool('editor', 'file', { action: 'stat', path: '.staging/skills/new/SKILL.md' })).toMatchObject({
      ok: true,
    });
    expect(await write('skills/old/SKILL.md')).toBe('use_proposal');
    expect(await outcome('file', { action: 'read', path: '../../etc/passwd' })).toBe('file_unavailable');
  });
});
