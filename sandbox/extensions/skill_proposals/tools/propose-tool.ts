import { defineTool, z } from 'pith';
import type { ProposePorts } from './propose.ts';

const LONGEST_TEXT = 4000;

const input = z.object({
  skill_id: z.string().min(1).max(200).describe('The id of a skill that you can read.'),
  diff: z
    .string()
    .min(1)
    .describe("A unified diff over its files ('--- a/SKILL.md', '+++ b/SKILL.md', @@ hunks; /dev/null makes or removes a file)."),
  justification: z
    .string()
    .trim()
    .min(1)
    .max(LONGEST_TEXT)
    .describe('Why, in a sentence or two: what goes wrong now, and what is better then.'),
  evidence: z.string().trim().max(LONGEST_TEXT).default('').describe('What you saw: messages, results, places. No secrets.'),
});

/** How an agent changes a skill that exists: a person decides. */
export function proposeTool(ports: () => Promise<ProposePorts>) {
  return defineTool({
    name: 'propose_skill_update',
    description:
      'Propose a change to an existing skill, when its text was wrong, incomplete or unclear for the work. Nothing changes until a person agrees. ' +
      'Small and general: what is true for everybody, not what happened once.',
    input,
    effect: 'idempotent',
    permission: { authoring: 'admin', safeToShare: false },
    needsApproval: false,
    timeoutMs: 120_000,
    async execute(given, { turn, signal }) {
      const { propose } = await import('./propose.ts');
      return propose(await ports(), given, turn, signal);
    },
    present: (result) => (result.ok ? (result.title ?? 'Proposed') : `Error: ${result.error.message}`),
  });
}
