import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PithError, type CommandIO } from 'pith';
import { parseSkillFile, templateOf } from '@pith/skill-files';
import type { InstallContext } from '../install-context.ts';
import { isInstallableId } from './skill-id.ts';
import { digestOf, placeOf, type Staging, withStaging } from './places.ts';

/** Writes a skill to begin with. The id is held to the specification before anything is touched. */
export async function newSkill(
  { id, description, source }: { readonly id: string; readonly description: string | undefined; readonly source: string },
  context: InstallContext,
  io: CommandIO,
  signal: AbortSignal,
): Promise<number> {
  const target = await placeOf(context, source, io);
  const text = templateOf(id, description);
  const file = path.join(target.skills, 'SKILL.md'); // the id becomes part of a path only once it is checked
  const { valid, diagnostics } = await parseSkillFile(text, { id, file, mode: 'lint' });
  const problem = diagnostics.find(({ severity }) => severity === 'error');
  if (!valid || !isInstallableId(id) || id !== id.normalize('NFKC'))
    throw new PithError(
      'usage',
      `cannot make a skill ${JSON.stringify(id)}: it ${problem?.message ?? "has a name that cannot be a folder's"}`,
      {
        cure:
          problem?.code.startsWith('name') || problem === undefined
            ? 'use lower-case letters, digits and single hyphens, at most 64'
            : (problem.cure ?? 'correct it'),
      },
    );
  const make = async (staging: Staging): Promise<number> => {
    await mkdir(path.join(staging.directory, id));
    await writeFile(path.join(staging.directory, id, 'SKILL.md'), text, { flag: 'wx' });
    const folder = path.join(target.skills, id);
    if ((await digestOf(folder)) !== null)
      throw new PithError('skill_exists', `${target.label} has '${id}' already`, { where: folder, cure: 'choose another id' });
    await staging.change([{ folder: id, id: '', from: id, entry: null, expects: null }], { how: 'new', by: 'person' });
    io.json({ ok: true, id, folder, files: ['SKILL.md'], source: target.source });
    io.print(`Made ${path.join(folder, 'SKILL.md')}`);
    if (!io.quiet) for (const line of nextSteps(id)) io.print(line);
    return 0;
  };
  return withStaging(context, target, make, signal);
}

function nextSteps(id: string): readonly string[] {
  return [
    'Next:',
    '  1. Say in its description what it does and when to use it, then write the instructions.',
    `  2. pith skills lint ${id}`,
    `  3. pith skills explain ${id} --text "what somebody would ask"`,
    'It is offered from the next message on; nothing has to be restarted.',
  ];
}
