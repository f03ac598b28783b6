import { probeSandboxing } from '@pith/supervised-process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TurnEvent } from 'pith';
import { recordEvents } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { answered } from '../../answers.ts';
import { scriptKernel, type ScriptKernel } from './script-kernel.ts';

const { available } = await probeSandboxing();
const questions = (events: readonly TurnEvent[]) => events.filter((event) => event.type === 'approval-request');

const goesOn = ({ pith }: ScriptKernel, said: 'once' | 'always' | 'no') => answered(pith, said, { agent: 'runner' });

const SCRIPTS = { 'scripts/a.sh': 'echo first; . scripts/part.sh\n', 'scripts/part.sh': 'echo part\n' };
const input = { skill_id: 'tool-kit', script: 'a.sh', args: ['one\n two'] };

describe.skipIf(!available)('S72 a person is asked before a script runs', () => {
  it('S72 the question shows skill, script, digest and arguments; a yes holds for the script and its neighbours as they were', async () => {
    const more = 'scripts: [{ path: scripts/a.sh, description: Says first., env: [OWN_KEY, OTHER] }]\n';
    const kit = await scriptKernel(SCRIPTS, { settings: 'env: [OWN_KEY]', more });
    const first = await kit.turn(input);
    expect(first.reason).toBe('awaiting_approval');
    const [question] = questions(first.events);
    expect(question).toMatchObject({
      tool: 'skill_scripts/run_skill_script',
      input,
      summary: "run scripts/a.sh of the skill 'tool-kit'", // U11
      enforced: expect.stringMatching(/^sandboxed: no network/u),
    });
    const lines = (question?.details ?? '').split('\n');
    expect(lines[0]).toBe(String.raw`with the arguments "one\n two"`);
    expect(lines[1]).toBe(`scripts/a.sh is in ${kit.skill} (sandbox/skills)`);
    expect(lines[2]).toBe('which says: Says first.');
    expect(lines[3]).toMatch(/^sha256 [0-9a-f]{64}$/u);
    expect(lines.slice(4).join('\n')).toMatch(
      /^with 2 other files of the skill, all together sha256 [0-9a-f]{64}\nwith OWN_KEY of your environment\nwithout OTHER, which it asks for and skills\.scripts\.env does not list\na yes is for/u,
    );
    // A neighbour changes while the question is open: the yes is not for that.
    await writeFile(path.join(kit.skill, 'scripts/part.sh'), 'echo changed\n');
    const again = await goesOn(kit, 'once');
    expect(again.results).toEqual([]);
    expect(questions(again.events)).toMatchObject([
      { details: expect.stringMatching(/^what would run has changed since you approved this/u) },
    ]);
    expect((await goesOn(kit, 'once')).results).toMatchObject([{ ok: true, output: 'first\nchanged\n' }]);
  });

  it('S72 a no is told to the model; always holds for this script as it is, and for no other', async () => {
    const kit = await scriptKernel({ ...SCRIPTS, 'scripts/b.sh': 'echo b\n' }, { settings: '' });
    await kit.turn(input);
    expect((await goesOn(kit, 'no')).results).toMatchObject([{ ok: false, error: { code: 'approval_denied' } }]);
    await kit.turn(input);
    expect((await goesOn(kit, 'always')).results).toMatchObject([{ ok: true, output: 'first\npart\n' }]);
    expect((await kit.turn({ ...input, args: [] })).results).toMatchObject([{ ok: true }]);
    // A file elsewhere in the skill, that the script may load, counts as the script does.
    await kit.pith.write('skills/tool-kit/lib/steps', 'echo new\n');
    expect(questions((await kit.turn(input)).events)).toHaveLength(1);
    await goesOn(kit, 'no');
    const other = await kit.turn({ ...input, script: 'b.sh' });
    expect(questions(other.events)).toHaveLength(1);
    await goesOn(kit, 'no');
  });

  it('S72 nobody is asked about what is refused anyway, and nothing runs that nobody was asked about', async () => {
    const kit = await scriptKernel(SCRIPTS, { settings: 'max_args: 1' });
    for (const wrong of [
      { ...input, skill_id: 'nope' },
      { ...input, script: '../a.sh' },
      { ...input, args: ['1', '2'] },
    ]) {
      const { reason, results: told } = await kit.turn(wrong);
      expect([reason, told[0]?.ok]).toEqual(['done', false]);
    }
    // Called by a person: the question is theirs.
    const asked: string[] = [];
    const person = {
      agentId: 'runner',
      approve: async ({ details }: { readonly details: string | null }) => (
        asked.push(details ?? ''),
        await writeFile(path.join(kit.skill, 'scripts/a.sh'), 'echo swapped\n'),
        true
      ),
    };
    const result = await kit.pith.kernel.agents.callTool(person, 'run_skill_script', input);
    expect(asked).toMatchObject([expect.stringContaining('scripts/a.sh')]);
    expect(result).toMatchObject({ ok: false, error: { code: 'script_changed' } });
  });
});

describe('S25 S72 who has the tool', () => {
  it('S25 S72 only an agent that names it', async () => {
    const plain = 'id: plain\nagent: { uses_tools: [skill_registry], instructions: PLAIN }\n';
    const kit = await scriptKernel(SCRIPTS, { files: { 'agents/plain/manifest.yaml': plain } });
    const named = async (agent: string) => (await kit.pith.kernel.agents.toolsOf(agent)).map(({ descriptor }) => descriptor.name);
    expect(await named('runner')).toContain('run_skill_script');
    expect(await named('plain')).not.toContain('run_skill_script');
    const tool = (await kit.pith.kernel.agents.toolsOf('runner')).find(({ descriptor }) => descriptor.name === 'run_skill_script');
    expect(tool?.descriptor).toMatchObject({ effect: 'write', optIn: true, needsApproval: 'maybe', timeoutMs: 75_000 });
  });
});

describe('S73 without a sandbox', () => {
  it('S73 they run as the person only where the settings say so; doctor says it in red, the question says it, the chat once', async () => {
    const kit = await scriptKernel({ ...SCRIPTS, 'scripts/fail.sh': 'pwd; exit 9\n' }, { settings: 'approval: never, sandbox: none' });
    const events = recordEvents(kit.pith.kernel.events);
    expect(await kit.run('scripts/a.sh')).toMatchObject({ ok: true, output: 'first\npart\n' });
    expect(await kit.run('scripts/fail.sh')).toMatchObject({ code: 'script_failed', metadata: { exit: 9 } });
    expect(events.of('notify')).toEqual([
      expect.objectContaining({
        threadId: 'test',
        kind: 'warning',
        about: { kind: 'extension', id: 'skill_scripts' },
        text: expect.stringContaining('without a sandbox'),
      }),
    ]);
    const { extensions } = await kit.pith.kernel.doctor();
    const notes = extensions.find(({ id }) => id === 'skill_scripts')?.notes.filter(({ code }) => code === 'unconfined');
    expect(notes).toEqual([{ code: 'unconfined', message: expect.stringContaining('skills.scripts.sandbox: none') }]);
  });

  it('S73 a question about a script that nothing will hold says so', async () => {
    const kit = await scriptKernel(SCRIPTS, { settings: 'sandbox: none' });
    expect(questions((await kit.turn(input)).events)[0]?.enforced).toMatch(/^not sandboxed: /u);
    await goesOn(kit, 'no');
  });
});
