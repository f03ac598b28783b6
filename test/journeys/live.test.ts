import { fakeClock, scriptedModel, type FakeClock, type ScriptedModel, type TestKernel, type TurnOutcome } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { kernelOf } from '../places.ts';
import { agentFile, toolExtension } from './sandbox-files.ts';

/** K20: a look at the declarations holds for 1 s. */
const NEXT_LOOK_MS = 1000;

let pith: TestKernel;
let clock: FakeClock;
let model: ScriptedModel;

async function start(files: Record<string, string>): Promise<void> {
  clock = fakeClock();
  model = scriptedModel();
  pith = await kernelOf({ files: { 'pith.yaml': 'skills: { poll_seconds: 0 }\n', ...files }, model, clock });
}

/** A turn that answers `ok`, after so many milliseconds. */
async function turn(after: number, agent?: string): Promise<TurnOutcome & { readonly system: string }> {
  await clock.advance(after);
  model.add({ text: 'ok' });
  const outcome = await pith.run('hello', agent === undefined ? {} : { agent, threadId: agent });
  expect(outcome, JSON.stringify(outcome.error)).toMatchObject({ reason: 'done', text: 'ok' });
  return { ...outcome, system: outcome.requests[0]!.system };
}

describe('agents and extensions while a conversation runs', () => {
  it('K20 an agent added by one manifest answers in the next turn; an edited prompt is used; a removed agent is gone', async () => {
    await start({ 'agents/writer/manifest.yaml': agentFile('writer'), 'agents/writer/prompt.jinja2': 'PROMPT-ONE' });
    expect((await turn(0, 'writer')).system).toContain('PROMPT-ONE');

    await pith.write('agents/poet/manifest.yaml', agentFile('poet', { instructions: 'RHYME-ALWAYS' }));
    expect((await turn(NEXT_LOOK_MS, 'poet')).system).toContain('RHYME-ALWAYS');

    await pith.write('agents/writer/prompt.jinja2', 'PROMPT-TWO');
    expect((await turn(NEXT_LOOK_MS, 'writer')).system).toContain('PROMPT-TWO');

    await pith.remove('agents/poet');
    await clock.advance(NEXT_LOOK_MS);
    const gone = await pith.run('hello', { agent: 'poet', threadId: 'poet' });
    expect(gone).toMatchObject({ reason: 'error', error: { code: 'agent_unknown' } });
  });

  it('K20 K1 an agent whose manifest breaks says file, line and cure, and works again when corrected', async () => {
    await start({ 'agents/writer/manifest.yaml': agentFile('writer', { instructions: 'WRITER-ONE' }) });
    await turn(0, 'writer');
    await pith.write('agents/writer/manifest.yaml', 'id: writer\nagent:\n  limit: {}\n');
    await clock.advance(NEXT_LOOK_MS);
    const broken = await pith.run('hello', { agent: 'writer', threadId: 'writer' });
    expect(broken.error?.message).toMatch(/limit.*did you mean 'limits'.*manifest\.yaml:3/su);
    await pith.write('agents/writer/manifest.yaml', agentFile('writer', { instructions: 'WRITER-TWO' }));
    expect((await turn(NEXT_LOOK_MS, 'writer')).system).toContain('WRITER-TWO');
  });

  async function called(name: string): Promise<TurnOutcome> {
    await clock.advance(NEXT_LOOK_MS);
    model.add({ calls: [{ name, input: {} }] }, { text: 'ok' });
    return pith.run('call it');
  }

  it('K20 an extension that is added brings its tools to the next turn; one that is removed takes them along', async () => {
    await start({});
    expect((await turn(0)).requests[0]!.tools.map(({ name }) => name)).not.toContain('dawn');
    for (const [file, content] of Object.entries(toolExtension('morning', 'dawn', "'light'"))) await pith.write(file, content);
    expect((await called('dawn')).results[0]).toMatchObject({ ok: true, output: 'light' });
    await pith.remove('extensions/morning');
    expect((await turn(NEXT_LOOK_MS)).requests[0]!.tools.map(({ name }) => name)).not.toContain('dawn');
  });
});
