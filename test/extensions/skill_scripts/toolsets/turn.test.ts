import path from 'node:path';
import { rm } from 'node:fs/promises';
import { SkillProvider } from 'pith';
import { fakeClock, type FakeClock, type ScriptedStep, type TestKernel, type TurnOutcome } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { explanationOf } from '../../../../sandbox/extensions/skill_scripts/explanation.ts';
import { call, skillKernel, type SkillKernel } from '../../skill_registry/skill-kernel.ts';
import { skillOf } from '../../skill_registry/skill-values.ts';
import { until } from '../../../waiting.ts';

const HEAD = `import { defineTool, z } from 'pith';
const tool = (name, execute) => defineTool({ name, description: 'd', input: z.object({ n: z.number().optional() }), effect: 'read', execute });`;

/** A skill with one module that exports these tools as `list`. */
function skill(id: string, list: string, more = ''): Record<string, string> {
  return {
    [`skills/${id}/SKILL.md`]: `---\nname: ${id}\ndescription: Knows ${id}.\ntoolsets: ["toolsets/index:list"]\n${more}---\nBODY-OF-${id}\n`,
    [`skills/${id}/toolsets/index.ts`]: `${HEAD}\nexport const list = [${list}];\n`,
  };
}

const read = (id: string) => call('read_skill', { skill_id: id });

describe('toolsets of skills in a turn', () => {
  let world: SkillKernel;
  let pith: TestKernel;
  let clock: FakeClock;

  async function start(files: Readonly<Record<string, string>>, agent = 'uses_tools: [skill_registry]', wire?: boolean): Promise<void> {
    clock = fakeClock();
    const reader = { 'agents/reader/manifest.yaml': `id: reader\nagent: { ${agent} }\n` };
    world = await skillKernel({ ...reader, ...files }, { clock, ...(wire === undefined ? {} : { wire }) });
    ({ pith } = world);
  }
  const turn = (input: string, ...steps: ScriptedStep[]) => world.chat(input, steps);

  const toolsIn = ({ requests }: TurnOutcome, step: number) =>
    requests[step]!.tools.map(({ name }) => name).filter((name) => !/skill/.test(name));
  const notices = ({ events }: TurnOutcome) => events.flatMap((event) => (event.type === 'notice' ? [event.message] : []));

  it.each([false, true])(
    'S70: a skill that is dropped into a running chat brings its tool when it is read, keeps it, and takes it along (wire: %s)',
    async (wire) => {
      await start({}, undefined, wire);
      await turn('hello');
      for (const [file, text] of Object.entries(skill('weather', `tool('forecast', ({ n }) => ({ sun: n }))`)))
        await pith.write(file, text);
      await clock.advance(260); // S22: a look at the disk holds for a quarter of a second
      const first = await turn('weather?', read('weather'), call('forecast', { n: 3 }));
      expect([0, 1, 2].map((step) => toolsIn(first, step))).toEqual([[], ['forecast'], ['forecast']]);
      expect(first.results.at(-1)).toMatchObject({ name: 'forecast', ok: true, output: { sun: 3 } });
      const next = await turn('and then?', call('forecast', { n: 4 }));
      expect(toolsIn(next, 0)).toEqual(['forecast']);
      expect(next.results[0]).toMatchObject({ ok: true, output: { sun: 4 } });

      await pith.write('skills/weather/toolsets/index.ts', `${HEAD}\nexport const list = [tool('forecast', () => 'rain')];`);
      expect((await turn('again?', call('forecast', {}))).results[0]).toMatchObject({ ok: true, output: 'rain' });

      await pith.remove('skills/weather');
      await clock.advance(260); // S22: a look at the disk holds for a quarter of a second
      const gone = await turn('once more?');
      expect(toolsIn(gone, 0)).toEqual([]);
      await until(() => pith.kernel.host.extensions.show('toolset:weather') === null); // that the skills changed is heard beside the turn
    },
  );

  it('S70: a tool whose skill goes while a turn offers it ends the call tool_gone', async () => {
    await start(skill('weather', `tool('forecast', () => 1)`));
    await turn('weather?', read('weather'));
    world.model.add(async () => {
      await rm(path.join(pith.sandbox, 'skills/weather'), { recursive: true });
      await clock.advance(260); // S22: a look at the disk holds for a quarter of a second
      await (await pith.kernel.host.providers.active(SkillProvider))[0]!.listSkills(); // as a poll would look
      await until(() => pith.kernel.host.extensions.show('toolset:weather') === null);
      return call('forecast', {});
    });
    const { results } = await turn('go');
    expect(results[0]).toMatchObject({ ok: false, error: { code: 'tool_gone' } });
  });

  it('S70: tools of bound and of named toolsets are there from the start, under names of their own where they clash', async () => {
    const long = 'x'.repeat(64);
    await start(
      {
        ...skill('wetter-ünö', `tool('roll', () => 'ünö')`),
        ...skill('dice', `tool('roll', () => 'dice'), tool('other', () => 1), tool('list_skills', () => 'mine')`),
        ...skill('named', `tool('${long}', () => 'long'), tool('not_named', () => 1)`),
        ...skill('unbound', `tool('never', () => 1)`),
      },
      `uses_tools: [skill_registry, "toolset:named/${long}"], uses_skills: [dice, wetter-ünö]`,
    );
    const { requests, results, events } = await turn('go', {
      calls: ['dice__roll', 'dice__list_skills', long].map((name) => ({ name, input: {} })),
    });
    const offered = requests[0]!.tools.map(({ name }) => name);
    expect(offered).toEqual(expect.arrayContaining(['list_skills', 'other', 'dice__roll', 'dice__list_skills', long]));
    expect(offered.filter((name) => /roll/.test(name))).toHaveLength(2);
    for (const name of offered) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(offered).not.toEqual(expect.arrayContaining(['never']));
    expect(offered).not.toEqual(expect.arrayContaining(['not_named']));
    expect(results.map((result) => result.ok && result.output).sort()).toEqual(['dice', 'long', 'mine']); // as they arrived
    expect(events.filter(({ type }) => type === 'notice')).toEqual([]);
  });

  it('S70: what is wrong with a toolset is a notice that names it, and the turn and other toolsets go on; one that is switched off is gone', async () => {
    const good = skill('good', `tool('fine', () => 1)`);
    const bad = { ...skill('bad', ''), 'skills/bad/toolsets/index.ts': 'export const other = 1;' };
    await start({ ...good, ...bad }, 'uses_tools: [skill_registry], uses_skills: [good, bad]');
    const outcome = await turn('go', call('fine', {}));
    expect(outcome.results[0]).toMatchObject({ ok: true });
    expect(notices(outcome).join()).toContain(
      "toolset 'toolsets/index:list' of the skill 'bad': it has no export 'list'; it exports other",
    );
    const { lines } = explanationOf(skillOf('gone', { toolsets: ['toolsets/lost:list'] }), null, 'skill_scripts')!;
    expect(lines.join('\n')).toMatch(/^toolsets: toolsets\/lost:list; .*\ntoolset 'toolsets\/lost:list': error: there is no such file;/);
    const settings = 'default_agent: reader\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0, disabled: [good, bad] }\n';
    await pith.write('pith.yaml', settings);
    await pith.kernel.host.extensions.refresh();
    await until(() => pith.kernel.host.extensions.show('toolset:good') === null);
  });
});
