import { type Command, type CommandProvider, type ExtensionContext, z } from 'pith';
import { setUp } from './wizard.ts';

/** `pith setup`: questions of extensions, answered by a person or, as far as an agent may, by an agent. */
export default class Setup implements CommandProvider {
  static readonly config = z.strictObject({});

  constructor(private readonly context: ExtensionContext) {}

  getCommands(): readonly Command[] {
    return [
      {
        path: 'setup',
        needsTrust: true,
        description: 'Set up a model, a server or another extension; without a name, list what can be set up',
        arguments: [{ name: 'id', description: 'The extension' }],
        options: [
          { name: 'set', type: 'string', multiple: true, description: 'name=value, instead of being asked' },
          { name: 'for-agent', type: 'boolean', description: 'Only what an agent may set: no keys, addresses or rights' },
        ],
        run: (input, io) => setUp(this.context, input, io),
      },
    ];
  }
}
