import { defineTool, type Tool, z } from 'pith';
import { printable, printableLine } from '@pith/plain-text';
import type { AgreedSkill, ServerSkills } from './server-skills.ts';

/** Some providers refuse a longer description. */
const LONGEST_DESCRIPTION = 1024;
const LONGEST_TEXT = 256 * 1024;

/** The tool by which agents read skills of servers; null where a person has agreed to none. */
export async function serverSkillTool(skills: ServerSkills): Promise<Tool | null> {
  const agreed = await skills.agreed();
  if (agreed.length === 0) return null;
  const about = 'Reads a skill that an MCP server publishes, or one of its files; without a uri lists them.';
  return defineTool({
    name: 'read_server_skill',
    description: [about, ...agreed.map(lineOf)].join('\n').slice(0, LONGEST_DESCRIPTION),
    input: z.object({
      server: z.string().default('').describe('The MCP server.'),
      uri: z.string().default('').describe('The address of the skill, such as skill://name/SKILL.md.'),
      path: z.string().optional().describe('One of its files, relative to the skill.'),
    }),
    effect: 'read',
    permission: { authoring: 'anyone', safeToShare: true },
    timeoutMs: 3_600_000, // that of the server's settings ends it earlier
    async execute({ server, uri, path }, { signal }) {
      if (uri === '') return (await skills.agreed()).map(lineOf).join('\n');
      const { uri: at, size, text } = await skills.read({ server, uri }, path, signal);
      const from = `From the MCP server '${server}', ${printableLine(at, 200)}:`;
      return text === null
        ? `${from} a binary file of ${size} bytes, which is not shown`
        : `${from}\n\n${printable(text.slice(0, LONGEST_TEXT))}`;
    },
  });
}

function lineOf({ server, uri, description }: AgreedSkill): string {
  return `• ${server}: ${printableLine(uri, 200)} — ${printableLine(description, 200)}`;
}
