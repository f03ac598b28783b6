import type { CommandInput, CommandIO } from '../../contract/protocols/command-provider.ts';
import type { Kernel } from '../../kernel-surface.ts';
import { colours, findingLine, printTable } from './text.ts';

/** Names and places only: what a setting says is nobody's business who looks over a shoulder. */
export async function showSettings(kernel: Kernel, _input: CommandInput, io: CommandIO): Promise<void> {
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
    'No settings: everything is as it comes',
  );
  const colour = colours(io);
  for (const finding of findings)
    io.print(`${finding.severity === 'error' ? colour.red('error:') : colour.yellow('warning:')} ${findingLine(finding)}`);
}
