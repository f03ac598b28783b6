import { type Command, messageOf, PithError } from 'pith';
import { printableLine, sizeText } from '@pith/plain-text';
import type { PublishedSkill, ServerSkills } from './server-skills.ts';
import type { Servers } from './servers.ts';

/** How long a person who looks waits for servers that start. */
const LOOK_MS = 5000;
const SERVER = { name: 'server', description: 'The server, as mcp names it', required: true };
const URI = { name: 'uri', description: 'The address of the skill, as mcp skills shows it', required: true };

/** Commands about the skills that servers publish. */
export function skillCommands(servers: Servers, skills: ServerSkills): readonly Command[] {
  return [
    {
      path: 'mcp skills',
      description: 'List the skills that MCP servers publish, and whether agents use them',
      async run(_input, io, signal) {
        const rows: PublishedSkill[] = [];
        const failed: string[] = [];
        for (const connection of await servers.lookedAt(LOOK_MS)) {
          try {
            rows.push(...((await skills.published(connection, signal)) ?? []));
          } catch (error) {
            failed.push(`${connection.name}: its skills cannot be listed: ${printableLine(messageOf(error), 400)}`);
          }
        }
        io.json(
          rows.map(({ server, trust, skill: { uri, frontmatter } }) => ({
            server,
            uri,
            trust,
            name: frontmatter.name,
            description: frontmatter.description,
          })),
        );
        if (rows.length + failed.length === 0) io.print('No connected MCP server publishes skills; see: pith mcp');
        for (const row of rows)
          io.print(
            `${row.server}: ${printableLine(row.skill.uri, 200)}  ${wordsOf(row)}  ${printableLine(row.skill.frontmatter.description, 200)}`,
          );
        for (const line of failed) io.error(line);
        return failed.length === 0 ? 0 : 1;
      },
    },
    {
      path: 'mcp skills trust',
      description: 'Show a skill of an MCP server with its files, and agree to it as it is',
      arguments: [SERVER, URI],
      options: [{ name: 'yes', type: 'boolean', description: 'Do not ask; answer yes' }],
      needsTrust: true,
      async run({ arguments: { server, uri }, options }, io, signal) {
        await servers.lookedAt(LOOK_MS);
        const found = await skills.entry(String(server), String(uri), signal);
        const { resources, frontmatter } = found.skill;
        if (resources === 'dynamic')
          throw new PithError('skill_not_offered', `the MCP server '${found.server}' does not say what the files of this skill are`, {
            cure: 'only a skill whose files it lists, each with its digest, can be used',
          });
        io.print(
          `The MCP server '${found.server}' publishes the skill '${printableLine(frontmatter.name)}': ${printableLine(frontmatter.description, 1000)}`,
        );
        for (const file of resources)
          io.print(`  ${printableLine(file.uri, 200)}  ${sizeText(file.size)}  ${printableLine(file.digest, 71)}`);
        io.print('Agents that use MCP tools may read it. Nothing of it runs, and its allowed-tools, hooks and toolsets do not count.');
        const answer = options['yes'] === true ? 'yes' : await io.ask('Use this skill?', { choices: ['yes', 'no'] });
        if (answer === null && !io.interactive)
          throw new PithError('usage', 'nobody is there to agree to this skill', { cure: 'read the lines above, then add --yes' });
        if (answer === 'yes') await servers.agreeToSkill(found);
        io.json({ ok: answer === 'yes', server: found.server, uri: found.skill.uri });
        if (answer === 'yes' && !io.quiet)
          io.print(
            `Agreed. It is asked again when one of these files changes. To take it back: pith mcp skills untrust ${found.server} ${printableLine(found.skill.uri, 200)}`,
          );
        return answer === 'yes' ? 0 : 1;
      },
    },
    {
      path: 'mcp skills untrust',
      description: 'Stop using a skill of an MCP server',
      arguments: [SERVER, URI],
      async run({ arguments: { server, uri } }, io) {
        const ok = await servers.forgetSkill(String(server), String(uri));
        io.json({ ok });
        if (!io.quiet) io.print(ok ? 'It is no longer used' : 'Nobody had agreed to it');
        return ok ? 0 : 1;
      },
    },
  ];
}

function wordsOf({ trust, server, skill }: PublishedSkill): string {
  if (trust === 'trusted') return 'trusted';
  if (trust === 'unverifiable') return 'not usable: its server does not list its files';
  return `${trust}: to look at it and agree: pith mcp skills trust ${server} ${printableLine(skill.uri, 200)}`;
}
