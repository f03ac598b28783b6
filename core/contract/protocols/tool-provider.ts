import { defineProtocol } from '../protocol.ts';
import type { Tool } from '../tool.ts';

/** Offers tools to the agents that list the extension in `uses_tools`. */
export interface ToolProvider {
  /** The tools as they are now; called once when the extension is activated. */
  getTools(): readonly Tool[] | Promise<readonly Tool[]>;
}

export const ToolProvider = defineProtocol<ToolProvider>('tool', {
  getTools: { kind: 'method', signature: 'getTools(): Tool[]' },
});
