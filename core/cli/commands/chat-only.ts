import { type CommandInput, type CommandIO, messageOf } from '../../contract/index.ts';
import { findingLine, printableLine } from '@pith/plain-text';
import type { Kernel } from '../../compose/index.ts';
import { colours, printTable } from './text.ts';

/** With a reference: completes it, and throws `model_unknown` or `model_auth` when that model is not available. */
export async function showModel(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const reference = input.arguments['ref'];
  const problem = reference === undefined && input.options['check'] === true ? await kernel.router.problem() : null;
  if (problem !== null) throw problem;
  const { ref, why, unused }: Awaited<ReturnType<Kernel['router']['choose']>> = await (typeof reference === 'string'
    ? kernel.router.resolve(input.options['check'] === true ? await kernel.router.meant(reference) : reference)
    : kernel.router.choose());
  io.json({ ref, why, ...(unused !== undefined && { unused }) });
  io.print(why === 'named' ? ref : `${ref} (${why})`);
}

/** The models of all connected servers, and which servers do not answer. */
export async function listModels(kernel: Kernel, { options }: CommandInput, io: CommandIO): Promise<void> {
  const servers = await kernel.router.servers(options['refresh'] === true);
  const rows = servers.flatMap(({ prefix, models }) => models.map((name) => ({ id: `${prefix}/${name}`, server: prefix })));
  const silent = servers.flatMap(({ prefix, problem }) =>
    problem === null ? [] : [{ server: prefix, problem: printableLine(messageOf(problem)) }],
  );
  io.json([...rows, ...silent]);
  for (const { server, problem } of silent) io.error(`${server}: ${problem}`);
  for (const { id } of rows) io.print(printableLine(id));
  if (rows.length === 0) io.print('No connected server lists a model: connect one with /setup');
}

/** Prints names and places only: values may be private. */
export async function showSettings(kernel: Kernel, _input: CommandInput, io: CommandIO): Promise<number> {
  const { default_agent, origins } = kernel.settings;
  const findings = kernel.findings().filter(({ severity }) => severity !== 'info');
  const keys = Object.keys(origins).sort();
  const set = keys.filter((key) => !keys.some((other) => other.startsWith(`${key}.`))).map((key) => ({ key, where: origins[key] ?? '' }));
  io.json({ default_agent, set, findings: findings.map((finding) => ({ ...finding, line: finding.line ?? null })) as never });
  printTable(
    io,
    set,
    [
      { title: 'SETTING', value: ({ key }) => key },
      { title: 'SET IN', value: ({ where }) => where },
    ],
    'No settings: all have their defaults',
  );
  const colour = colours(io);
  for (const finding of findings)
    io.print(`${finding.severity === 'error' ? colour.red('error:') : colour.yellow('warning:')} ${findingLine(finding)}`);
  return findings.some(({ severity }) => severity === 'error') ? 1 : 0;
}

/** Exit code 1 where nothing can restart the kernel; then prints how a person can. */
export async function restartKernel(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<number> {
  const given = input.arguments['reason'];
  const reason = (typeof given === 'string' ? given : (given ?? []).join(' ')) || 'requested';
  if (kernel.restarts.ask(reason)) {
    io.json({ ok: true, restarting: true });
    io.print('The kernel restarts when the running turns have ended');
    return 0;
  }
  const thread = io.session?.threadId;
  const how = `leave this conversation, then continue it with: pith chat${thread === undefined ? '' : ` --thread ${thread}`} --resume`;
  io.json({ ok: false, restarting: false, how });
  io.print(`A restart needs \`pith serve\`; here: ${how}`);
  return 1;
}
