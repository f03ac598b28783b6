import { type ExtensionContext, type Tool, type ToolProvider, z } from 'pith';
import { createAgentTools } from './create-agent.ts';
import { delegateTask, listAgents } from './tools.ts';
import { MadeAgents } from './made-agents.ts';

/** Lets agents call other agents. */
export default class Delegation implements ToolProvider {
  static readonly config = z.strictObject({});

  constructor(private readonly context: ExtensionContext) {}

  getTools(): readonly Tool[] {
    const made = new MadeAgents(this.context.kv, this.context.clock);
    return [listAgents(this.context, made), delegateTask(this.context, made), ...createAgentTools(this.context, made)];
  }
}
