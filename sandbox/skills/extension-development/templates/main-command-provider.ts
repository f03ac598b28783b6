import type { Command, CommandProvider, ExtensionContext } from 'pith';

export default class MyCommand implements CommandProvider {
  constructor(private readonly context: ExtensionContext) {}

  getCommands(): readonly Command[] {
    const { kv } = this.context;
    return [
      {
        path: 'greet',
        description: 'Greet a person',
        arguments: [{ name: 'name', description: 'Whom', required: true }],
        async run({ arguments: given }, io) {
          const name = String(given['name']);
          const before = await kv.get(name);
          await kv.set(name, true);
          io.json({ name, again: before !== null });
          io.print(before === null ? `Hello, ${name}!` : `Hello again, ${name}!`);
        },
      },
    ];
  }
}
