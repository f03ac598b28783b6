import { captureCommand } from '@pith/command-line';
import type { TestKernel } from 'pith/testing';
import { expect } from 'vitest';

export interface ServerRow {
  readonly name: string;
  readonly state: string;
  readonly reason: string | null;
  readonly stderr: readonly string[];
  readonly tools: readonly string[];
}

/** The MCP servers of a kernel, as `pith mcp --json` says them. */
export async function serverRows({ kernel }: TestKernel, options: { readonly wait?: true } = {}): Promise<readonly ServerRow[]> {
  const commands = await kernel.host.providers.commands.of('mcp');
  return (await captureCommand({ getCommands: () => commands }, 'mcp', { options }, new AbortController().signal)).values[0] as never;
}

/** Waits until each server has answered or failed, and its tools are known: on a busy machine a start takes longer than Pith waits for it. */
export async function settled(test: TestKernel): Promise<void> {
  const state = async () => {
    const rows = await serverRows(test, { wait: true });
    const known = (await test.kernel.host.providers.tools.of('mcp')).map(({ name }) => name);
    const unknown = rows.flatMap(({ tools }) => tools).filter((name) => !known.includes(name));
    return [...rows.filter(({ state: each }) => each === 'connecting').map(({ name }) => name), ...unknown];
  };
  await expect.poll(state, { timeout: 30_000 }).toEqual([]);
}
