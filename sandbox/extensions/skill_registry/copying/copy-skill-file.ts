import { defineTool, z, type Tool, type ToolCall, type ToolResult } from 'pith';
import { printableLine } from '@pith/plain-text';
import type { SkillToolPorts } from '../modes/skill-tool.ts';
import { componentsOf, resourceBytes } from '../reading/resource.ts';
import { noResource } from '../reading/read-resource.ts';
import { presentsCopy } from '../reading/result-lines.ts';
import { skillError, skillResult } from '../reading/results.ts';
import { lateInput } from '../late-input.ts';
import type { Skill } from '../skill.ts';
import type { WorkingDirectory, Written } from './working-directory.ts';

export interface CopyPorts extends SkillToolPorts {
  readonly working: WorkingDirectory;
}

const MOST_BYTES = 16 * 1024 * 1024;

/** Copies a file of a skill to where the agent may change it. The skill itself is never changed. */
export function copySkillFile(ports: CopyPorts): Tool {
  return defineTool({
    name: 'copy_skill_file',
    description:
      'Copies one file of a skill, such as templates/report.md, into the working directory, where it can be changed. Never replaces a file.',
    input: lateInput(
      () =>
        z.object({
          skill_id: z.string(),
          path: z.string().describe("Relative to the skill's folder."),
          to: z.string().describe('The new file, relative to the sandbox, as the tool `file` names it: "drafts/report.md".'),
        }),
      () => null,
    ),
    effect: 'write',
    optIn: true,
    present: presentsCopy('copy_skill_file'),
    execute: ({ skill_id, path, to }, call) => ports.withSkill(skill_id, call, (skill) => copy(ports, skill, { path, to }, call)),
  });
}

interface Asked {
  readonly path: string;
  readonly to: string;
}

async function copy(ports: CopyPorts, skill: Skill, { path, to }: Asked, { turn, signal }: ToolCall): Promise<ToolResult> {
  const target = componentsOf(to);
  if (target === null || printableLine(to) !== to) return refusal('refused', to);
  const resource = await resourceBytes(skill.realDirectory, path, MOST_BYTES);
  if (resource.kind === 'unsupported' || resource.kind === 'refused') return noResource(skill, resource.kind);
  if (resource.kind === 'too_large')
    return skillError(
      'resource_too_large',
      `'${printableLine(resource.path)}' has ${resource.size} bytes; at most ${MOST_BYTES} are copied.`,
    );
  signal.throwIfAborted();
  const written = await ports.working.add(target, resource.bytes);
  if (written !== 'written') return refusal(written, to);
  ports.ledger.record(turn, { skillId: skill.id, state: 'resource_read', path: resource.path });
  const [from, where] = [printableLine(resource.path), target.join('/')];
  return skillResult(
    `Copied ${from} of ${printableLine(skill.id)} to ${where} (${resource.bytes.length} bytes). It may be changed there.`,
    skill,
    {
      title: `Resource ${from} of ${skill.id} copied to ${where}`,
      path: resource.path,
      to: where,
    },
  );
}

const REFUSALS: Readonly<Record<Exclude<Written, 'written'>, readonly [code: string, why: string]>> = {
  exists: ['file_exists', 'is there already, and nothing is ever replaced; choose another name'],
  protected: [
    'protected',
    'would be part of skills, extensions, agents, state or settings, which are not changed this way; choose another place',
  ],
  refused: ['file_unavailable', 'is no usable path in the sandbox (links, special files and outside paths are never used)'],
};

function refusal(written: Exclude<Written, 'written'>, to: string): ToolResult {
  const [code, why] = REFUSALS[written];
  return skillError(code, `'${printableLine(to.slice(0, 200))}' ${why}.`);
}
