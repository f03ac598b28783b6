import { expect, it } from 'vitest';
import { resolveTools, type ToolHost } from '../../../core/agent/index.ts';

it("the entry sandbox means a person's own extension in Pith's own sandbox too, whose code did not come with Pith", async () => {
  const host = {
    extensions: {
      ids: () => ['hello', 'kv'],
      state: () => 'active',
      keepsNames: () => true, // it stands beside what ships
      isForeign: (id: string) => id === 'hello',
    },
    providers: {
      tools: { of: async (id: string) => [{ name: `${id}_tool`, description: '', inputSchema: {} }], turnProviders: async () => [] },
    },
  } as unknown as ToolHost;
  const { tools, notes } = await resolveTools({ usesTools: ['sandbox'] } as never, host);
  expect(tools.map(({ modelName }) => modelName)).toEqual(['hello_tool']);
  expect(notes).toEqual([]);
});
