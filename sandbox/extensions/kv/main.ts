import { type ExtensionContext, type ToolProvider, z } from 'pith';
import { kvTools } from './tools.ts';

export default class Kv implements ToolProvider {
  static readonly config = z.strictObject({});

  constructor(private readonly context: ExtensionContext) {}

  getTools() {
    return kvTools(this.context.kv);
  }
}
