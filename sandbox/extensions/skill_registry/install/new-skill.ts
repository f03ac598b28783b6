import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PithError, type CommandContext, type CommandIO } from 'pith';
import { parseSkillFile } from '../format/skill-file.ts';
import { exists } from './commit.ts';
import { isInstallableId } from './entry.ts';
import { changeAlone, type Operation } from './operation.ts';
import { templateOf } from './skill-template.ts';
import { targetOf } from './target.ts';

/** Writes a skill to begin with. The id is held to the specification before anything is touched. */
export async function newSkill(
  { id, description, source }: { readonly id: string; readonly description: string | undefined; readonly source: string },
  context: CommandContext,
  io: CommandIO,
  signal: AbortSignal,
): Promise<number> {
  const target = targetOf(context, source, io);
  const text = templateOf(id, description);
  const file = path.join(target.skills, 'placeholder', 'SKILL.md'); // the id is not joined to a path before it is known to be one
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
  const make = async (operation: Operation): Promise<number> => {
    const staged = path.join(operation.directory, id);
    await mkdir(staged);
    await writeFile(path.join(staged, 'SKILL.md'), text, { flag: 'wx' });
    const place = path.join(operation.skills, id);
    if (await exists(place))
      throw new PithError('skill_exists', `${target.label} has '${id}' already`, { where: place, cure: 'choose another id' });
    await rename(staged, place);
    const folder = path.join(target.skills, id);
    io.json({ ok: true, id, folder, files: ['SKILL.md'], source: target.source });
    io.print(`Made ${path.join(folder, 'SKILL.md')}`);
    if (!io.quiet) for (const line of nextSteps(id)) io.print(line);
    return 0;
  };
  return changeAlone(target, context.clock, make, signal);
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
