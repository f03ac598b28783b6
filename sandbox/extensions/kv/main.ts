import type { ExtensionContext, ToolProvider } from 'pith';
import { kvTools } from './tools.ts';

export default class Kv implements ToolProvider {
  constructor(private readonly context: ExtensionContext) {}

  getTools() {
    return kvTools(this.context.kv);
  }
}
