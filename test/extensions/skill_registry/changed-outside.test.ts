import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { agent, call, settings, skill, skillKernel } from './skill-kernel.ts';

/** An extension with a tool that writes where nothing confines it, and says so, as the shell does. */
const rogue = {
  'extensions/rogue/manifest.yaml':
    'id: rogue\nversion: 1.0.0\nentrypoint: main.ts\nisolation: in_process\nprovides: [tool]\ndepends_on: [skill_registry]\n',
  'extensions/rogue/main.ts': `import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { defineTool, Places, z } from 'pith';
import { SkillDrafts } from 'pith/skill_registry';
export default class Rogue {
  constructor(context) { this.context = context; }
  getTools() {
    return [defineTool({ name: 'rogue', description: 'x', input: z.object({ file: z.string(), text: z.string(), beside: z.boolean().default(false) }),
      execute: async ({ file, text, beside }, { turn }) => {
        const drafts = this.context.find(SkillDrafts)[0];
        const first = drafts.unconfined("the command 'make'", turn);
        const second = beside ? drafts.unconfined('another command', turn) : first;
        await first;
        const place = path.join(this.context.use(Places).sandbox, file);
        mkdirSync(path.dirname(place), { recursive: true });
        writeFileSync(place, text);
        await second;
        return 'done';
      } })];
  }
}`,
};

async function world(more: Readonly<Record<string, string>> = {}) {
  const kernel = await skillKernel(
    {
      ...agent('worker', 'uses_tools: [rogue]'),
      ...settings('', 'extensions: { rogue: { isolation: in_process } }\n'),
      ...skill('letters', { body: 'AS-RECORDED\n' }),
      'skills/letters/references/a.md': 'one',
      ...rogue,
      ...more,
    },
    { only: ['skill_registry', 'skill_search'] },
  );
  const notices: string[] = [];
  kernel.pith.kernel.events.handle('notify', ({ text }) => void notices.push(text));
  const run = async (file: string, text: string, beside = false) => {
    const before = notices.length;
    await kernel.turn('worker', 'build it', call('rogue', { file, text, beside }));
    await expect.poll(() => notices.length).toBeGreaterThan(before);
  };
  const body = () => kernel.resultOf('read_skill', { skill_id: 'letters' });
  return { ...kernel, run, body, notices, at: (file: string) => path.join(kernel.pith.sandbox, file) };
}

const HOSTILE = '---\nname: letters\ndescription: Knows all about letters.\n---\nHOSTILE\n';

describe('P20: what a program changes that nothing confines', () => {
  it('P20: the recorded version is used until a person accepts the change, also after a restart', async () => {
    const kernel = await world();
    expect(await kernel.body()).toContain('AS-RECORDED');
    await kernel.run('skills/letters/SKILL.md', HOSTILE);
    expect(kernel.notices.at(-1)).toContain(
      "'letters' changed while the command 'make' ran, which nothing confines: the version before is used",
    );
    await kernel.chat('a new conversation', [], 'other');
    expect(await kernel.body()).not.toContain('HOSTILE');
    expect(await kernel.print('skills list --all')).toContain('changed outside');
    await kernel.pith.restart();
    expect(await kernel.body()).not.toContain('HOSTILE');
    const { digest, accepted } = (await kernel.pith.command('skills accept letters', { json: true })).values[0] as Record<string, string>;
    expect(accepted).toBe(false);
    expect(await kernel.print('skills accept letters')).toContain('+HOSTILE');
    await kernel.print(`skills accept letters --digest ${digest}`);
    expect(await kernel.body()).toContain('HOSTILE');
  });

  it('P20: a resource counts as the text does, a rollback takes the change back', async () => {
    const kernel = await world();
    await kernel.body();
    await kernel.run('skills/letters/references/a.md', 'HOSTILE');
    expect(await kernel.resultOf('read_skill_resource', { skill_id: 'letters', path: 'references/a.md' })).toContain('one');
    const [, undo = ''] = /to take it back: pith (skills rollback letters [0-9a-f]{12})/u.exec(kernel.notices.at(-1)!) ?? [];
    await kernel.print(`${undo} --yes`);
    expect(await readFile(kernel.at('skills/letters/references/a.md'), 'utf8')).toBe('one');
    expect(await kernel.print('skills list --all')).not.toContain('changed outside');
  });

  it('P20: the recorded version is used in the very turn that changed it, too', async () => {
    const kernel = await world(agent('worker', 'uses_tools: [rogue, skill_registry]'));
    expect(await kernel.body()).toContain('AS-RECORDED');
    const write = call('rogue', { file: 'skills/letters/SKILL.md', text: HOSTILE });
    const read = (name: string, input: object = {}) => call(name, { skill_id: 'letters', ...input });
    const spoil = call('rogue', { file: 'skills/letters/references/a.md', text: 'HOSTILE' });
    const { results } = await kernel.turn(
      'worker',
      'build',
      write,
      spoil,
      read('read_skill'),
      read('read_skill_resource', { path: 'references/a.md' }),
    );
    expect(JSON.stringify(results.at(-2))).toContain('AS-RECORDED');
    expect(JSON.stringify(results.at(-1))).toContain('one');
    expect(JSON.stringify(results.slice(-2))).not.toContain('HOSTILE');
  });

  it('P20: a skill that comes this way is offered to nobody', async () => {
    const kernel = await world();
    await kernel.turn(
      'worker',
      'build it',
      call('rogue', { file: 'skills/planted/SKILL.md', text: HOSTILE.replace('letters', 'planted') }),
    );
    expect((await kernel.chat('hello')).requests[0]!.system).not.toContain('planted');
    expect(existsSync(kernel.at('skills/planted/SKILL.md'))).toBe(true);
  });

  it('P20: nor while the turn still goes on in which it came', async () => {
    const kernel = await world();
    const plant = call('rogue', { file: 'skills/planted/SKILL.md', text: HOSTILE.replace('letters', 'planted') });
    const change = call('rogue', { file: 'skills/letters/SKILL.md', text: HOSTILE.replace('Knows', 'CHANGED') });
    let meanwhile = '';
    await kernel.turn('worker', 'build it', plant, change, async () => {
      await kernel.print('skills list --all'); // it looks at the folders
      meanwhile = (await kernel.chat('hello')).requests.at(-1)!.system;
      return plant;
    });
    expect(meanwhile).toContain('`letters` — Knows');
    expect(meanwhile).not.toMatch(/planted|CHANGED/u);
  });

  it('P20: of two programs that begin at once, neither changes a skill before it is known as it was', async () => {
    const kernel = await world(Object.assign({}, ...Array.from({ length: 20 }, (_, at) => skill(`a-${at}`))));
    await kernel.run('skills/letters/SKILL.md', HOSTILE, true);
    expect(await kernel.body()).toContain('AS-RECORDED');
  });

  it('P20: of many skills without a history a change is seen too, and nothing of it is used', async () => {
    const kernel = await world(Object.assign({}, ...Array.from({ length: 60 }, (_, at) => skill(`a-${at}`))));
    await kernel.run('skills/letters/SKILL.md', HOSTILE);
    expect(kernel.notices.filter((text) => text.includes('nothing confines'))).toEqual([
      expect.stringContaining("'letters' came or changed while the command 'make' ran, which nothing confines: nothing offers it until"),
    ]);
    expect(await kernel.body()).not.toContain('HOSTILE');
    expect(readdirSync(kernel.at('data/extensions/skill_registry/history')).length).toBeLessThan(60);
  });

  it("P20: a person's own edit between turns is used at the next", async () => {
    const kernel = await world();
    await kernel.body();
    await kernel.pith.write('skills/letters/SKILL.md', HOSTILE.replace('HOSTILE', 'BY-HAND'));
    expect(await kernel.body()).toContain('BY-HAND');
  });
});
