/** The files of a new sandbox by path. Each is an example that a person can read and change. */
export const NEW_SANDBOX: ReadonlyMap<string, string> = new Map([
  [
    'pith.yaml',
    `# Settings of this sandbox. A line that begins with # says what could stand there.

# The agent that answers when none is named.
default_agent: assistant

# Models are named provider/model. Without any of this Pith takes what it finds: ANTHROPIC_API_KEY, OPENAI_API_KEY,
# OPENAI_BASE_URL, a local server; else a small model that works without a network.
# models:
#   default: anthropic/claude-sonnet-4-5

# skills:
#   enabled: true
#   disabled: []

# Settings of one extension, by its id.
# extensions:
#   hello_tool:
#     enabled: false
`,
  ],
  ['.gitignore', 'data/\n.staging/\n'],
  [
    'agents/assistant/manifest.yaml',
    `id: assistant
name: Assistant
version: 1.0.0
description: Answers questions and knows the skills of this sandbox.
agent:
  description: Answers questions and knows the skills of this sandbox.
  # An alias (default, fast, standard, thinking) or provider/model.
  model: default
  # Extension ids, extension/tool for one tool, or "*" for the tools of every extension.
  uses_tools: ["*"]
  # Skills whose text always stands in the instructions.
  uses_skills: []
`,
  ],
  [
    'agents/assistant/prompt.jinja2',
    `You are {{ agent.name }}, a helpful assistant.

- Look at the available skills before you begin something that takes more than one step.
- Say what you did, briefly, and where an answer comes from.
`,
  ],
  [
    'skills/hello/SKILL.md',
    `---
name: hello
description: How to greet somebody properly. Use when asked to greet, welcome or say hello to a person.
---

# Greeting somebody

1. Call the tool \`hello\` with the person's name.
2. Repeat its greeting word for word.
3. Ask one friendly question about what they are working on.
`,
  ],
  [
    'extensions/hello_tool/manifest.yaml',
    `id: hello_tool
name: Hello
version: 1.0.0
description: Greets a person by name.
entrypoint: main.ts
provides: [tool]
`,
  ],
  [
    'extensions/hello_tool/main.ts',
    `import { defineTool, z, type ToolProvider } from 'pith';

export default class HelloTool implements ToolProvider {
  getTools() {
    return [
      defineTool({
        name: 'hello',
        description: 'Makes a greeting for a person.',
        input: z.object({ name: z.string().min(1).meta({ description: 'Whom to greet', examples: ['Ada'] }) }),
        effect: 'read',
        execute: ({ name }) => \`Hello, \${name}! Welcome to Pith.\`,
      }),
    ];
  }
}
`,
  ],
]);
