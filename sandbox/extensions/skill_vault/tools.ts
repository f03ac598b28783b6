import { defineTool, toolError, z, type Remote, type Tool, type ToolCall } from 'pith';
import { printableLine } from '@pith/plain-text';
import type { SavedSkills } from 'pith/saved_skills';
import type { Kind, Vault } from './vault.ts';

const MOST_BYTES = 1024 * 1024;

const name = () =>
  z
    .string()
    .min(1)
    .max(200)
    .refine((text) => printableLine(text) === text, 'must be printable');

/** What a skill keeps is its own: any author may have it do so. */
const OF_SKILLS = { authoring: 'anyone', safeToShare: true } as const;

/** Tools for what runs of a saved skill keep for the next one. A skill reaches only its own data. */
export function vaultTools(vault: Vault, skills: () => Remote<SavedSkills>): readonly Tool[] {
  /** Runs `act` for the skill of the call's run. */
  const ofSkill = async (call: ToolCall, act: (skill: { readonly skillId: string; readonly isOn: boolean }) => Promise<unknown>) => {
    const found = await skills().skillOfThread(call.turn.threadId);
    if (found === null) return toolError('no_run', 'only runs of saved skills keep data');
    return act({ skillId: found.skillId, isOn: found.encrypts });
  };
  const reading = (kind: Kind, tool: string, description: string) =>
    defineTool({
      name: tool,
      description,
      input: z.object({ name: name() }),
      effect: 'read',
      permission: OF_SKILLS,
      execute: (input, call) =>
        ofSkill(call, async ({ skillId }) => {
          const found = await vault.read(skillId, kind, input.name);
          return found === null ? toolError('not_found', `there is no ${kind} '${input.name}'`) : Buffer.from(found).toString('utf8');
        }),
    });
  const writing = (kind: Kind, tool: string, description: string) =>
    defineTool({
      name: tool,
      description,
      input: z.object({ name: name(), content: z.string().max(MOST_BYTES) }),
      effect: 'idempotent',
      permission: OF_SKILLS,
      execute: (input, call) =>
        ofSkill(call, async (skill) => {
          await vault.write(skill, kind, input.name, Buffer.from(input.content));
          return { ok: true };
        }),
    });
  const listing = (kind: Kind, tool: string, description: string) =>
    defineTool({
      name: tool,
      description,
      input: z.object({}),
      effect: 'read',
      permission: OF_SKILLS,
      execute: (_input, call) => ofSkill(call, async ({ skillId }) => ({ names: await vault.names(skillId, kind) })),
    });
  const removing = (kind: Kind, tool: string, description: string) =>
    defineTool({
      name: tool,
      description,
      input: z.object({ name: name() }),
      effect: 'idempotent',
      permission: OF_SKILLS,
      execute: (input, call) => ofSkill(call, async ({ skillId }) => ({ removed: await vault.remove(skillId, kind, input.name) })),
    });
  return [
    reading('value', 'skill_data_get', 'Reads a value that an earlier run of this saved skill kept.'),
    writing('value', 'skill_data_set', 'Keeps a value for later runs of this saved skill.'),
    listing('value', 'skill_data_list', 'Lists the names of kept values.'),
    removing('value', 'skill_data_delete', 'Deletes a kept value.'),
    reading('file', 'skill_file_read', 'Reads a text file that an earlier run of this saved skill kept.'),
    writing('file', 'skill_file_write', 'Keeps a text file for later runs of this saved skill.'),
    listing('file', 'skill_file_list', 'Lists the names of kept files.'),
    removing('file', 'skill_file_delete', 'Deletes a kept file.'),
  ];
}
