import type { AgentProvider, ExtensionContext } from 'pith';
import { config, type Config } from './config.ts';
import { readAgentFile } from './agent-file.ts';

export default class AgentFiles implements AgentProvider {
  static readonly config = config;

  constructor(private readonly context: ExtensionContext<Config>) {}

  listAgents(files: readonly string[]): Promise<readonly Awaited<ReturnType<AgentProvider['listAgents']>>[number][]> {
    return Promise.all(files.map((file) => readAgentFile(file, this.context.config.default_tools)));
  }
}
