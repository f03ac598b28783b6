import { type Command, type CommandInput, type CommandIO, PithError } from 'pith';
import { didYouMean, printableLine } from '@pith/plain-text';
import { untilAborted, within } from '@pith/promises';
import { hasKey } from './config.ts';
import { logIn } from './log-in.ts';
import { shownServer } from './project-servers.ts';
import type { Servers } from './servers.ts';

/** How long a person who looks at servers waits for those that start. */
const LOOK_MS = 5000;
/** How often a person who waits is told for what: first soon, then seldom. */
const SAY_MS = [1000, 10_000] as const;
const NAME = { name: 'name', description: 'The server, as mcp names it', required: true };

export function mcpCommands(servers: Servers): readonly Command[] {
  const list: Command = {
    path: 'mcp',
    description: 'List the MCP servers, their state and their tools',
    options: [{ name: 'wait', type: 'boolean', description: 'Wait until each has answered or failed' }],
    async run(input, io, signal) {
      const isWaiting = input.options['wait'] === true;
      if (isWaiting) await waitForServers(servers, io, signal);
      const connections = await servers.lookedAt(isWaiting ? 0 : LOOK_MS);
      const offers = servers.offers();
      const none = { reason: null, stderr: [], tools: [], leftOut: [] };
      const rows = [
        ...connections.map((each) => ({
          name: each.name,
          state: each.state as string,
          reason: each.reason ?? (each.state === 'connecting' ? 'it has not answered yet; to wait for it: pith mcp --wait' : null),
          stderr: each.stderrTail,
          tools: (offers.get(each.name)?.tools ?? []).map(({ name }) => name),
          leftOut: (offers.get(each.name)?.leftOut ?? []).map(({ message, cure }) => `${message}; ${cure}`),
        })),
        ...(await servers.untrusted()).map(({ name }) => ({
          ...none,
          name,
          state: 'untrusted',
          reason: `from .mcp.json; to look at it and agree: pith mcp trust ${name}`,
        })),
        ...servers.off.map((name) => ({ ...none, name, state: 'disabled' })),
      ];
      const { unusable } = servers;
      io.json(rows);
      if (rows.length + unusable.size === 0) io.print('No MCP servers: name them under extensions.mcp.servers in pith.yaml');
      for (const { name, state, reason, stderr, tools, leftOut } of rows) {
        io.print(`${name}: ${state}${reason === null ? '' : ` (${reason})`}${tools.map((tool) => `\n  ${tool}`).join('')}`);
        for (const line of leftOut) io.print(`  not offered: ${line}`);
        if (state !== 'connected') for (const line of stderr) if (reason?.endsWith(line) !== true) io.print(`  | ${line}`);
      }
      for (const [name, why] of unusable) io.print(`${name}: not used (${why})`);
      return rows.some(({ state }) => state === 'failed') ? 1 : 0;
    },
  };
  return [
    list,
    {
      path: 'mcp trust',
      description: "Show an MCP server of the project's .mcp.json, and agree to it as it is",
      arguments: [NAME],
      options: [{ name: 'yes', type: 'boolean', description: 'Do not ask; answer yes' }],
      needsTrust: true,
      async run(input, io) {
        const server = foundIn(servers, input);
        const { name, config } = server;
        io.print(`The MCP server '${name}' of .mcp.json ${shownServer(config).join('\n')}`);
        if ('command' in config) io.print('It is not sandboxed: it sees and changes what you can see and change.');
        const answer = input.options['yes'] === true ? 'yes' : await io.ask('Use this server?', { choices: ['yes', 'no'] });
        if (answer === null && !io.interactive)
          throw new PithError('usage', `nobody is there to agree to '${name}'`, { cure: 'read the lines above, then add --yes' });
        if (answer === 'yes') await servers.agree(name, server);
        io.json({ ok: answer === 'yes', name });
        if (answer === 'yes' && !io.quiet) io.print(`Agreed to '${name}'. To take it back: pith mcp untrust ${name}`);
        return answer === 'yes' ? 0 : 1;
      },
    },
    {
      path: 'mcp untrust',
      description: "Stop using an MCP server of the project's .mcp.json",
      arguments: [NAME],
      async run(input, io) {
        const { name } = foundIn(servers, input);
        await servers.agree(name, null);
        io.json({ ok: true, name });
        if (!io.quiet) io.print(`'${name}' is no longer used`);
        return 0;
      },
    },
    {
      path: 'mcp login',
      description: 'Log in to an MCP server that is reached by HTTP, in your browser',
      arguments: [NAME],
      needsTrust: true,
      async run(input, io, signal) {
        const { name, config } = await remote(servers, input);
        if (hasKey(config))
          throw new PithError('usage', `'${name}' has an Authorization in its headers, which is used in place of a login`, {
            cure: 'correct that, or take it out of headers and log in',
          });
        if (!io.interactive)
          throw new PithError('usage', `nobody is there to log in to '${name}'`, {
            cure: `run in a terminal: pith mcp login ${name}`,
          });
        const show = (address: string) =>
          io.print(
            `To log in to '${name}', open this address in a browser on this machine:\n\n  ${address}\n\nWaiting for you; Ctrl-C ends it`,
          );
        servers.logins.keep(await logIn(config, { clock: servers.clock, show }, signal));
        servers.again(name);
        io.json({ ok: true, name });
        if (!io.quiet) io.print(`Logged in to '${name}'. To take it back: pith mcp logout ${name}`);
        return 0;
      },
    },
    {
      path: 'mcp logout',
      description: 'Forget the login to an MCP server',
      arguments: [NAME],
      async run(input, io) {
        const { name, config } = await remote(servers, input);
        const ok = servers.logins.forget(config.url);
        if (ok) servers.again(name);
        io.json({ ok, name });
        if (!io.quiet)
          io.print(ok ? `The login to '${name}' is forgotten here; its server may still count it` : `There is no login to '${name}'`);
        return ok ? 0 : 1;
      },
    },
  ];
}

/** Says meanwhile for which, to a person. */
async function waitForServers(servers: Servers, io: CommandIO, signal: AbortSignal): Promise<void> {
  const { clock } = servers;
  const begun = clock.now();
  const settled = servers.settled().then(() => true);
  for (let pause: number = SAY_MS[0]; (await within(clock, pause, untilAborted(settled, signal))) !== true; pause = SAY_MS[1])
    if (io.interactive && !io.quiet) io.print(`Waiting for ${servers.awaited.join(', ')} … ${Math.round((clock.now() - begun) / 1000)} s`);
}

async function remote(servers: Servers, { arguments: given }: CommandInput) {
  const name = String(given['name']);
  const config = await servers.configOf(name);
  if (config !== null && 'url' in config) return { name, config };
  const names = await servers.names();
  const what =
    config === null
      ? `there is no MCP server '${printableLine(name, 60)}' that may be used`
      : `'${name}' is started here and takes no login`;
  throw new PithError('usage', `${what}${config === null ? didYouMean(name, names) : ''}`, {
    cure: config === null ? 'see: pith mcp' : 'give it its key in env',
  });
}

function foundIn(servers: Servers, { arguments: given }: CommandInput) {
  const name = String(given['name']);
  const found = servers.ofProject().servers;
  const server = found.find((each) => each.name === name);
  if (server !== undefined) return server;
  const names = found.map((each) => each.name);
  throw new PithError('usage', `.mcp.json of this project does not name a server '${printableLine(name, 60)}'${didYouMean(name, names)}`, {
    cure: names.length === 0 ? 'servers of pith.yaml need no agreement' : `it names: ${names.join(', ')}`,
  });
}
