import { type Command, type CommandProvider, type ExtensionContext, z } from 'pith';
import { connectModel } from './connect.ts';
import { setUp } from './wizard.ts';

/** `pith setup`: extensions' questions, answered by a person or, as far as permitted, by an agent. */
export default class Setup implements CommandProvider {
  static readonly config = z.strictObject({});

  constructor(private readonly context: ExtensionContext) {}

  getCommands(): readonly Command[] {
    return [
      {
        path: 'setup',
        needsTrust: true,
        description: 'Connect a model, or set up an extension',
        arguments: [{ name: 'id', description: 'The extension (default: connect a model)' }],
        options: [
          { name: 'list', type: 'boolean', description: 'List what can be set up' },
          { name: 'set', type: 'string', multiple: true, description: 'name=value, instead of being asked' },
          { name: 'for-agent', type: 'boolean', description: 'Only what an agent may set: no keys, addresses or rights' },
        ],
        run: (input, io, signal) => {
          const { id } = input.arguments;
          const { list, set } = input.options;
          const isBare = id === undefined && list !== true && set === undefined;
          return isBare && io.interactive ? connectModel(this.context, io, signal) : setUp(this.context, input, io);
        },
      },
    ];
  }
}
