import { describe, expect, it } from 'vitest';
import { testKernel } from 'pith/testing';

const agent = 'id: editor\nversion: 1.0.0\nagent:\n  description: Edits.\n  uses_tools: [core_tools]\n';

describe.each([{ wire: false }, { wire: true }])('core tools in the kernel (wire: $wire)', ({ wire }) => {
  it('K60 work through the gate: notes are free, code waits for a person, an existing skill is refused', async () => {
    await using test = await testKernel({
      wire,
      files: { 'agents/editor/manifest.yaml': agent, 'skills/old/SKILL.md': '---\nname: old\ndescription: Old.\n---\nBody\n' },
    });
    const call = (name: string, input: Record<string, string>) => test.kernel.agents.callTool('editor', name, input);
    expect(await call('file', { action: 'write', path: 'notes/a.md', content: 'one\n' })).toMatchObject({ ok: true });
    expect(await call('apply_patch', { patch: '--- a/notes/a.md\n+++ b/notes/a.md\n@@ -1 +1 @@\n-one\n+two\n' })).toMatchObject({
      ok: true,
    });
    expect(await call('file', { action: 'read', path: 'notes/a.md' })).toMatchObject({ ok: true, output: { text: 'two\n' } });
    expect(await call('file', { action: 'write', path: '.staging/extensions/x/manifest.yaml', content: 'id: x\n' })).toMatchObject({
      ok: true,
    });
    expect(await call('file', { action: 'write', path: '.staging/extensions/x/main.ts', content: 'x' })).toMatchObject({ ok: true });
    expect(await call('file', { action: 'write', path: 'extensions/x/main.ts', content: 'x' })).toMatchObject({
      ok: false,
      error: { code: 'approval_needed' },
    });
    expect(await call('file', { action: 'write', path: 'skills/new/SKILL.md', content: 'x' })).toMatchObject({
      ok: false,
      error: { code: 'approval_needed' },
    });
    expect(await call('file', { action: 'write', path: 'skills/old/SKILL.md', content: 'x' })).toMatchObject({
      ok: false,
      error: { code: 'use_proposal' },
    });
    expect(await call('file', { action: 'read', path: '../../etc/passwd' })).toMatchObject({
      ok: false,
      error: { code: 'file_unavailable' },
    });
  });
});
