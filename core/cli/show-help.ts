import pc from 'picocolors';
import { matchCommand } from '../contract/command-line.ts';
import type { CommandIO } from '../contract/protocols/command-provider.ts';
import type { Kernel } from '../kernel-surface.ts';
import { commandHelp, groupHelp, overview, type Entry } from './help.ts';
import { commandsBelow, LINE_COMMANDS, loadCommands, resolveCommand } from './resolve-command.ts';
import { describeError, EXIT } from './report.ts';
import { writeError, type Stdio } from './terminal-io.ts';

/** Prints help for `words`, or for all. Under --json the definitions themselves. */
export async function showHelp(words: readonly string[], kernel: () => Promise<Kernel>, io: CommandIO, stdio: Stdio): Promise<number> {
  const style = pc.createColors(io.colour);
  const source = async () => (await kernel()).extensions;
  const named = words.filter((word) => !word.startsWith('-'));
  if (named.length === 0) {
    const found = await source()
      .then((extensions) => extensions.commands())
      .catch((error: unknown) => {
        writeError(stdio, describeError(error)); // help must help where the sandbox is broken
        return [];
      });
    return show(io, overview([...LINE_COMMANDS, ...found], style), [...LINE_COMMANDS, ...found]);
  }
  const group = commandsBelow(named, LINE_COMMANDS);
  if (group.length > 0) {
    const all = [...group, ...commandsBelow(named, (await source()).commands())];
    return show(io, groupHelp(named.join(' '), all, style), all);
  }
  const resolved = await resolveCommand(named, source);
  if (resolved.kind === 'core') return show(io, commandHelp(resolved.command, style), [resolved.command]);
  const extensions = await source();
  const loaded = await loadCommands(extensions, resolved.command);
  const exact = matchCommand(loaded, named);
  if (exact) return show(io, commandHelp(exact.command, style), [exact.command]);
  const above = resolved.command.path.split(' ');
  const own = commandsBelow(above, loaded);
  const elsewhere = commandsBelow(above, extensions.commands()).filter(({ path }) => !own.some((each) => each.path === path));
  const below = [...own, ...elsewhere];
  return show(io, groupHelp(resolved.command.path, below, style), below);
}

function show(io: CommandIO, text: string, commands: readonly Entry[]): number {
  io.print(text);
  io.json(
    commands.map(({ path, description, arguments: args, options }) => ({
      path,
      description,
      arguments: (args ?? []).map((each) => ({ ...each })),
      options: (options ?? []).map((each) => ({ ...each })),
    })),
  );
  return EXIT.done;
}
