import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { CommandIO } from 'pith';
import { scriptedModel } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import { folderWith, kernelOf } from '../../places.ts';

const SCRIPTS = JSON.stringify({ scripts: { test: 'vitest', lint: 'oxlint', publish: 'no' } });
const files = {
  'package.json': SCRIPTS,
  'pnpm-lock.yaml': '',
  'src/a.ts': '',
  Makefile: 'all: x\n\tcc\nX := 1\n',
  'sandbox/pith.yaml': '',
};

/** `/init` in a conversation of this project: what it printed, and the message that it sent. */
async function inited(project: string, model: 'offline' | 'scripted', answer: string | null = null, request?: string, more = {}) {
  const test = await kernelOf({
    ...more,
    sandbox: path.join(project, 'sandbox'),
    flags: { data_dir: folderWith() },
    commands: kernelCommands,
    only: ['project_instructions', 'offline'],
    ...(model === 'offline' ? { env: { PITH_MODEL: 'offline/librarian' } } : { model: scriptedModel([]) }),
  });
  const [init] = await test.kernel.host.providers.commands.of('project_instructions');
  let sent: string | null = null;
  const printed: string[] = [];
  const session = { threadId: 't', agentId: 'a', send: (text: string) => void (sent = text) };
  const io = {
    print: (text: string) => void printed.push(text),
    json: () => 0,
    ask: async () => answer,
    session,
    interactive: true,
  } as unknown as CommandIO;
  await init!.run({ arguments: request === undefined ? {} : { request }, options: {} }, io, new AbortController().signal);
  return { sent, printed: printed.join('\n') };
}
const written = (project: string) =>
  existsSync(path.join(project, 'AGENTS.md')) ? readFileSync(path.join(project, 'AGENTS.md'), 'utf8') : null;

describe('/init', () => {
  it('U6 asks in a project that nobody trusts as /trust does, and sends nothing before', async () => {
    const project = folderWith(files);
    const { sent, printed } = await inited(project, 'scripted', 'yes', undefined, { home: folderWith(), accepts: false });
    expect({ sent, written: written(project) }).toEqual({ sent: null, written: null });
    expect(printed).toMatch(/^Trusted: [^]*To work in it, leave this conversation, and start Pith again$/mu);
  });

  it('U6 asks the agent for a new AGENTS.md, or for better instructions in the file that is there', async () => {
    const fresh = folderWith(files);
    const { sent } = await inited(fresh, 'scripted', null, 'name the ports');
    expect(sent).toMatch(/^Write AGENTS\.md .* write_file/u);
    expect(sent).toContain('Pay attention to this: name the ports');
    expect(written(fresh)).toBeNull();
    expect((await inited(folderWith({ ...files, 'CLAUDE.md': 'x' }), 'scripted')).sent).toMatch(/^Improve CLAUDE\.md .* edit_file/u);
  });

  it('U6 without a model it offers what the files of the project say, and writes over nothing', async () => {
    const project = folderWith(files);
    expect((await inited(project, 'offline', 'no')).printed).toContain('Nothing was written');
    expect(written(project)).toBeNull();
    const { sent, printed } = await inited(project, 'offline', 'yes');
    const text = written(project);
    expect([sent, printed]).toEqual([null, expect.stringContaining(String(text))]);
    expect(text).toContain('## Commands\n\n- `pnpm install`\n- `pnpm test`\n- `pnpm run lint`\n- `make all`\n\n## Folders\n\n- `sandbox/`');
    expect((await inited(project, 'offline', 'yes')).printed).toMatch(/^AGENTS\.md is there/u);
    expect(written(project)).toBe(text);
  });
});
