import { defineTool, z, type ExtensionContext, type ToolProvider } from 'pith';

const config = z.strictObject({ greeting: z.string().min(1).default('Hello') });

export default class MyTool implements ToolProvider {
  static config = config;

  constructor(private readonly context: ExtensionContext<z.infer<typeof config>>) {}

  getTools() {
    return [
      defineTool({
        name: 'greet_person',
        description: 'Makes a greeting for a person. Use when asked to greet somebody.',
        input: z.object({
          name: z
            .string()
            .min(1)
            .meta({ description: 'Whom to greet', examples: ['Ada'] }),
        }),
        effect: 'read',
        execute: ({ name }) => ({ text: `${this.context.config.greeting}, ${name}!` }),
      }),
    ];
  }
}
