import { link, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonValue } from 'pith';
import { scriptedModel, type ScriptedStep } from 'pith/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { answered, answerFirst } from '../../answers.ts';
import { kernelOf } from '../../places.ts';
import { words } from '../../words.ts';
import { workbench, type Workbench } from './workbench.ts';

let bench: Workbench;
beforeEach(async () => void (bench = await workbench()));

const refused = (code: string) => ({ ok: false, error: { code } });

describe('a yes is for the bytes that were shown', () => {
  it.each(['move', 'copy'])(
    'T18 F14: a %s into a place that runs shows the content; other bytes are not written, and nobody was asked about them',
    async (action) => {
      await bench.put('notes/z.ts', 'export const harmless = 1;\n');
      const call = { action, path: 'notes/z.ts', to: 'extensions/z/main.ts' };
      const question = await bench.question('file', call);
      expect(question).toMatchObject({
        once: true,
        text: expect.stringMatching(/'extensions\/z\/main\.ts' is code of an extension[^]*\+export const harmless = 1;/),
      });
      await bench.put('notes/z.ts', 'export const evil = 1;\n');
      expect(await bench.approved('file', call, question?.subject)).toMatchObject(refused('approval_needed'));
      expect(await bench.approved('file', call, undefined)).toMatchObject(refused('approval_needed'));
      expect(await bench.names()).toEqual(['notes']);
      const again = await bench.question('file', call);
      expect(again?.text).toContain('+export const evil = 1;');
      expect(await bench.approved('file', call, again?.subject)).toMatchObject({ ok: true });
      expect(await bench.get('extensions/z/main.ts')).toBe('export const evil = 1;\n');
      expect(await readdir(join(bench.sandbox, 'notes'))).toEqual(action === 'move' ? [] : ['z.ts']);
    },
  );

  it('T18 F14: what is replaced is part of the question: a difference against other text shows other lines', async () => {
    await bench.put('notes/z.ts', 'one\ntwo\nthree\n');
    await bench.put('extensions/z/main.ts', 'one\n2\nthree\n');
    const call = { action: 'copy', path: 'notes/z.ts', to: 'extensions/z/main.ts', overwrite: true };
    const question = await bench.question('file', call);
    expect(question?.text).toMatch(/-2\n\+two/);
    await bench.put('extensions/z/main.ts', 'nothing of it\n');
    expect(await bench.approved('file', call, question?.subject)).toMatchObject(refused('approval_needed'));
  });

  it('T18 F14: a patch that renames into a place that runs shows the whole file', async () => {
    await bench.put('notes/z.ts', 'first\nhidden();\nlast\n');
    const patch = '--- a/notes/z.ts\n+++ b/extensions/z/main.ts\n@@ -1 +1 @@\n-first\n+FIRST\n';
    const question = await bench.question('apply_patch', { patch });
    expect(question?.text).toContain('+hidden();');
    await bench.put('notes/z.ts', 'first\nother();\nlast\n');
    expect(await bench.approved('apply_patch', { patch }, question?.subject)).toMatchObject(refused('approval_needed'));
    expect(await bench.names()).toEqual(['notes']);
    expect(await bench.patch(patch)).toMatchObject({ ok: true });
    expect(await bench.get('extensions/z/main.ts')).toBe('FIRST\nother();\nlast\n');
  });

  it('T18 F13: what is no text, or more than a person is shown, does not come into a place that runs', async () => {
    await bench.put('notes/nul.ts', 'ok(); // \0 \nevil();\n');
    await bench.put('notes/latin.ts', Buffer.from([0x47, 0xfc]));
    await bench.put('notes/long.ts', 'x'.repeat(300_000));
    for (const [path, code] of [
      ['notes/nul.ts', 'file_binary'],
      ['notes/latin.ts', 'file_binary'],
      ['notes/long.ts', 'file_too_large'],
    ] as const) {
      for (const action of ['move', 'copy']) {
        const call = { action, path, to: 'extensions/z/main.ts' };
        expect(await bench.question('file', call)).toBeNull();
        expect(await bench.approved('file', call, 'whatever')).toMatchObject(refused(code));
      }
    }
    expect(await bench.file({ action: 'copy', path: 'notes/nul.ts', to: 'drafts/nul.ts' })).toMatchObject({ ok: true });
  });

  it('T18 F20: what was free when it was asked about and is not when it runs needs a person', async () => {
    const call = { action: 'write', path: 'team/tool.ts', content: 'x' };
    expect(await bench.question('file', call)).toBeNull();
    await bench.put('team/manifest.yaml', 'id: team\n');
    expect(await bench.approved('file', call, undefined)).toMatchObject(refused('approval_needed'));
  });

  it('T18 F20: every way to each of them asks: write, move, copy, delete, patch, other spellings, a folder that is made; no link leads there', async () => {
    await bench.put('note.md', 'text');
    for (const path of words(`
      .envrc .npmrc .vscode/settings.json .vscode/new/deep/x.md .claude/settings.json .//package.json Package.JSON package.json.
      skills.lock.json recipes/deploy.md AGENTS.md web/Makefile .staging/extensions/x/.npmrc .staging/.envrc .staging/\u2060.envrc
    `)) {
      for (const call of [
        { action: 'write', path, content: 'x' },
        { action: 'delete', path },
        { action: 'move', path: 'note.md', to: path },
        { action: 'copy', path: 'note.md', to: path },
      ]) {
        const question = await bench.question('file', call);
        expect({ call, once: question?.once, bound: question?.subject !== undefined }).toEqual({ call, once: true, bound: true });
        expect(await bench.approved('file', call, undefined)).toMatchObject(refused('approval_needed'));
      }
      const patch = `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+x\n`;
      expect({ path, asks: await bench.needsApproval('apply_patch', { patch }) }).toEqual({ path, asks: true });
    }
    await bench.put('.vscode/settings.json', '{}');
    await symlink('.vscode', join(bench.sandbox, 'plain'));
    await link(join(bench.sandbox, '.vscode/settings.json'), join(bench.sandbox, 'twin.json'));
    for (const path of ['plain/settings.json', 'plain/new.json', 'twin.json'])
      expect(await bench.file({ action: 'write', path, content: '{"evil":1}' })).toMatchObject(refused('file_unavailable'));
    expect(await bench.get('.vscode/settings.json')).toBe('{}');
  });
});

const file = (input: Readonly<Record<string, JsonValue>>): ScriptedStep => ({ calls: [{ name: 'file', input }] });

/** A kernel with an agent that edits and whose model says this, once it has worked until a person is asked. */
async function asked(script: readonly ScriptedStep[], files: Readonly<Record<string, string>> = {}) {
  const agent = 'id: editor\nversion: 1.0.0\nagent:\n  description: Edits.\n  uses_tools: [core_tools]\n';
  const pith = await kernelOf({
    files: { 'agents/editor/manifest.yaml': agent, 'pith.yaml': 'default_agent: editor\n', ...files },
    model: scriptedModel(script),
  });
  const { events } = await pith.run('go');
  const read = (name: string) => readFile(join(pith.sandbox, name), 'utf8');
  return { pith, events, approvals: pith.kernel.approvals, read };
}

describe('the file tool in the kernel', () => {
  it('T18 F12: always for a write to agents/ is refused, and the write to extensions/ after it is asked about', async () => {
    const { pith, events, approvals, read } = await asked([
      file({ action: 'write', path: 'agents/helper/notes.md', content: 'hello\n' }),
      file({ action: 'write', path: 'extensions/z/main.ts', content: 'evil();\n' }),
    ]);
    expect(events).toContainEqual(expect.objectContaining({ type: 'approval-request', once: true }));
    const message = expect.stringContaining('cannot be approved always');
    await expect(answerFirst(pith, 'always')).rejects.toMatchObject({ code: 'not_allowed', message });
    expect(await approvals.list()).toMatchObject([{ answer: null }]);
    expect((await answered(pith, 'once')).reason).toBe('awaiting_approval');
    expect(await read('agents/helper/notes.md')).toBe('hello\n');
    expect(await approvals.list()).toMatchObject([{ input: { path: 'extensions/z/main.ts' }, always: null }]);
    expect(await readdir(pith.sandbox)).not.toContain('extensions');
  });

  it('T18 F14: a source that changes after the yes is asked about again, and says so', async () => {
    const move = file({ action: 'move', path: 'notes/z.ts', to: 'extensions/z/main.ts' });
    const { pith, read } = await asked([move, { text: 'moved' }], { 'notes/z.ts': 'harmless();\n' });
    await answerFirst(pith, 'once');
    await pith.write('notes/z.ts', 'evil();\n');
    const { events } = await pith.run('', { input: undefined, resume: true });
    expect(events.filter(({ type }) => type === 'approval-request')).toMatchObject([
      { details: expect.stringMatching(/has changed since you approved this[^]*\+evil\(\);/) },
    ]);
    expect(await readdir(pith.sandbox)).not.toContain('extensions');
    expect((await answered(pith, 'once')).reason).toBe('done');
    expect(await read('extensions/z/main.ts')).toBe('evil();\n');
  });

  it('T18 F20: with approvals for all of core_tools, always covers what the settings alone ask about', async () => {
    const note = (name: string) => file({ action: 'write', path: `notes/${name}.md`, content: 'x' });
    const settings = { 'pith.yaml': 'default_agent: editor\napprovals: { tools: [core_tools] }\n' };
    const { pith, approvals } = await asked([note('a'), note('b'), file({ action: 'write', path: '.envrc', content: 'evil' })], settings);
    expect((await answered(pith, 'always')).reason).toBe('awaiting_approval');
    expect((await readdir(join(pith.sandbox, 'notes'))).sort()).toEqual(['a.md', 'b.md']);
    expect(await approvals.list()).toMatchObject([{ input: { path: '.envrc' }, always: null }]);
  });
});
