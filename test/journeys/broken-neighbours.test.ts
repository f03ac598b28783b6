import path from 'node:path';
import { scriptedModel } from 'pith/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Diagnostic } from '../../core/contract/index.ts';
import { kernelOf } from '../places.ts';
import { addOddFiles, BROKEN_SANDBOX, NEIGHBOURS, type Neighbour } from './broken-sandbox.ts';
import type { Ran } from '../core/cli/fakes.ts';
import { pithHere } from './pith-here.ts';
import { projectFolder, runPith, type Ended, type Folder } from './pith-process.ts';
import { agentFile, extensionFiles, toolExtension } from './sandbox-files.ts';

interface Report {
  readonly ok: boolean;
  readonly extensions: readonly Found[];
  readonly agents: readonly Found[];
  readonly notes: readonly Diagnostic[];
}
type Found = { readonly id: string; readonly state: string; readonly notes: readonly Diagnostic[] } & Partial<Diagnostic>;

let folder: Folder;
beforeAll(async () => {
  folder = await projectFolder(BROKEN_SANDBOX);
  await addOddFiles(folder.sandbox);
});
afterAll(() => folder.remove());

describe('a sandbox with thirty broken neighbours', () => {
  it('K1 K2 K5 S6 chats: the good tools, contexts and skills work, what throws or hangs is left out', async () => {
    const model = scriptedModel([
      {
        calls: ['kind_tool', 'throwing_tool', 'odd_tool']
          .map((name) => ({ name, input: {} }))
          .concat([{ name: 'read_skill', input: { skill_id: 'good' } as never }]),
      },
      { text: 'still here' },
    ]);
    const pith = await kernelOf({ sandbox: folder.sandbox, model });
    const turn = await pith.run('hello');
    expect(turn, JSON.stringify(turn.error)).toMatchObject({ reason: 'done', text: 'still here' });
    const [first] = turn.requests;
    expect(first!.system).toContain('KIND-CONTEXT');
    expect(first!.system).toContain('• `good` — A good skill.');
    expect(first!.system).toContain('• `crlf` — ');
    expect(first!.system).not.toMatch(/boom|no-frontmatter|unclosed|no-description|pipe|way-out/u);
    const result = (name: string) => turn.results.find((found) => found.name === name);
    expect(result('kind_tool')).toMatchObject({ ok: true, output: 'kindness' });
    expect(result('throwing_tool')).toMatchObject({
      ok: false,
      error: { code: 'tool_failed', message: expect.stringContaining('boom-tool') },
    });
    expect(result('odd_tool')).toMatchObject({ ok: false, error: { code: 'not_serialisable' } });
    expect(JSON.stringify(result('read_skill'))).toContain('GOOD-BODY');

    const report = await pith.kernel.doctor();
    const seen = new Map(report.extensions.map((found) => [found.id, found]));
    expect(seen.get('kind')).toMatchObject({ state: 'active' });
    expect(seen.get('context_throws')).toMatchObject({ message: expect.stringContaining('boom-context') });
    expect(seen.get('context_hangs')?.message).toMatch(/getContext|1 s|time/u);
  });

  it('K44 a turn with a broken or unknown agent or model ends with the reason, file and nearest names', async () => {
    const pith = await kernelOf({
      sandbox: folder.sandbox,
      env: { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' },
    });
    expect((await pith.run('x', { agent: 'odd_symbol', threadId: 'a' })).error).toMatchObject({
      code: 'agent_failed',
      message: expect.stringMatching(/agnet.*prompt\.jinja2:2/su),
    });
    expect((await pith.run('x', { agent: 'orchestrater', threadId: 'b' })).error).toMatchObject({
      code: 'agent_unknown',
      message: expect.stringContaining("did you mean 'orchestrator'"),
    });
    expect((await pith.run('x', { policy: { model: 'opnai/test' }, threadId: 'c' })).error).toMatchObject({
      code: 'model_unknown',
      message: expect.stringContaining('openai'),
    });
    await expect(pith.kernel.agents.callTool('orchestrator', 'kind_tol', {})).rejects.toMatchObject({
      code: 'tool_unknown',
      cure: expect.stringContaining('kind_tool'),
    });
  });

  it('K2 an agent that leans on a failed extension works without its tools, degraded, and says so once', async () => {
    const model = scriptedModel([{ calls: [{ name: 'kind_tool', input: {} }] }, { text: 'one' }, { text: 'two' }]);
    const pith = await kernelOf({
      model,
      files: {
        ...toolExtension('kind', 'kind_tool', "'kindness'"),
        ...extensionFiles('sick', { provides: ['tool'], main: "throw new Error('sick');\n" }),
        'agents/leaning/manifest.yaml': agentFile('leaning', { uses_tools: ['sick', 'kind'] }),
      },
    });
    const first = await pith.run('hello', { agent: 'leaning' });
    expect(first).toMatchObject({ reason: 'done', text: 'one', results: [{ ok: true, output: 'kindness' }] });
    const notices = first.events.filter(({ type }) => type === 'notice');
    expect(notices).toEqual([expect.objectContaining({ message: expect.stringMatching(/sick/u) })]);
    expect((await pith.run('again', { agent: 'leaning' })).events.filter(({ type }) => type === 'notice')).toEqual([]);
    expect((await pith.kernel.agents.resolve('leaning')).state).toBe('degraded');
  });

  it('K2 what a person switched off is said once to each agent that leans on it, whatever threads begin, and always by doctor', async () => {
    const pith = await kernelOf({
      model: scriptedModel(Array.from({ length: 5 }, () => ({ text: 'done' }))),
      files: {
        ...toolExtension('kind', 'kind_tool', "'kindness'"),
        'pith.yaml': 'default_agent: leaning\nextensions: { kind: { enabled: false } }\n',
        'agents/leaning/manifest.yaml': agentFile('leaning', { uses_tools: ['kind/kind_tool'] }),
        'agents/other/manifest.yaml': agentFile('other', { uses_tools: ['kind/kind_tool'] }),
      },
    });
    const said = async (agent: string, threadId: string) =>
      (await pith.run('hello', { agent, threadId })).events.flatMap((event) => (event.type === 'notice' ? [event.message] : []));
    const off = expect.stringMatching(/the tools of 'kind\/kind_tool' are missing: .*it is switched off/u);
    expect(await said('leaning', 'one')).toEqual([off]);
    expect(await said('leaning', 'one')).toEqual([]);
    expect(await said('leaning', 'two')).toEqual([]);
    expect(await said('other', 'two')).toEqual([off]);
    expect(await said('other', 'three')).toEqual([]);
    const { agents } = await pith.kernel.doctor();
    for (const id of ['leaning', 'other']) expect(agents.find((one) => one.id === id)).toMatchObject({ state: 'degraded', message: off });
  });
});

describe('pith doctor in that sandbox', () => {
  let ended: Ended;
  let report: Report;
  let text: Ran;
  beforeAll(async () => {
    ended = await runPith(['doctor', '--json'], { cwd: folder.path });
    text = await pithHere(['doctor'], { cwd: folder.path });
    report = JSON.parse(ended.out) as Report;
  });

  it('K1 exits 1, with one JSON value on the output', () => {
    expect(ended.code, ended.err).toBe(1);
    expect(text.code).toBe(1);
    expect(report.ok).toBe(false);
  });

  it('K1 leaves the good ones alone', () => {
    const states = new Map([...report.extensions, ...report.agents].map(({ id, state }) => [id, state]));
    for (const id of ['kind', 'kind_context', 'core_tools', 'skill_registry', 'orchestrator'])
      expect([id, states.get(id)]).toEqual([id, 'active']);
  });

  it.each(NEIGHBOURS.map((neighbour) => [neighbour.id, neighbour] as const))(
    'K1 K2 K3 K44 names %s with file, line, reason and cure',
    (_id, neighbour) => {
      const found = findingsOf(report, neighbour);
      const all = JSON.stringify(found, null, 1);
      expect(
        found.map(({ code }) => code),
        all,
      ).toContain(neighbour.code);
      const finding = found.find(({ code }) => code === neighbour.code) as Diagnostic & { state?: string };
      expect(finding.state ?? neighbour.state, all).toBe(neighbour.state);
      expect(`${finding.message}; ${finding.cure}`, all).toMatch(neighbour.says);
      expect(finding.cure ?? /did you mean/u.exec(finding.message), all).toBeTruthy();
      const [file, line] = neighbour.at.split(':');
      expect(finding.file, all).toBe(path.join(folder.sandbox, file as string));
      expect(line === undefined || finding.line === Number(line), all).toBe(true);
      expect(text.out).toContain(neighbour.kind === 'settings' || neighbour.kind === 'skill' ? neighbour.at : neighbour.id);
    },
  );
});

function findingsOf(report: Report, { id, kind, at }: Neighbour): readonly Diagnostic[] {
  if (kind === 'extension' || kind === 'agent') {
    return (kind === 'agent' ? report.agents : report.extensions)
      .filter((found) => found.id === id)
      .flatMap((found) => [found as unknown as Diagnostic, ...found.notes]);
  }
  const file = at.split(':')[0] as string;
  return report.notes.filter((note) => note.file?.endsWith(file));
}
