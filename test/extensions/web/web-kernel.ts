import type { JsonValue, ToolResult, TurnInfo } from 'pith';
import type { TestKernel, TestKernelOptions } from 'pith/testing';
import { TURN } from '../../fixtures/agent-spec.ts';
import { kernelOf } from '../../places.ts';
import { askedTools, type AskedTools } from '../asked-tools.ts';

export interface WebKernel extends AskedTools {
  readonly pith: TestKernel;
  /** Names of the tools that there are now. */
  tools(): Promise<readonly string[]>;
  /** What a person is asked before this page is read, in this turn. */
  asks(url: string, turn?: Partial<TurnInfo>): ReturnType<AskedTools['question']>;
  fetch(url: string, part?: number, signal?: AbortSignal): Promise<ToolResult>;
}

export async function webKernel(settings: Record<string, JsonValue> = {}, options: TestKernelOptions = {}): Promise<WebKernel> {
  const pith = await kernelOf({ only: ['web'], ...options, flags: { extensions: { web: settings } } });
  const asked = askedTools(pith, 'web');
  return {
    pith,
    ...asked,
    tools: async () => (await pith.kernel.host.providers.tools.of('web')).map(({ name }) => name),
    asks: (url, turn = {}) => askedTools(pith, 'web', { ...TURN, ...turn }).question('web_fetch', { url }),
    fetch: (url, part, signal) => asked.approved('web_fetch', { url, ...(part === undefined ? {} : { part }) }, undefined, signal),
  };
}

/** The output of a result that must be text, or its error. */
export function said(result: ToolResult): string {
  return result.ok ? String(result.output) : `${result.error.code}: ${result.error.message}`;
}
